"""What a person who plays sees in a terminal: the task, the conversation, and the results."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markdown import Markdown
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from maseval.benchmark.tau2.app.running.tool_forms import Field, FormError, fields_of
from maseval.cli.console import indent, inert
from maseval.core.exceptions import MASEvalError
from maseval.core.shapes import visible

if TYPE_CHECKING:  # help must not load what makes these
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
    """Shows what happens; ``other`` plays the other side."""

    def __init__(self, console: Console, other: str) -> None:
        self._console, self._other = console, other
        self._shown = 0
        self._last_result = ""

    def introduce(self, briefing: "Briefing") -> None:
        """The task, and what can be typed."""
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
        """What can be typed."""
        table = Table.grid(padding=(0, 2))
        for command, meaning in (*_HELP, *_HELP_OF[briefing.side]):
            table.add_row(f"[cyan]{inert(command)}[/cyan]", inert(meaning))
        self._console.print(table)

    def show_text(self, briefing: "Briefing") -> None:
        """The policy, or the customer's instructions."""
        text = briefing.text
        is_agent = briefing.side == "assistant"
        shown = Markdown(visible(text)) if is_agent else Text(visible(text))
        self._console.print(Panel(shown, title="policy" if is_agent else "your instructions"))

    def show_new(self, view: "SeatView") -> None:
        """What was said and done since the last look."""
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
                self._console.print(indent(words, 2), highlight=False)
        elif not (mine and self._shown):  # what was typed is on the screen
            who = "Agent" if message["role"] == "assistant" else "Customer"
            colour = "dim" if mine else "bold magenta"
            you = " (you)" if mine else ""
            self._console.print(f"[{colour}]{who}{you}[/]", highlight=False)
            self._console.print(indent(inert(message.get("content") or ""), 2), highlight=False)

    def _print_result(self, text: str, failed: bool, most: int | None = _MOST_LINES) -> None:
        lines = visible(_readable(text)).splitlines()
        style = "red" if failed else "green"
        shown = "\n".join(lines[:most])
        self._console.print(Panel(Text(shown), title="result", border_style=style, expand=False))
        if most is not None and len(lines) > most:
            self._console.print(f"[dim]… {len(lines) - most} more lines; /last shows all[/dim]")

    def show_last_result(self) -> None:
        """The last result, whole."""
        if not self._last_result:
            self._console.print("[dim]No tool has answered yet.[/dim]")
            return
        self._print_result(self._last_result, failed=False, most=None)


def _readable(text: str) -> str:
    """JSON over several lines; any other text as it is."""
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
    """The person does not want to fill in the form."""


def listed(tools: Sequence[Tool]) -> Table:
    """Every tool in a line, with its number."""
    table = Table.grid(padding=(0, 2))
    for number, tool in enumerate(tools, start=1):
        function = tool["function"]
        words = (function.get("description") or "").strip().partition("\n")[0]
        table.add_row(str(number), f"[bold]{inert(function['name'])}[/bold]", inert(words))
    return table


def tool_called(name: str, tools: Sequence[Tool]) -> Tool:
    """The tool of that name, number, or beginning of a name."""
    if name.isdecimal() and 1 <= int(name) <= len(tools):
        return tools[int(name) - 1]
    named = [tool["function"]["name"] for tool in tools]
    found = [each for each in named if each == name] or [
        each for each in named if each.startswith(name)
    ]
    if len(found) != 1:
        words = f"may be {', '.join(found)}" if found else "is not a tool; /tools lists them"
        raise MASEvalError(f"{name!r} {words}")
    return tools[named.index(found[0])]


def describe(tool: Tool, console: Console) -> None:
    """A tool and its parameters."""
    function = tool["function"]
    console.print(f"[bold]{inert(function['name'])}[/bold]", highlight=False)
    words = (function.get("description") or "").strip()
    console.print(indent(inert(words), 2), highlight=False)
    for field in fields_of(tool):
        console.print(indent(_in_words(field), 2), highlight=False)


def filled_in_by(read: Callable[[str], str], tool: Tool, console: Console) -> dict[str, Any]:
    """The arguments, asked for one by one; ``read`` gets a prompt and gives what was typed."""
    fields = fields_of(tool)
    if fields:
        console.print("[dim]/cancel leaves the form[/dim]")
    arguments = {}
    for field in fields:
        console.print(indent(_in_words(field), 2), highlight=False)
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
            console.print(f"  [red]{inert(str(error))}[/red]", highlight=False)


def _in_words(field: Field) -> str:
    """A parameter: its name, how it is written, and what it means."""
    how = "|".join(field.choices) if field.choices else _KINDS.get(field.kind, field.kind)
    optional = "" if field.required else ", optional"
    default = "" if field.default is None else f", else {json.dumps(field.default)}"
    example = f" like {field.example}" if field.kind == "json" else ""
    facts = f"[dim]({inert(how + optional + default + example)})[/dim]"
    return f"[cyan]{inert(field.name)}[/cyan] {facts} {inert(field.help)}"
