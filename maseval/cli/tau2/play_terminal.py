"""A terminal, or a pipe, in which a person plays one side of a simulation.

``PlayScreen`` prints the task, the conversation and the results of tools. ``PlayTerminal`` reads
what is typed: texts for the other side, and commands that begin with a slash.
"""

import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from maseval.benchmark.tau2.app.running.tool_forms import (
    Field,
    FormError,
    fields_of,
    read_arguments,
)
from maseval.cli.console import indent, inert
from maseval.core.exceptions import MASEvalError
from maseval.core.words import visible

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.running.play import Play
    from maseval.benchmark.tau2.players.human import Briefing, SeatView

_MOST_LINES = 60
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


class PlayScreen:
    """Prints the conversation; ``other`` plays the other side."""

    def __init__(self, console: Console, other: str) -> None:
        self._console, self._other = console, other
        self._shown = 0
        self._last_result = ""

    def introduce(self, briefing: "Briefing") -> None:
        """Print the task, and the first commands."""
        is_agent = briefing.side == "assistant"
        words = _AS_AGENT if is_agent else _AS_USER
        told = words.format(domain=inert(briefing.domain), other=inert(self._other))
        number = len(briefing.tools)
        tools = f"/tools: {number} things you can do   " if number else ""
        policy = f"/policy: {len(briefing.text.split())} words to obey   " if is_agent else ""
        title = f"{briefing.domain}, task {briefing.task_id}"
        self._console.print(
            Panel(f"{told}\n\n[cyan]{policy}{tools}/help[/cyan]", title=inert(title))
        )
        if not is_agent:
            self.show_text(briefing)

    def show_help(self, briefing: "Briefing") -> None:
        """Print the commands."""
        table = Table.grid(padding=(0, 2))
        for command, meaning in (*_HELP, *_HELP_OF[briefing.side]):
            table.add_row(f"[cyan]{inert(command)}[/cyan]", inert(meaning))
        self._console.print(table)

    def show_text(self, briefing: "Briefing") -> None:
        """Print the policy, or the customer's instructions."""
        from rich.markdown import Markdown  # help must not load it

        text = briefing.text
        is_agent = briefing.side == "assistant"
        shown = Markdown(visible(text)) if is_agent else Text(visible(text))
        self._console.print(Panel(shown, title="policy" if is_agent else "your instructions"))

    def show_new(self, view: "SeatView") -> None:
        """Print the messages since the last call."""
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
                self._console.print(indent(words, 2))
        elif not (mine and self._shown):  # what was typed is on the screen
            who = "Agent" if message["role"] == "assistant" else "Customer"
            colour = "dim" if mine else "bold magenta"
            you = " (you)" if mine else ""
            self._console.print(f"[{colour}]{who}{you}[/]")
            self._console.print(indent(inert(message.get("content") or ""), 2))

    def _print_result(self, text: str, failed: bool, most: int | None = _MOST_LINES) -> None:
        lines = visible(_indent_json(text)).splitlines()
        style = "red" if failed else "green"
        shown = "\n".join(lines[:most])
        self._console.print(Panel(Text(shown), title="result", border_style=style, expand=False))
        if most is not None and len(lines) > most:
            self._console.print(f"[dim]… {len(lines) - most} more lines; /last shows all[/dim]")

    def show_last_result(self) -> None:
        """Print the last result of a tool, whole."""
        if not self._last_result:
            self._console.print("[dim]No tool has answered yet.[/dim]")
            return
        self._print_result(self._last_result, failed=False, most=None)


def _indent_json(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, dict | list):
        return text
    return json.dumps(value, indent=2, ensure_ascii=False)


Tool = dict[str, Any]
_KINDS = {"text": "text", "json": "JSON", "list": "list, separated by commas"}


class CancelledFormError(MASEvalError):
    """The person has left a form without filling it in."""


def tool_table(tools: Sequence[Tool]) -> Table:
    """Return a table with a line for every tool, and its number."""
    table = Table.grid(padding=(0, 2))
    for number, tool in enumerate(tools, start=1):
        function = tool["function"]
        words = (function.get("description") or "").strip().partition("\n")[0]
        table.add_row(str(number), f"[bold]{inert(function['name'])}[/bold]", inert(words))
    return table


def find_tool(name: str, tools: Sequence[Tool]) -> Tool:
    """Return the tool with that name, number, or beginning of a name."""
    if name.isdecimal() and 1 <= int(name) <= len(tools):
        return tools[int(name) - 1]
    names = [tool["function"]["name"] for tool in tools]
    found = [name] if name in names else [each for each in names if each.startswith(name)]
    if len(found) != 1:
        words = f"may be {', '.join(found)}" if found else "is not a tool; /tools lists them"
        raise MASEvalError(f"{name!r} {words}")
    return tools[names.index(found[0])]


