"""The texts of a toolkit's tools and of a data class's fields, read from their source.

Everything before the first section title of a docstring (Google style) describes the tool, the
sections of parameters describe these, and the other sections do not reach a schema. Discoverable
tools of banking_knowledge follow rules of their own: their docstrings are shown as tool results,
and their parameters come from the docstring, not from the signature.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from typing import NamedTuple

from maseval.benchmark.tau2.texts.shapes import Scope, text
from maseval.benchmark.tau2.texts.texts import (
    DiscoverableParameter,
    DiscoverableTool,
    ModelText,
    ToolText,
)
from maseval.data.python_source import SourceShapeError


def tools_of(toolkit: Scope) -> tuple[ToolText, ...]:
    """Return the tools of a class: the functions that it marks as such, in source order."""
    return tuple(tool_text(function) for function in _functions_marked(toolkit, "is_tool"))


def discoverable_tools_of(toolkit: Scope) -> tuple[DiscoverableTool, ...]:
    """Return the tools of a class that a model is not offered but may find."""
    marked = _functions_marked(toolkit, "is_discoverable_tool")
    return tuple(discoverable_tool(function, _name(function)) for function in marked)


def tool_text(function: Scope) -> ToolText:
    """Return the description of a function and its parameters, without ``self``."""
    raw = function.docstring()
    name, parameters = _name(function), _parameters(function)
    if raw is None:
        return ToolText(name=name, description=name, parameters=dict.fromkeys(parameters))
    description, texts = read_docstring(raw, function.place)
    described = {parameter: texts.get(parameter) for parameter in parameters}
    return ToolText(name=name, description=description, parameters=described)


def model_text(model: Scope) -> ModelText:
    """Return the descriptions of a data class and its fields."""
    fields: dict[str, str] = {}
    for node in model.node.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            described = _field_description(node, f"{model.place}: {node.target.id}")
            if described is not None:
                fields[node.target.id] = described
    return ModelText(description=model.description(), fields=fields)


def _functions_marked(toolkit: Scope, decorator: str) -> list[Scope]:
    marked = [function for function in toolkit.functions() if _has_mark(function, decorator)]
    return [toolkit.function(_name(function)) for function in marked]


def _has_mark(function: Scope, decorator: str) -> bool:
    assert isinstance(function.node, ast.FunctionDef)
    for mark in function.node.decorator_list:
        match mark:
            case ast.Call(func=ast.Name(id=name)) if name == decorator:
                return True
    return False


def _name(function: Scope) -> str:
    assert isinstance(function.node, ast.FunctionDef)
    return function.node.name


def _parameters(function: Scope) -> list[str]:
    assert isinstance(function.node, ast.FunctionDef)
    match function.node.args:
        case ast.arguments(posonlyargs=[], vararg=None, kwonlyargs=[], kwarg=None, args=named):
            names = [argument.arg for argument in named]
            return names[1:] if names[:1] == ["self"] else names
    raise SourceShapeError(f"{function.place}: parameters that cannot be given by name")


def _field_description(node: ast.AnnAssign, place: str) -> str | None:
    """Return the text of ``Field(description=…)``, a default value or inside ``Annotated[…]``."""
    keywords = [keyword for call in _field_calls(node) for keyword in call.keywords]
    if any(keyword.arg is None for keyword in keywords):
        raise SourceShapeError(f"{place}: a field whose arguments are not written out")
    found = [keyword.value for keyword in keywords if keyword.arg == "description"]
    if len(found) > 1:
        raise SourceShapeError(f"{place}: a field that is described twice")
    return text(found[0], place) if found else None


def _field_calls(node: ast.AnnAssign) -> Iterator[ast.Call]:
    candidates = [node.value] if node.value else []
    match node.annotation:
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[_, *extras])):
            candidates += extras
    for candidate in candidates:
        match candidate:
            case ast.Call(func=ast.Name(id="Field")):
                yield candidate


LENGTH_LIMIT = 10_000  # the longest of the original's has a third of that

_PARAMETERS = ("Arguments", "Args", "Parameters", "Params")
_EXAMPLES = ("Example", "Examples")
_DROPPED = ("Raises", "Exceptions", "Except", "Attributes", "Returns", "Yields")
_TITLE = re.compile(
    rf"^({'|'.join((*_PARAMETERS, *_EXAMPLES, *_DROPPED))}):[ \t\r\f\v]*$", re.MULTILINE
)
_UNKNOWN_TITLE = re.compile(r"\n\S")
_TYPED = re.compile(r"\s*(.+?)\s*\(\s*(.*\S)\s*\)")


class Docstring(NamedTuple):
    """The descriptions of a tool and, by name, of its parameters."""

    description: str
    parameters: dict[str, str]


def read_docstring(raw: str, place: str) -> Docstring:
    """Return the descriptions in a docstring as it stands in the source."""
    limit_length(raw, place)
    cleaned = inspect.cleandoc(raw)
    titles = list(_TITLE.finditer(cleaned))
    head = cleaned[: titles[0].start()] if titles else cleaned
    parameters: dict[str, str] = {}
    for title, section in _sections(titles, cleaned):
        if title[1] in _EXAMPLES:
            raise SourceShapeError(f"{place}: a section of examples")
        if title[1] in _PARAMETERS:
            parameters |= _entries(section, place)
    return Docstring(_description(head, place), parameters)


def _sections(starts: list[re.Match[str]], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each match with the text from its end to the next one's start."""
    ends = [*(start.start() for start in starts[1:]), len(text)]
    for start, end in zip(starts, ends, strict=False):
        yield start, text[start.end() : end]


