"""A terminal, or a pipe, in which a person plays one side of a simulation.

``PlayScreen`` prints the task, the conversation and the results of tools. ``PlayTerminal`` reads
what is typed: texts for the other side, and commands that begin with a slash.
"""

import contextlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from maseval.cli.console import ended_by_signals, indent, inert
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.storage import strict_json
from maseval.core.words import excerpt, visible

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.results.results import RunResult
    from maseval.benchmark.tau2.app.running.play import Play
    from maseval.benchmark.tau2.players.human import Move, SeatView

_MOST_LINES = 60
_AS_AGENT = (
    "You are the agent of [bold]{domain}[/bold]. A customer calls ({other}). Find out what they "
    "want, look things up and change them with your tools, and obey the policy. When everything "
    "is settled or refused, say goodbye with /stop.\n"
    "You pass if the database ends up exactly as it should, and you said what had to be said."
)
_AS_USER = (
    "You are the customer of [bold]{domain}[/bold]. You talk to the agent ({other}) about what "
    "your instructions below say, and to nobody else. Do not invent facts. When your request is "
    "settled or refused, leave with /stop.\n"
    "Only the agent is judged, by whether the database ends up as it should."
)
_HELP = (
    ("any text", "say it to the other side; a \\ at the end continues on the next line"),
    ("/tools [NAME]", "what you can do, or one tool in detail"),
    ("/call NAME", "use a tool; you are asked for its parameters one by one"),
    ('/call NAME {"id": 1}', "the same with its parameters as JSON"),
    ("/last", "the last tool result in full"),
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
        self._shown: int | None = None
        self._last_result = ""

    def introduce(self, view: "SeatView") -> None:
        """Print the task, and the first commands."""
        is_agent = view.side == "assistant"
        words = _AS_AGENT if is_agent else _AS_USER
        told = words.format(domain=inert(view.domain), other=inert(self._other))
        number = len(view.tools)
        tools = f"/tools: {number} things you can do   " if number else ""
        policy = f"/policy: {len(view.text.split())} words to obey   " if is_agent else ""
        title = f"{view.domain}, task {view.task_id}"
        self._console.print(
            Panel(f"{told}\n\n[cyan]{policy}{tools}/help[/cyan]", title=inert(title))
        )
        if not is_agent:
            self.show_text(view)

    def show_help(self, view: "SeatView") -> None:
        """Print the commands."""
        table = Table.grid(padding=(0, 2))
        for command, meaning in (*_HELP, *_HELP_OF[view.side]):
            table.add_row(f"[cyan]{inert(command)}[/cyan]", inert(meaning))
        self._console.print(table)

    def show_text(self, view: "SeatView") -> None:
        """Print the policy, or the customer's instructions."""
        from rich.markdown import Markdown  # help must not load it

        text = view.text
        is_agent = view.side == "assistant"
        shown = Markdown(visible(text)) if is_agent else Text(visible(text))
        self._console.print(Panel(shown, title="policy" if is_agent else "your instructions"))

    def show_new(self, view: "SeatView") -> None:
        """Print the messages since the last call."""
        if self._shown is None:
            self._shown = 0
            self.introduce(view)
        if len(view.messages) < self._shown:
            self._console.print("[yellow]It failed for a technical reason and begins again.[/]")
            self._shown = 0
        for message in view.messages[self._shown :]:
            self._show(message, view)
        self._shown = len(view.messages)

    def _show(self, message: Any, view: "SeatView") -> None:
        mine = message["role"] == view.side
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
        value = strict_json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, dict | list):
        return text
    return json.dumps(value, indent=2, ensure_ascii=False)


Tool = dict[str, Any]
Schema = Mapping[str, Any]

_PYTHON_TYPES: Mapping[str, type | tuple[type, ...]] = {
    **{"string": str, "integer": int, "number": (int, float), "boolean": bool},
    **{"array": list, "object": dict},
}
_KINDS = {"string": "text", "integer": "whole number", "boolean": "yes or no", "object": "JSON"}
_BOOLEANS = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
_DEPTH = 6  # a schema may refer to itself


class CancelledFormError(MASEvalError):
    """The person has left a form without filling it in."""


