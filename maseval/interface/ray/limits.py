"""The limits of a cluster: what all its processes together may ask of each provider.

One actor holds a ``ClusterLimits``; each process that calls models is a member. Members count by
themselves, and send nothing, until a provider complains. Then every member joins the limit of that
endpoint: it says how many requests it has in progress, and asks for each further one. Asking and
granting travel in batches, one pending call per member, so that thousands may wait.

A member that is not heard of for a while is forgotten, with the requests that it had. One that
returns, or meets an actor that was started anew, gets another term and says again what it has.
"""

import asyncio
import time
import uuid
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from maseval.core.throttle import AdaptiveLimit

# A busy machine may leave a process without a turn for many seconds.
_HEARTBEAT = 5.0
_SILENCE = 60.0


Outcome = Literal["answer", "complaint", "other"]
"""The end of a request."""


class Join(NamedTuple):
    """A member's requests in progress; ``first`` if it has not said so before."""

    endpoint: str
    held: int
    first: bool


class Want(NamedTuple):
    """A request that waits for its turn."""

    endpoint: str
    ticket: int


class Withdraw(NamedTuple):
    """A request that waits no longer."""

    endpoint: str
    ticket: int


class Leave(NamedTuple):
    """A request that ended, how, and how long the provider asked to wait."""

    endpoint: str
    era: int
    outcome: Outcome
    rest: float = 0.0


class Answered(NamedTuple):
    """The first answer of a model that a member got."""

    endpoint: str
    model_id: str


Event = Join | Want | Withdraw | Leave | Answered


class Grant(NamedTuple):
    """A request whose turn it is."""

    endpoint: str
    ticket: int
    era: int


class News(NamedTuple):
    """News for a member: its term, the endpoints with a limit, and its granted requests."""

    term: str
    limited: Sequence[str]
    grants: Sequence[Grant]


class _Member:
    def __init__(self) -> None:
        self.term = uuid.uuid4().hex
        self.heard = time.monotonic()
        self.grants: list[Grant] = []
        self.bell = asyncio.Event()


class _Endpoint:
    """One provider: its limit, the requests in progress of each member, and the queue."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.adaptive = AdaptiveLimit()
        self.held: dict[str, int] = {}
        self.queue: deque[tuple[str, int]] = deque()
        self.answered: set[str] = set()

    @property
    def is_limited(self) -> bool:
        return self.adaptive.era > 0

    @property
    def under_way(self) -> int:
        return sum(self.held.values())

    def join(self, member: str, held: int, *, first: bool) -> None:
        self.held[member] = held
        if first and self.is_limited:
            # What it has in progress was not known when the limit was cut to half.
            self.adaptive.value += held / 2

    def leave(self, member: str, left: Leave) -> None:
        if left.outcome == "answer":
            self.adaptive.note_answer(left.era, self.under_way)
        elif left.outcome == "complaint":
            self.adaptive.note_complaint(left.era, self.under_way, left.rest)
        self.held[member] = max(0, self.held.get(member, 0) - 1)

    def withdraw(self, member: str, ticket: int) -> None:
        if (member, ticket) in self.queue:
            self.queue.remove((member, ticket))

    def forget(self, member: str) -> None:
        self.held.pop(member, None)
        self.queue = deque(waiting for waiting in self.queue if waiting[0] != member)

    def next(self) -> tuple[str, int] | None:
        """Return the member and the ticket whose turn it is; None if nobody's is."""
        if not self.queue or self.adaptive.rest_left():
            return None
        if not self.adaptive.has_room(self.under_way):
            return None
        member, ticket = self.queue.popleft()
        self.held[member] = self.held.get(member, 0) + 1
        return member, ticket


class ClusterLimits:
    """The limits of all endpoints; its methods are called by members in other processes."""

    def __init__(self) -> None:
        self._endpoints: dict[str, _Endpoint] = {}
        self._members: dict[str, _Member] = {}

    async def post(self, member: str, events: Sequence[tuple[str, Event]]) -> None:
        """Take note of what happened at a member, each with the term in which it did."""
        known = self._members.get(member)
        if known is None:
            return
        known.heard = time.monotonic()
        for term, event in events:
            if term == known.term:
                self._note(member, event)

    async def news(self, member: str, term: str | None) -> News:
        """Wait for something that the member should know, for a few seconds at most."""
        known = self._members.get(member)
        if known is None or known.term != term:
            return self._first_news(member)
        self._forget_silent()
        known.heard = time.monotonic()
        with suppress(TimeoutError):
            await asyncio.wait_for(known.bell.wait(), _HEARTBEAT)
        known.bell.clear()
        known.heard = time.monotonic()
        grants, known.grants = known.grants, []
        return News(known.term, self._limited_names(), grants)

    async def has_answered(self, endpoint: str, model_id: str) -> bool:
        return model_id in self._endpoint(endpoint).answered

    async def limits(self) -> dict[str, float]:
        """Return the number of requests allowed at each endpoint that has a limit."""
        return {name: int(self._endpoints[name].adaptive.value) for name in self._limited_names()}

    def _first_news(self, member: str) -> News:
        self._forget(member)
        known = self._members[member] = _Member()
        return News(known.term, self._limited_names(), ())

    def _note(self, member: str, event: Event) -> None:
        endpoint = self._endpoint(event.endpoint)
        was_limited = endpoint.is_limited
        match event:
            case Join():
                endpoint.join(member, event.held, first=event.first)
            case Want():
                endpoint.queue.append((member, event.ticket))
            case Withdraw():
                endpoint.withdraw(member, event.ticket)
            case Leave():
                endpoint.leave(member, event)
            case Answered():
                endpoint.answered.add(event.model_id)
        if endpoint.is_limited and not was_limited:
            self._wake_all()
        self._admit(endpoint)

    def _admit(self, endpoint: _Endpoint) -> None:
        while turn := endpoint.next():
            member, ticket = turn
            known = self._members[member]
            known.grants.append(Grant(endpoint.name, ticket, endpoint.adaptive.era))
            known.bell.set()
        if endpoint.queue and (rest := endpoint.adaptive.rest_left()):
            asyncio.get_running_loop().call_later(rest + 0.001, self._admit, endpoint)

    def _forget_silent(self) -> None:
        oldest = time.monotonic() - _SILENCE
        for name in [name for name, known in self._members.items() if known.heard < oldest]:
            self._forget(name)

    def _forget(self, member: str) -> None:
        self._members.pop(member, None)
        for endpoint in self._endpoints.values():
            endpoint.forget(member)
            self._admit(endpoint)

    def _wake_all(self) -> None:
        for known in self._members.values():
            known.bell.set()

    def _limited_names(self) -> list[str]:
        return [name for name, endpoint in self._endpoints.items() if endpoint.is_limited]

    def _endpoint(self, name: str) -> _Endpoint:
        return self._endpoints.setdefault(name, _Endpoint(name))
