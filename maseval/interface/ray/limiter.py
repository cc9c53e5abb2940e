"""ClusterLimiter: one limit per provider for all worker processes of a run.

As long as no provider complains, a request costs nothing more than in one process. Afterwards each
asks the actor, in the background and in batches. If the actor cannot be reached, each process
limits itself, until it can.
"""

import logging
import queue
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from types import ModuleType
from typing import Any

from maseval.core.throttle import Slot, Throttle, is_complaint, limit_with
from maseval.interface.ray.connection import load_ray
from maseval.interface.ray.limits import (
    Answered,
    ClusterLimits,
    Event,
    Grant,
    Join,
    Leave,
    News,
    Outcome,
    Want,
    Withdraw,
)

logger = logging.getLogger(__name__)

# How long a failed call waits to hear whether its model has answered another process, in seconds.
_PATIENCE = 10.0
# Between two attempts to reach the actor, in seconds.
_PAUSE = 1.0


def start_limits(ray: ModuleType) -> Any:
    """Start an actor that holds the limits of a run; it ends with the driver."""
    # Each member has one or two calls pending. It needs no processor of its own.
    options = {"num_cpus": 0, "max_restarts": -1, "max_concurrency": 10_000}
    return ray.remote(**options)(ClusterLimits).remote()


def share_limits(actor: Any) -> "ClusterLimiter":
    """Make this process, a worker, keep to the limits that the actor holds."""
    limiter = ClusterLimiter(actor)
    limit_with(limiter)
    return limiter


class ClusterLimiter:
    """This process' part in the limits of a cluster."""

    def __init__(self, actor: Any) -> None:
        self._ray = load_ray()
        self._actor = actor
        self._member = uuid.uuid4().hex
        self._term: str | None = None
        self._throttles: dict[str, SharedThrottle] = {}
        self._limited: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._outbox: queue.SimpleQueue[tuple[str, Event]] = queue.SimpleQueue()
        self._hear_once()
        for work in (self._send, self._listen):
            threading.Thread(target=work, daemon=True, name="maseval-limits").start()

    def throttle_of(self, endpoint: str) -> Throttle:
        """Return the one throttle that all models behind an endpoint share in the cluster."""
        found = self._throttles.get(endpoint)
        if found is not None:
            return found
        with self._lock:
            if endpoint not in self._throttles:
                made = SharedThrottle(endpoint, self.post, self._has_answered)
                self._throttles[endpoint] = made
                if endpoint in self._limited:
                    made.join(first=True)
            return self._throttles[endpoint]

    def post(self, event: Event) -> bool:
        """Send an event to the actor; return whether the actor can be reached."""
        term = self._term
        if term is None:
            return False
        self._outbox.put((term, event))
        return True

    def _has_answered(self, endpoint: str, model_id: str) -> bool:
        with suppress(self._ray.exceptions.RayError):
            asked = self._actor.has_answered.remote(endpoint, model_id)
            return bool(self._ray.get(asked, timeout=_PATIENCE))
        return False

    def _send(self) -> None:
        while True:
            batch = [self._outbox.get()]
            with suppress(queue.Empty):
                while True:
                    batch.append(self._outbox.get_nowait())
            with suppress(self._ray.exceptions.RayError):
                self._actor.post.remote(self._member, batch)

    def _listen(self) -> None:
        while self._hear_once():
            if self._term is None:
                time.sleep(_PAUSE)

    def _hear_once(self) -> bool:
        """Wait for news; return whether there may be more."""
        try:
            self._hear(self._ray.get(self._actor.news.remote(self._member, self._term)))
        except self._ray.exceptions.RayError as error:
            logger.warning("the limits of the cluster cannot be reached: %s", error)
            self._part()
            return not isinstance(error, self._ray.exceptions.ActorDiedError)
        return True

    def _hear(self, news: News) -> None:
        with self._lock:
            anew = news.term != self._term
            self._term = news.term
            limited = frozenset(news.limited)
            for endpoint, throttle in self._throttles.items():
                if endpoint in limited and (anew or endpoint not in self._limited):
                    throttle.join(first=not anew)
                elif anew:
                    throttle.part()
            self._limited = limited
        for grant in news.grants:
            self._throttles[grant.endpoint].grant(grant)

    def _part(self) -> None:
        with self._lock:
            self._term, self._limited = None, frozenset()
            for throttle in self._throttles.values():
                throttle.part()


class SharedThrottle(Throttle):
    """Lets requests through by itself until the provider complains, then as the actor says."""

    def __init__(
        self,
        endpoint: str,
        post: Callable[[Event], bool],
        ask: Callable[[str, str], bool],
    ) -> None:
        super().__init__()
        self._endpoint = endpoint
        self._post = post
        self._ask = ask
        self._joined = False
        self._tickets = count()
        self._waiting: dict[int, Slot] = {}

    def has_answered(self, model_id: str) -> bool:
        return super().has_answered(model_id) or self._ask(self._endpoint, model_id)

    def note_answer_of(self, model_id: str) -> None:
        if not super().has_answered(model_id):
            super().note_answer_of(model_id)
            self._post(Answered(self._endpoint, model_id))

    def join(self, *, first: bool) -> None:
        """Keep to the limit of the cluster from now on; ``first`` unless that is said again."""
        with self._lock:
            if not (first and self._joined):
                self._join(first)

    def part(self) -> None:
        """Keep to a limit of its own from now on; requests that waited may go through."""
        with self._lock:
            self._joined = False
            self._waiting.clear()
            self._admit()

    def grant(self, grant: Grant) -> None:
        with self._lock:
            slot = self._waiting.pop(grant.ticket, None)
            if slot is None or slot.turn is None:  # it waits no longer
                self._post(Leave(self._endpoint, grant.era, "other"))
                return
            self._queue.remove(slot)
            self._held.add(slot)
            slot.era = grant.era
            slot.turn.set()

    def leave(self, slot: Slot, error: BaseException | None = None, *, rest: float = 0.0) -> None:
        outcome = _outcome(error)
        with self._lock:
            if self._joined or (outcome == "complaint" and self._join(first=True)):
                if slot in self._held:  # it was not taken back in the meantime
                    self._post(Leave(self._endpoint, slot.era, outcome, rest))
                self._held.discard(slot)
                return
        super().leave(slot, error, rest=rest)

    def _join(self, first: bool) -> bool:
        self._joined = self._post(Join(self._endpoint, len(self._held), first))
        self._waiting.clear()
        if self._joined:
            for slot in self._queue:
                self._ask_for(slot)
        return self._joined

    def _ask_for(self, slot: Slot) -> None:
        ticket = next(self._tickets)
        self._waiting[ticket] = slot
        self._post(Want(self._endpoint, ticket))

    def _takes_at_once(self, slot: Slot, rested: int) -> bool:
        return not self._joined and super()._takes_at_once(slot, rested)

    def _line_up(self, slot: Slot) -> None:
        super()._line_up(slot)
        if self._joined:
            self._ask_for(slot)

    def _admit(self) -> None:
        if not self._joined:
            super()._admit()

    def _withdraw(self, slot: Slot) -> None:
        for ticket in [ticket for ticket, one in self._waiting.items() if one is slot]:
            del self._waiting[ticket]
            self._post(Withdraw(self._endpoint, ticket))
        super()._withdraw(slot)

    def _give_back(self, slot: Slot) -> None:
        if self._joined and slot in self._held:
            self._post(Leave(self._endpoint, slot.era, "other"))
        super()._give_back(slot)


def _outcome(error: BaseException | None) -> Outcome:
    if error is None:
        return "answer"
    return "complaint" if is_complaint(error) else "other"
