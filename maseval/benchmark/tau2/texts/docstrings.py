"""From a tool's docstring (Google style) to the descriptions that its schema shows.

Everything before the first section title describes the tool, the sections of parameters describe
these, and the other sections do not reach a schema.
"""

import inspect
import re
from collections.abc import Iterator
from typing import NamedTuple

from maseval.data.python_source import SourceShapeError

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
    """What a docstring says about a tool and, by name, about its parameters."""

    description: str
    parameters: dict[str, str]


def read_docstring(raw: str, place: str) -> Docstring:
    """The descriptions in a docstring as it stands in the source."""
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
    """Each match with the text from its end to the next one's start."""
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
    """The entries: one begins at each line that is indented like the first."""
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
