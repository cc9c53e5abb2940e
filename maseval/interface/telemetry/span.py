"""Spans before any library: trees whose ids follow from their subject, and times.

Times are nanoseconds since 1970, as OpenTelemetry counts them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from maseval.core.recorded import LoggedCall

Value = str | bool | int | float | tuple[str, ...]


@dataclass
class Span:
    """A part of a simulation; ``client`` marks a request to a provider, ``error`` a failure."""

    name: str
    start: int
    end: int
    attributes: dict[str, Value] = field(default_factory=dict)
    client: bool = False
    error: str | None = None
    events: dict[str, dict[str, Value]] = field(default_factory=dict)
    children: list["Span"] = field(default_factory=list)

    def contains(self, moment: int) -> bool:
        return self.start <= moment <= self.end

    def innermost(self, moment: int, *, besides: tuple[str, ...] = ()) -> "Span":
        """Return the deepest span that lasted at a moment, of which the last begun; else this one.

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
class NumberedSpan:
    """A span with its id and that of its parent."""

    span: Span
    id: int
    parent: int | None


def trace_id(*identity: str | int) -> int:
    """Return the id of the trace about one thing: 128 bits, the same whenever it is computed."""
    return _hash([*identity], 16)


def number_spans(root: Span, trace: int) -> Iterator[NumberedSpan]:
    """Yield every span of a trace, parents first, with ids that depend on its place alone."""
    yield from _number_below(root, trace, None, ())


def _number_below(
    span: Span, trace: int, parent: int | None, place: tuple[int, ...]
) -> Iterator[NumberedSpan]:
    own = _hash([trace, *place], 8)
    yield NumberedSpan(span, own, parent)
    for position, child in enumerate(span.children):
        yield from _number_below(child, trace, own, (*place, position))


def _hash(identity: list[str | int], size: int) -> int:
    digest = hashlib.sha256(json.dumps(identity).encode()).digest()
    return int.from_bytes(digest[:size]) or 1  # an id of zero is not valid


def drop_unknown(attributes: Mapping[str, Value | None]) -> dict[str, Value]:
    return {key: value for key, value in attributes.items() if value is not None}


SECOND = 1_000_000_000


def moment(text: object) -> int | None:
    """Return the moment that an ISO 8601 text names; without a zone, as in reports, it is local."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        return None
    return int(found.timestamp()) * SECOND + found.microsecond * 1000


def lasting(seconds: float | None) -> int:
    """Return a duration in nanoseconds; 0 if it is not known."""
    return int(max(seconds or 0.0, 0.0) * SECOND)


def began_and_ended(call: LoggedCall) -> tuple[int, int] | None:
    """Return the times at which a call began and ended."""
    start = moment(call.timestamp)
    if start is None and call.start_time is not None:
        start = int(call.start_time * SECOND)
    return None if start is None else (start, start + lasting(call.seconds))