def print_tool(tool: Tool, console: Console) -> None:
    """Print a tool and its parameters."""
    function = tool["function"]
    console.print(f"[bold]{inert(function['name'])}[/bold]")
    words = (function.get("description") or "").strip()
    console.print(indent(inert(words), 2))
    for field in fields_of(tool):
        console.print(indent(_describe_field(field), 2))


def ask_arguments(read: Callable[[str], str], tool: Tool, console: Console) -> dict[str, Any]:
    """Ask for the arguments one by one; ``read`` gets a prompt and returns what was typed."""
    fields = fields_of(tool)
    if fields:
        console.print("[dim]/cancel leaves the form[/dim]")
    arguments = {}
    for field in fields:
        console.print(indent(_describe_field(field), 2))
        value = _answer(read, field, console)
        if value is not None:
            arguments[field.name] = value
    return arguments


def _answer(read: Callable[[str], str], field: Field, console: Console) -> object:
    while True:
        text = read(f"  {field.name}: ")
        if text.strip() == "/cancel":
            raise CancelledFormError("cancelled")
        if not text.strip() and not field.required:
            return None
        try:
            return field.read(text)
        except FormError as error:
            console.print(f"  [red]{inert(str(error))}[/red]")


def _describe_field(field: Field) -> str:
    how = "|".join(field.choices) if field.choices else _KINDS.get(field.kind, field.kind)
    optional = "" if field.required else ", optional"
    default = "" if field.default is None else f", else {json.dumps(field.default)}"
    example = f" like {field.example}" if field.kind == "json" else ""
    facts = f"[dim]({inert(how + optional + default + example)})[/dim]"
    return f"[cyan]{inert(field.name)}[/cyan] {facts} {inert(field.help)}"


_TICK = 0.2


class PlayTerminal:
    """Shows the conversation, and reads what the person types."""

    def __init__(self, play: "Play", console: Console) -> None:
        self._play, self._console = play, console
        self._is_terminal = sys.stdin.isatty()
        self._screen = PlayScreen(console, play.other)
        seat, screen = play.seat, self._screen
        self._looks: dict[str, Callable[[str], object]] = {
            "help": lambda rest: screen.show_help(self._briefing),
            "tools": self._show_tools,
            "policy": lambda rest: screen.show_text(self._briefing),
            "instructions": lambda rest: screen.show_text(self._briefing),
            "last": lambda rest: screen.show_last_result(),
        }
        self._moves: dict[str, Callable[[str], object]] = {
            "call": self._call,
            "stop": seat.finish,
            "transfer": lambda rest: seat.finish(rest, "transfer"),
            "give-up": lambda rest: seat.give_up(),
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
        self._console.print(f"[bold]{inert(view.over)}[/bold]")

    def asks_to_drop(self) -> bool:
        """Ask whether to keep nothing; a pipe is not asked and keeps all."""
        if not self._is_terminal:
            return False
        try:
            return self._read("\nKeep what happened? [Y/n] ").strip().lower() in ("n", "no")
        except KeyboardInterrupt:
            return False

    def _next(self, seen: int) -> "SeatView":
        """Wait until it is the person's turn, or all is over."""
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
                self._console.print(f"[red]{inert(str(error))}[/red]")

    def _act(self, text: str) -> bool:
        """Do what was typed; returns whether it was a move in the conversation."""
        if not text.strip():
            return False
        if not text.startswith("/") or text.startswith("//"):
            self._play.seat.say(text.removeprefix("/"))
            return True
        name, _, rest = text[1:].strip().partition(" ")
        if name.lower() == "quit":
            raise KeyboardInterrupt
        is_move = name.lower() in self._moves
        command = (self._moves if is_move else self._looks).get(name.lower())
        if command is None or (name.lower() == "transfer" and self._briefing.side != "user"):
            self._console.print(
                f"[red]There is no /{inert(name)}; /help lists what there is.[/red]"
            )
            return False
        command(rest.strip())
        return is_move

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
        self._console.print(f"{prompt}{line}", markup=False, soft_wrap=True)
        return line

    @property
    def _briefing(self) -> "Briefing":
        briefing = self._play.seat.view.briefing
        assert briefing is not None  # the conversation has begun
        return briefing

    def _show_tools(self, rest: str) -> None:
        tools = self._briefing.tools
        if rest:
            print_tool(find_tool(rest, tools), self._console)
        elif tools:
            self._console.print(tool_table(tools))
        else:
            self._console.print("You have no tools; you can only talk.")

    def _call(self, rest: str) -> None:
        name, _, given = rest.partition(" ")
        if not name:
            raise MASEvalError("name a tool: /call NAME; /tools lists them")
        tool = find_tool(name, self._briefing.tools)
        if given.strip():
            arguments = read_arguments(tool, given)
        else:
            arguments = ask_arguments(self._read, tool, self._console)
        self._play.seat.call_tool(tool["function"]["name"], arguments)
