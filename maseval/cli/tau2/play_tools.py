"""Tools in the terminal: listed, described, and filled in parameter by parameter."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from maseval.benchmark.tau2.app.running.tool_forms import Field, FormError, fields_of
from maseval.cli.console import indented, inert
from maseval.core.exceptions import MASEvalError

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
    console.print(indented(inert(words), 2), highlight=False)
    for field in fields_of(tool):
        console.print(indented(_in_words(field), 2), highlight=False)


def filled_in_by(read: Callable[[str], str], tool: Tool, console: Console) -> dict[str, Any]:
    """The arguments, asked for one by one; ``read`` gets a prompt and gives what was typed."""
    fields = fields_of(tool)
    if fields:
        console.print("[dim]/cancel leaves the form[/dim]")
    arguments = {}
    for field in fields:
        console.print(indented(_in_words(field), 2), highlight=False)
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
