"""A terminal, or a pipe, in which a person plays one side of a simulation."""

import contextlib
import sys
from typing import TYPE_CHECKING

from rich.console import Console

from maseval.benchmark.tau2.app.running.tool_forms import checked_arguments
from maseval.cli.console import inert
from maseval.cli.tau2.play_screen import (
    CancelledFormError,
    PlayScreen,
    describe,
    filled_in_by,
    listed,
    tool_called,
)
from maseval.core.exceptions import MASEvalError

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.running.play import Play
    from maseval.benchmark.tau2.players.human import Briefing, SeatView

_TICK = 0.2


class PlayTerminal:
    """Shows what happens, and reads what the person does."""

    def __init__(self, play: "Play", console: Console) -> None:
        self._play, self._console = play, console
        self._is_terminal = sys.stdin.isatty()
        self._screen = PlayScreen(console, play.other)
        self._commands = {
            "help": self._help,
            "tools": self._tools,
            "call": self._call,
            "policy": self._policy,
            "instructions": self._policy,
            "last": self._last,
            "stop": self._stop,
            "transfer": self._transfer,
            "give-up": self._give_up,
            "quit": self._quit,
        }
        if self._is_terminal:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401  # arrows and history in what is typed

    def run(self) -> None:
        """Play until the conversation is over; raises ``KeyboardInterrupt`` if input ends."""
        view = self._next(0)
        if view.briefing is not None:
            self._screen.introduce(view.briefing)
        while view.over is None:
            self._screen.show_new(view)
            self._move()
            view = self._next(view.version)
        self._screen.show_new(view)
        self._console.print(f"[bold]{inert(view.over)}[/bold]", highlight=False)

    def asks_to_drop(self) -> bool:
        """Whether the person wants to keep nothing; a pipe is not asked."""
        if not self._is_terminal:
            return False
        try:
            return self._read("\nKeep what happened? [Y/n] ").strip().lower() in ("n", "no")
        except KeyboardInterrupt:
            return False

    def _next(self, seen: int) -> "SeatView":
        """What is to be seen when it is the person's turn, or all is over."""
        view = self._play.seat.view
        while not (view.version > seen and (view.your_turn or view.over)):
            view = self._play.seat.wait(view.version, _TICK)
        return view

    def _move(self) -> None:
        """Ask until something was said or done."""
        before = self._play.seat.view.version
        while self._play.seat.view.version == before and not self._play.is_over:
            text = self._text()
            try:
                if self._act(text):
                    return
            except CancelledFormError:
                self._console.print("[dim]Cancelled; nothing was called.[/dim]")
            except MASEvalError as error:
                self._console.print(f"[red]{inert(str(error))}[/red]", highlight=False)

    def _act(self, text: str) -> bool:
        """Do what was typed; says whether it was a move."""
        if not text.strip():
            return False
        if not text.startswith("/") or text.startswith("//"):
            self._play.seat.say(text.removeprefix("/"))
            return True
        name, _, rest = text[1:].strip().partition(" ")
        command = self._commands.get(name.lower())
        if command is None or (name.lower() == "transfer" and self._briefing.side != "user"):
            self._console.print(
                f"[red]There is no /{inert(name)}; /help lists what there is.[/red]"
            )
            return False
        return command(rest.strip())

    def _text(self) -> str:
        lines = [self._read("> ")]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(self._read(". "))
        return "\n".join(lines)

    def _read(self, prompt: str) -> str:
        if self._is_terminal:
            try:
                return input(prompt)
            except EOFError:
                raise KeyboardInterrupt from None
        line = sys.stdin.readline()
        if not line:
            raise KeyboardInterrupt
        line = line.rstrip("\r\n")
        self._console.print(f"{prompt}{line}", markup=False, highlight=False, soft_wrap=True)
        return line

    def _help(self, rest: str) -> bool:
        self._screen.show_help(self._briefing)
        return False

    @property
    def _briefing(self) -> "Briefing":
        briefing = self._play.seat.view.briefing
        assert briefing is not None  # the conversation has begun
        return briefing

    def _policy(self, rest: str) -> bool:
        self._screen.show_text(self._briefing)
        return False

    def _last(self, rest: str) -> bool:
        self._screen.show_last_result()
        return False

    def _stop(self, rest: str) -> bool:
        self._play.seat.finish(rest)
        return True

    def _transfer(self, rest: str) -> bool:
        self._play.seat.finish(rest, "transfer")
        return True

    def _give_up(self, rest: str) -> bool:
        self._play.seat.give_up()
        return True

    def _quit(self, rest: str) -> bool:
        raise KeyboardInterrupt

    def _tools(self, rest: str) -> bool:
        tools = self._briefing.tools
        if rest:
            describe(tool_called(rest, tools), self._console)
        elif tools:
            self._console.print(listed(tools))
        else:
            self._console.print("You have no tools; you can only talk.")
        return False

    def _call(self, rest: str) -> bool:
        name, _, given = rest.partition(" ")
        if not name:
            raise MASEvalError("name a tool: /call NAME; /tools lists them")
        tool = tool_called(name, self._briefing.tools)
        if given.strip():
            arguments = checked_arguments(tool, given)
        else:
            arguments = filled_in_by(self._read, tool, self._console)
        self._play.seat.call_tool(tool["function"]["name"], arguments)
        return True
