"""A terminal, or a pipe, in which a person plays one side of a simulation."""

import contextlib
import json
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markdown import Markdown
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from maseval.cli.console import indented, inert
from maseval.cli.tau2.play_tools import (
    CancelledFormError,
    describe,
    filled_in_by,
    listed,
    tool_called,
)
from maseval.commands.tau2.forms import checked_arguments
from maseval.core.exceptions import MASEvalError
from maseval.core.visible import visible

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.players.seat import Briefing, SeatView
    from maseval.commands.tau2.play import Play

_MOST_LINES = 60
_TICK = 0.2
_AS_AGENT = (
    "You are the agent of [bold]{domain}[/bold]. A customer calls ({other}). Find out what they "
    "want, look things up and change them with your tools, and obey the policy. When everything "
    "is settled or refused, say goodbye with /stop.\n"
    "You pass if the database ends up exactly as it should, and you said what had to be said."
)
_AS_USER = (
    "You are the customer of [bold]{domain}[/bold]. You talk to the agent ({other}) about what "
    "your instructions below say, and to nobody else. Do not invent facts. When your wish is "
    "settled or refused, leave with /stop.\n"
    "What is judged is the agent: whether the database ends up as it should."
)
_HELP = (
    ("any text", "say it to the other side; a last \\ continues in the next line"),
    ("/tools [NAME]", "what you can do, or one tool in detail"),
    ("/call NAME", "use a tool; its parameters are asked for one by one"),
    ('/call NAME {"id": 1}', "the same with its parameters as JSON"),
    ("/last", "the last tool result, whole"),
    ("/stop [WORDS]", "end the conversation; it is then judged"),
    ("/give-up", "leave; as the agent, you have failed the task"),
    ("/quit or Ctrl-C", "interrupt; what happened is kept and can be resumed"),
)

_HELP_OF = {
    "assistant": [("/policy", "what you must obey")],
    "user": [
        ("/instructions", "what you want and know"),
        ("/transfer [WORDS]", "leave, because you were transferred to a person"),
    ],
}


class PlayTerminal:
    """Shows what happens, and reads what the person does."""

    def __init__(self, play: "Play", console: Console) -> None:
        self._play, self._console = play, console
        self._is_terminal = sys.stdin.isatty()
        self._shown = 0
        self._last_result = ""
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
            self._introduce(view.briefing)
        while view.over is None:
            self._show_new(view)
            self._move()
            view = self._next(view.version)
        self._show_new(view)
        self._console.print(f"[bold]{inert(view.over)}[/bold]", highlight=False)

    def asks_to_drop(self) -> bool:
        """Whether the person wants to keep nothing; a pipe is not asked."""
        if not self._is_terminal:
            return False
        try:
            return self._read("Keep what happened? [Y/n] ").strip().lower() in ("n", "no")
        except KeyboardInterrupt:
            return False

    def _next(self, seen: int) -> "SeatView":
        """What is to be seen when it is the person's turn, or all is over."""
        view = self._play.seat.view
        while not (view.version > seen and (view.your_turn or view.over)):
            view = self._play.seat.wait(view.version, _TICK)
        return view

    def _introduce(self, briefing: "Briefing") -> None:
        is_agent = briefing.side == "assistant"
        words = _AS_AGENT if is_agent else _AS_USER
        told = words.format(domain=inert(briefing.domain), other=inert(self._play.other))
        number = len(briefing.tools)
        tools = f"/tools: {number} things you can do   " if number else ""
        policy = f"/policy: {len(briefing.text.split())} words to obey   " if is_agent else ""
        title = f"{briefing.domain}, task {briefing.task_id}"
        self._console.print(
            Panel(f"{told}\n\n[cyan]{policy}{tools}/help[/cyan]", title=inert(title))
        )
        if not is_agent:
            self._policy("")

    # What is shown.

    def _show_new(self, view: "SeatView") -> None:
        if len(view.messages) < self._shown:
            self._console.print("[yellow]It failed for a technical reason and begins again.[/]")
            self._shown = 0
        for message in view.messages[self._shown :]:
            self._show(message, view)
        self._shown = len(view.messages)

    def _show(self, message: Any, view: "SeatView") -> None:
        mine = view.briefing is not None and message["role"] == view.briefing.side
        if message["role"] == "tool":
            self._last_result = str(message.get("content") or "")
            self._print_result(self._last_result, bool(message.get("error")))
        elif message.get("tool_calls"):
            for call in message["tool_calls"]:
                arguments = json.dumps(call["arguments"], ensure_ascii=False)
                words = f"→ [bold]{inert(call['name'])}[/bold] {inert(arguments)}"
                self._console.print(indented(words, 2), highlight=False)
        elif not (mine and self._shown):  # what was typed is on the screen
            who = "Agent" if message["role"] == "assistant" else "Customer"
            colour = "dim" if mine else "bold magenta"
            you = " (you)" if mine else ""
            self._console.print(f"[{colour}]{who}{you}[/]", highlight=False)
            self._console.print(indented(inert(message.get("content") or ""), 2), highlight=False)

    def _print_result(self, text: str, failed: bool, most: int | None = _MOST_LINES) -> None:
        lines = visible(_readable(text)).splitlines()
        style = "red" if failed else "green"
        shown = "\n".join(lines[:most])
        self._console.print(Panel(Text(shown), title="result", border_style=style, expand=False))
        if most is not None and len(lines) > most:
            self._console.print(f"[dim]… {len(lines) - most} more lines; /last shows all[/dim]")

    # What the person does.

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
        command = self._commands.get(name)
        if command is None:
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
        table = Table.grid(padding=(0, 2))
        for command, meaning in (*_HELP, *_HELP_OF[self._briefing.side]):
            table.add_row(f"[cyan]{inert(command)}[/cyan]", inert(meaning))
        self._console.print(table)
        return False

    @property
    def _briefing(self) -> "Briefing":
        briefing = self._play.seat.view.briefing
        assert briefing is not None  # the conversation has begun
        return briefing

    def _policy(self, rest: str) -> bool:
        text = self._briefing.text
        is_agent = self._briefing.side == "assistant"
        shown = Markdown(visible(text)) if is_agent else Text(visible(text))
        self._console.print(Panel(shown, title="policy" if is_agent else "your instructions"))
        return False

    def _last(self, rest: str) -> bool:
        self._print_result(self._last_result, failed=False, most=None)
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


def _readable(text: str) -> str:
    """JSON over several lines; any other text as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, dict | list):
        return text
    return json.dumps(value, indent=2, ensure_ascii=False)
