"""The explanation of a miss: the nearest request on a tape, and its first difference."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from maseval.server.matching import Canonical, digest
from maseval.server.tape import Tape, TapePlace

# Clients cut long errors short, and the way out comes last.
_LONGEST_VALUE = 60
_BEFORE = 20
_LAST = ("tools", "messages")


class _Nothing:
    def __repr__(self) -> str:
        return "nothing"


_NOTHING = _Nothing()


@dataclass(frozen=True)
class RequestDifference:
    """The first place where a recorded request and the one that was made differ."""

    path: str
    recorded: object
    asked: object

    def __str__(self) -> str:
        start = _common_length(self.recorded, self.asked)
        place = f"{self.path}, character {start + 1}" if start > _BEFORE else self.path
        recorded, asked = _quote(self.recorded, start), _quote(self.asked, start)
        return f"{place}: recorded {recorded}, asked {asked}"


def first_difference(recorded: Canonical, asked: Canonical) -> RequestDifference | None:
    """Find the first difference: in model and parameters, then in tools and messages."""
    keys = sorted({*recorded, *asked}, key=_rank)
    for key in keys:
        found = next(_differences(key, recorded.get(key, _NOTHING), asked.get(key, _NOTHING)), None)
        if found is not None:
            return found
    return None


def _rank(key: str) -> tuple[int, str]:
    if key == "model":
        return -1, key
    return (_LAST.index(key) + 1 if key in _LAST else 0), key


def _differences(path: str, recorded: object, asked: object) -> Iterator[RequestDifference]:
    if recorded == asked:
        return
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for key in dict.fromkeys([*recorded, *asked]):
            inner = f"{path}.{key}"
            yield from _differences(inner, recorded.get(key, _NOTHING), asked.get(key, _NOTHING))
    elif isinstance(recorded, list) and isinstance(asked, list):
        for place, pair in enumerate(zip_longest(recorded, asked, fillvalue=_NOTHING)):
            yield from _differences(f"{path}[{place}]", *pair)
    else:
        yield RequestDifference(path, recorded, asked)


def _common_length(recorded: object, asked: object) -> int:
    if not (isinstance(recorded, str) and isinstance(asked, str)):
        return 0
    pairs = zip(recorded, asked, strict=False)
    shorter = min(len(recorded), len(asked))
    return next((place for place, (one, other) in enumerate(pairs) if one != other), shorter)


def _quote(value: object, start: int) -> str:
    if isinstance(value, _Nothing):
        return repr(value)
    if not isinstance(value, str):
        value, start = json.dumps(value, ensure_ascii=False), 0
        return value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}…"
    first = max(0, start - _BEFORE)
    end = first + _LONGEST_VALUE
    return repr(f"{'…' * (first > 0)}{value[first:end]}{'…' * (end < len(value))}")


CleanRequest = Callable[[Canonical], Canonical]
"""A function that removes from a request what a tape does not hold."""


class Neighbour(NamedTuple):
    """A recorded request and its first difference; None if only a secret differs."""

    place: TapePlace
    difference: RequestDifference | None


class _KnownRequest(NamedTuple):
    place: TapePlace
    key: str


class Nearest:
    """Finds a neighbour without reading the whole tape.

    Two conversations are near if they begin alike. So the beginnings of all recorded ones, each
    with and without its system prompt, are indexed when the first request is missed.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._lock = threading.Lock()
        self._seen = 0
        # By hash: the requests that continue from a beginning, and those that end with it.
        self._continuing: dict[str, _KnownRequest] = {}
        self._ending: dict[str, _KnownRequest] = {}
        self._models: dict[str, _KnownRequest] = {}

    def models(self) -> list[str]:
        with self._lock:
            self._catch_up()
            return list(self._models)

    def find(self, asked: Canonical, clean: CleanRequest) -> Neighbour | None:
        """Find the neighbour of a request, both compared as they would be on the tape."""
        asked = clean(asked)
        with self._lock:
            self._catch_up()
            candidates = self._candidates(asked)
        recorded = {known: self._tape.at(*known).request for known in candidates}
        if not recorded:
            return None
        best = max(recorded, key=lambda known: _likeness(recorded[known], asked))
        return Neighbour(best.place, first_difference(recorded[best], asked))

    def _candidates(self, asked: Canonical) -> list[_KnownRequest]:
        model = str(asked.get("model"))
        found = [self._models[model]] if model in self._models else []
        for conversation in _views(asked["messages"]):
            beginnings = list(_beginnings(conversation))
            for known in (self._continuing, self._ending):
                longest = next((known[one] for one in reversed(beginnings) if one in known), None)
                if longest is not None:
                    found.append(longest)
        return list(dict.fromkeys(found))

    def _catch_up(self) -> None:
        for place, exchange in self._tape.since(self._seen):
            self._note(_KnownRequest(place, exchange.key), exchange.request)
            self._seen += 1

    def _note(self, known: _KnownRequest, request: Canonical) -> None:
        self._models.setdefault(str(request.get("model")), known)
        for conversation in _views(request["messages"]):
            *beginnings, whole = _beginnings(conversation)
            for beginning in beginnings:
                self._continuing.setdefault(beginning, known)
            self._ending.setdefault(whole, known)


def _views(messages: Sequence[dict[str, object]]) -> Iterator[list[dict[str, object]]]:
    yield list(messages)
    yield [message for message in messages if message.get("role") not in ("system", "developer")]


def _beginnings(messages: Sequence[dict[str, object]]) -> Iterator[str]:
    """Yield the hashes of the empty conversation, of its first message, of the first two, ..."""
    so_far = ""
    yield so_far
    for message in messages:
        so_far = digest([so_far, message])
        yield so_far


def _likeness(recorded: Canonical, asked: Canonical) -> tuple[int, int]:
    """Count the equal messages and settings; among equals, the closer length wins."""
    ours, theirs = asked["messages"], recorded["messages"]
    settings = sum(recorded.get(key) == value for key, value in asked.items())
    alike = sum(one == other for one, other in zip(ours, theirs, strict=False))
    return alike + settings, -abs(len(ours) - len(theirs))