def limit_length(raw: str, place: str) -> None:
    if len(raw) > LENGTH_LIMIT:
        raise SourceShapeError(f"{place}: a docstring of more than {LENGTH_LIMIT:,} characters")


def _description(head: str, place: str) -> str:
    short, _, long = head.partition("\n")
    if not short.strip():
        raise SourceShapeError(f"{place}: a docstring without a description")
    return f"{short}\n\n{long.strip()}" if long.strip() else short


def _entries(section: str, place: str) -> dict[str, str]:
    if unknown := _UNKNOWN_TITLE.search(section):
        section = section[: unknown.start()]
    entries = [_entry(text, place) for text in _split(section.strip("\n"), place)]
    if len(dict(entries)) < len(entries):
        raise SourceShapeError(f"{place}: a parameter is described twice")
    return dict(entries)


def _split(section: str, place: str) -> Iterator[str]:
    """Yield the entries: one begins at each line that is indented like the first."""
    indent = section[: len(section) - len(section.lstrip())]
    starts = list(re.finditer(rf"^{re.escape(indent)}(?=\S)", section, re.MULTILINE))
    if not starts:
        raise SourceShapeError(f"{place}: an empty section of parameters")
    for _, entry in _sections(starts, section):
        yield entry.strip("\n")


def _entry(text: str, place: str) -> tuple[str, str]:
    left, colon, right = text.partition(":")
    if not colon:
        raise SourceShapeError(f"{place}: no colon in the parameter entry {text[:60]!r}")
    typed = _TYPED.match(left)
    right = right.removeprefix(" ")
    if "\n" in right:
        first, _, others = right.partition("\n")
        right = f"{first}\n{inspect.cleandoc(others)}"
    return typed[1] if typed else left, right.strip("\n")


_ARGS = re.compile(r"\n\s*Args:\s*\n")
_RETURNS = re.compile(r"\n\s*Returns:\s*\n")
_PARAMETER = re.compile(r"^\s*(\w+)\s*(?:\(([^)]+)\))?\s*:\s*(.+?)$", re.MULTILINE)
_OPTIONAL = re.compile(r",?\s*optional", re.IGNORECASE)
_DEFAULT_MESSAGE = "Action completed successfully."


def discoverable_tool(function: Scope, name: str) -> DiscoverableTool:
    raw = function.docstring()
    if not raw:
        raise SourceShapeError(f"{function.place}: a discoverable tool without a docstring")
    limit_length(raw, function.place)
    description, *rest = _ARGS.split(inspect.cleandoc(raw), maxsplit=1)
    arguments, *results = _RETURNS.split(rest[0], maxsplit=1) if rest else ("",)
    return DiscoverableTool(
        name=name,
        description=description.strip(),
        parameters={match[1]: _parameter(match) for match in _PARAMETER.finditer(arguments)},
        success_message=results[0].partition("\n")[0].strip() if results else _DEFAULT_MESSAGE,
    )


def _parameter(match: re.Match[str]) -> DiscoverableParameter:
    kind = match[2] or "string"
    return DiscoverableParameter(
        type=_OPTIONAL.sub("", kind).strip() or "string",
        description=match[3].strip(),
        required="optional" not in kind,
    )