@dataclass(frozen=True)
class Field:
    """A parameter of a tool as a person fills it in; ``schema`` is without references.

    Only the outermost type is checked; what else is wrong, the tool answers, as it does to a model.
    """

    name: str
    schema: Schema
    required: bool
    words: str = ""
    default: object = None
    example: object = None

    @property
    def _is_list_of_texts(self) -> bool:
        return self.schema.get("type") == "array" and self.example == ["..."]

    def read(self, text: str) -> object:
        """Return the value that a text stands for."""
        given = text.strip()
        if not given:
            raise ConfigurationError(f"{self.name} is empty; fill it in")
        choices = self.schema.get("enum") or ()
        if given.isdecimal() and given not in choices and 1 <= int(given) <= len(choices):
            return choices[int(given) - 1]
        return self.check(self._value(given))

    def _value(self, given: str) -> object:
        kind = self.schema.get("type")
        if kind == "string" or self.schema.get("enum"):
            return given
        if kind == "boolean" and given.lower() in _BOOLEANS:
            return _BOOLEANS[given.lower()]
        if self._is_list_of_texts and not given.startswith("["):
            return [part.strip() for part in given.split(",") if part.strip()]
        try:
            return strict_json.loads(given)
        except ValueError as error:
            raise ConfigurationError(
                f"{self.name} is not JSON ({excerpt(error)}); write it like "
                f"{json.dumps(self.example)}"
            ) from None

    def check(self, value: object) -> object:
        """Return the value if it is of the right type; else raise."""
        expected = _PYTHON_TYPES.get(str(self.schema.get("type")))
        is_bool = isinstance(value, bool) and expected is not bool
        wrong = expected is not None and (is_bool or not isinstance(value, expected))
        choices = self.schema.get("enum")
        if value is not None and (wrong or (choices and value not in choices)):
            quoted = excerpt(json.dumps(value, ensure_ascii=False), 60)  # 1 is not "1"
            raise ConfigurationError(f"{self.name} is {quoted}; give {self.kind}")
        return value

    @property
    def kind(self) -> str:
        """The kind of value to type, in words."""
        if choices := self.schema.get("enum"):
            return "|".join(map(str, choices))
        if self._is_list_of_texts:
            return "a list, separated by commas"
        kind = str(self.schema.get("type"))
        like = f" like {json.dumps(self.example)}" if kind in ("array", "object") else ""
        return _KINDS.get(kind, "JSON" if like else kind) + like

    def describe(self) -> str:
        """Return a line about the parameter."""
        optional = "" if self.required else ", optional"
        default = "" if self.default is None else f", else {json.dumps(self.default)}"
        facts = f"[dim]({inert(self.kind + optional + default)})[/dim]"
        return f"[cyan]{inert(self.name)}[/cyan] {facts} {inert(self.words)}"


def fields_of(tool: Tool) -> list[Field]:
    """Return the parameters of a tool, in their order."""
    root = tool["function"].get("parameters") or {}
    required = root.get("required") or ()
    return [
        Field(
            name,
            _plain_schema(schema, root),
            name in required,
            " ".join(str(schema.get("description") or "").split()),
            schema.get("default"),
            _example(schema, root),
        )
        for name, schema in (root.get("properties") or {}).items()
    ]


