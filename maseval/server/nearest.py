"""Nearest: of all requests on a tape, the one most similar to a request that was not found."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from maseval.server.difference import RequestDifference, first_difference
from maseval.server.matching import Canonical, digest
from maseval.server.tape import Tape, TapePlace

CleanRequest = Callable[[Canonical], Canonical]
"""Takes out of a request what a tape does not hold."""


class Neighbour(NamedTuple):
    """A recorded request and where it first differs; nowhere, if only a secret differs."""

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
        # By hash: who continues from a beginning, and who ends with it.
        self._continuing: dict[str, _KnownRequest] = {}
        self._ending: dict[str, _KnownRequest] = {}
        self._models: dict[str, _KnownRequest] = {}

    def models(self) -> list[str]:
        """The names of the models on the tape."""
        with self._lock:
            self._catch_up()
            return list(self._models)

    def to(self, asked: Canonical, clean: CleanRequest) -> Neighbour | None:
        """The neighbour of a request, both compared as they would be on the tape."""
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
    """The hashes of the empty conversation, of its first message, of the first two, ..."""
    so_far = ""
    yield so_far
    for message in messages:
        so_far = digest([so_far, message])
        yield so_far


def _likeness(recorded: Canonical, asked: Canonical) -> tuple[int, int]:
    """How many messages and settings are the same; and not too far apart in length."""
    ours, theirs = asked["messages"], recorded["messages"]
    settings = sum(recorded.get(key) == value for key, value in asked.items())
    alike = sum(one == other for one, other in zip(ours, theirs, strict=False))
    return alike + settings, -abs(len(ours) - len(theirs))
