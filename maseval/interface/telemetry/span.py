"""Spans before any library: a tree with times, whose ids follow from what it is about."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Value = str | bool | int | float | tuple[str, ...]


@dataclass
class Span:
    """A part of a simulation; ``client`` is a request to somebody else, ``error`` why it failed."""

    name: str
    start: int
    end: int
    attributes: dict[str, Value] = field(default_factory=dict)
    client: bool = False
    error: str | None = None
    events: dict[str, dict[str, Value]] = field(default_factory=dict)
    children: list["Span"] = field(default_factory=list)

    def contains(self, moment: int) -> bool:
        """Whether it lasted at that moment."""
        return self.start <= moment <= self.end

    def innermost(self, moment: int, *, besides: tuple[str, ...] = ()) -> "Span":
        """The deepest span that lasted at a moment, of which the last begun; else this one.

        Those whose operation is one of ``besides`` have no children.
        """
        for child in reversed(self.children):
            if child.contains(moment) and not child.name.startswith(besides):
                return child.innermost(moment, besides=besides)
        return self

    def settle(self) -> None:
        """Put children in order of time, none of them outside its parent."""
        for child in self.children:
            child.settle()
        self.children.sort(key=lambda child: child.start)
        self.start = min([self.start, *(child.start for child in self.children)])
        self.end = max([self.start, self.end, *(child.end for child in self.children)])


@dataclass(frozen=True)
class Numbered:
    """A span with its id and that of its parent."""

    span: Span
    id: int
    parent: int | None


def trace_id(*identity: str | int) -> int:
    """The id of the trace about one thing: 128 bits, the same whenever it is computed."""
    return _hashed([*identity], 16)


def numbered(root: Span, trace: int) -> Iterator[Numbered]:
    """Every span of a trace, parents first, with ids that depend on its place alone."""
    yield from _numbered(root, trace, None, ())


def _numbered(
    span: Span, trace: int, parent: int | None, place: tuple[int, ...]
) -> Iterator[Numbered]:
    own = _hashed([trace, *place], 8)
    yield Numbered(span, own, parent)
    for position, child in enumerate(span.children):
        yield from _numbered(child, trace, own, (*place, position))


def _hashed(identity: list[str | int], size: int) -> int:
    digest = hashlib.sha256(json.dumps(identity).encode()).digest()
    return int.from_bytes(digest[:size]) or 1  # an id of zero is not valid


def known(attributes: Mapping[str, Value | None]) -> dict[str, Value]:
    """The attributes that have a value."""
    return {key: value for key, value in attributes.items() if value is not None}