def _plain_schema(schema: Schema, root: Schema) -> Schema:
    """Follow references in a schema, and take the first of several forms that is not null."""
    forms = [each for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key) or ()]
    for form in forms:
        if form.get("type") != "null":
            return _plain_schema(form, root)
    if "$ref" in schema:
        return _plain_schema(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    return schema


def _example(schema: Schema, root: Schema, depth: int = _DEPTH) -> object:
    plain = _plain_schema(schema, root)
    match plain.get("type") if depth else None:
        case "array":
            return [_example(plain.get("items") or {}, root, depth - 1)]
        case "object":
            named = (plain.get("properties") or {}).items()
            return {name: _example(each, root, depth - 1) for name, each in named}
        case "integer" | "number":
            return 0
        case "boolean":
            return True
    return (plain.get("enum") or ["..."])[0]


def read_arguments(tool: Tool, text: str) -> dict[str, Any]:
    """Read the arguments of a tool from a JSON object."""
    try:
        given = strict_json.loads(text)
    except ValueError as error:
        raise ConfigurationError(
            f"the parameters are not a JSON object ({excerpt(error)}); write them like "
            '{"name": "value"}'
        ) from None
    if not isinstance(given, dict):
        raise ConfigurationError("the parameters are not a JSON object; write them like {...}")
    fields = {each.name: each for each in fields_of(tool)}
    for name, value in given.items():
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise ConfigurationError(f"there is no parameter {name!r}; there is {known}")
        fields[name].check(value)
    lacking = [each.name for each in fields.values() if each.required and each.name not in given]
    if lacking:
        raise ConfigurationError(f"{' and '.join(lacking)} missing; fill it in")
    return given


def find_tool(name: str, tools: Sequence[Tool]) -> Tool:
    """Return the tool with that name, number, or beginning of a name."""
    if name.isdecimal() and 1 <= int(name) <= len(tools):
        return tools[int(name) - 1]
    names = [tool["function"]["name"] for tool in tools]
    found = [name] if name in names else [each for each in names if each.startswith(name)]
    if len(found) != 1:
        words = f"may be {', '.join(found)}" if found else "is not a tool; /tools lists them"
        raise ConfigurationError(f"{name!r} {words}")
    return tools[names.index(found[0])]


def ask_arguments(read: Callable[[str], str], tool: Tool, console: Console) -> dict[str, Any]:
    """Ask for the arguments one by one; ``read`` gets a prompt and returns what was typed."""
    fields = fields_of(tool)
    if fields:
        console.print("[dim]/cancel leaves the form[/dim]")
    arguments = {}
    for field in fields:
        console.print(indent(field.describe(), 2))
        while field.name not in arguments:
            text = read(f"  {field.name}: ")
            if text.strip() == "/cancel":
                raise CancelledFormError("cancelled")
            if not text.strip() and not field.required:
                break
            try:
                arguments[field.name] = field.read(text)
            except ConfigurationError as error:
                console.print(f"  [red]{inert(str(error))}[/red]")
    return arguments


class PlayTerminal:
    """Shows the conversation, and reads what the person types."""

    def __init__(self, play: "Play", console: Console) -> None:
        self._play, self._console = play, console
        self._is_terminal = sys.stdin.isatty()
        self._screen = PlayScreen(console, play.other)
        self._looks: dict[str, Callable[[SeatView, str], object]] = {
            "help": lambda view, rest: self._screen.show_help(view),
            "tools": self._show_tools,
            "policy": lambda view, rest: self._screen.show_text(view),
            "instructions": lambda view, rest: self._screen.show_text(view),
            "last": lambda view, rest: self._screen.show_last_result(),
        }
        self._moves: dict[str, Callable[[SeatView, str], Move]] = {
            "call": self._call,
            "stop": lambda view, rest: view.finish(rest),
            "transfer": lambda view, rest: view.finish(rest, "transfer"),
            "give-up": lambda view, rest: view.give_up(),
        }
        if self._is_terminal:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401  # arrows and history in what is typed

    def run(self) -> "RunResult":
        """Play until the conversation is over, or the person interrupts it."""
        result = self._play.run(self._ask)
        if view := self._play.seat.view:
            self._screen.show_new(view)
        self._console.print(f"[bold]{inert(self._play.ending or '')}[/bold]")
        return result

    def asks_to_drop(self) -> bool:
        """Ask whether to keep nothing; a pipe is not asked and keeps all."""
        if not self._is_terminal:
            return False
        try:
            return self._read("\nKeep what happened? [Y/n] ").strip().lower() in ("n", "no")
        except KeyboardInterrupt:
            return False

    def _ask(self, view: "SeatView") -> "Move":
        """Ask until something is said or done."""
        self._screen.show_new(view)
        with ended_by_signals():
            while True:
                try:
                    if move := self._act(view, self._text()):
                        return move
                except CancelledFormError:
                    self._console.print("[dim]Cancelled; nothing was called.[/dim]")
                except ConfigurationError as error:
                    self._console.print(f"[red]{inert(str(error))}[/red]")

    def _act(self, view: "SeatView", text: str) -> "Move | None":
        """Do what was typed; return the move in the conversation, if it was one."""
        if not text.strip():
            return None
        if not text.startswith("/") or text.startswith("//"):
            return view.say(text.removeprefix("/"))
        name, _, rest = text[1:].strip().partition(" ")
        name, rest = name.lower(), rest.strip()
        if name == "quit":
            raise KeyboardInterrupt
        if name in self._moves and (name != "transfer" or view.side == "user"):
            return self._moves[name](view, rest)
        if name not in self._looks:
            raise ConfigurationError(f"There is no /{name}; /help lists what there is.")
        self._looks[name](view, rest)
        return None

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

    def _show_tools(self, view: "SeatView", rest: str) -> None:
        tools = view.tools
        if rest:
            tool = find_tool(rest, tools)
            function = tool["function"]
            words = (function.get("description") or "").strip()
            self._console.print(f"[bold]{inert(function['name'])}[/bold]")
            for line in (inert(words), *(field.describe() for field in fields_of(tool))):
                self._console.print(indent(line, 2))
        elif tools:
            table = Table.grid(padding=(0, 2))
            for number, each in enumerate(tools, start=1):
                function = each["function"]
                words = (function.get("description") or "").strip().partition("\n")[0]
                table.add_row(str(number), f"[bold]{inert(function['name'])}[/bold]", inert(words))
            self._console.print(table)
        else:
            self._console.print("You have no tools; you can only talk.")

    def _call(self, view: "SeatView", rest: str) -> "Move":
        name, _, given = rest.partition(" ")
        if not name:
            raise ConfigurationError("name a tool: /call NAME; /tools lists them")
        tool = find_tool(name, view.tools)
        if given.strip():
            arguments = read_arguments(tool, given)
        else:
            arguments = ask_arguments(self._read, tool, self._console)
        return view.call_tool(tool["function"]["name"], arguments)
