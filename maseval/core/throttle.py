"""Throttle: adapts the number of concurrent requests to what a provider accepts.

Requests are unlimited until the provider complains. Then half as many as were in progress may run
at once, and one more each time that many were answered.
"""

import math
import threading
from collections import deque

from maseval.core.clock import Clock
from maseval.core.provider_errors import OverloadedError, RateLimitError

# How often a waiting request checks whether it is still needed, in seconds.
POLL = 0.1


class Slot:
    """The right to make one request."""

    __slots__ = ("era", "holder", "turn")

    def __init__(self, holder: Clock) -> None:
        self.holder = holder
        self.era = 0
        self.turn: threading.Event | None = None


class Throttle:
    """Lets requests to one provider through, first come, first served."""

    def __init__(self) -> None:
        self.answered: set[str] = set()
        """The models that have answered at least once."""
        self._limit = math.inf
        self._held: set[Slot] = set()
        self._queue: deque[Slot] = deque()
        # Grows with each cut, so that the complaints about one burst count once.
        self._era = 0
        self._lock = threading.Lock()

    @property
    def limit(self) -> float:
        """The maximum number of concurrent requests; infinite until the provider complains."""
        return self._limit if math.isinf(self._limit) else float(int(self._limit))

    @property
    def under_way(self) -> int:
        """The number of requests in progress."""
        return len(self._held)

    def enter(self, holder: Clock) -> Slot:
        """Wait for a slot, at most until the deadline of ``holder``."""
        slot = Slot(holder)
        with self._lock:
            if not self._queue and self._has_room():
                self._give(slot)
                return slot
            slot.turn = turn = threading.Event()
            self._queue.append(slot)
        try:
            while not turn.wait(POLL):
                self._take_back_abandoned()
                holder.check_timeout()
        except BaseException:
            self._withdraw(slot)
            raise
        return slot

    def leave(self, slot: Slot, error: BaseException | None = None) -> None:
        """Release a slot and report the outcome of its request."""
        with self._lock:
            if slot.era == self._era:
                if error is None:
                    self._widen()
                elif isinstance(error, RateLimitError | OverloadedError):
                    self._narrow()
            self._held.discard(slot)
            self._admit()

    def _has_room(self) -> bool:
        return len(self._held) + 1 <= self._limit

    def _widen(self) -> None:
        # Only a limit that was reached shows that the provider may accept more.
        if not self._has_room():
            self._limit += 1 / self._limit

    def _narrow(self) -> None:
        self._limit = max(1.0, min(self._limit, len(self._held)) / 2)
        self._era += 1

    def _admit(self) -> None:
        while self._queue and self._has_room():
            slot = self._queue.popleft()
            self._give(slot)
            if slot.turn is not None:
                slot.turn.set()

    def _give(self, slot: Slot) -> None:
        slot.era = self._era
        self._held.add(slot)

    def _withdraw(self, slot: Slot) -> None:
        with self._lock:
            if slot in self._queue:
                self._queue.remove(slot)
            self._held.discard(slot)
            self._admit()

    def _take_back_abandoned(self) -> None:
        """An abandoned repetition may hang in its request forever."""
        with self._lock:
            self._held = {slot for slot in self._held if not slot.holder.abandoned}
            self._admit()


_throttles: dict[str, Throttle] = {}


def throttle_of(endpoint: str) -> Throttle:
    """The one throttle that all models behind an endpoint share in this process."""
    throttle = _throttles.get(endpoint)
    # setdefault is atomic: of two threads that come first, both get the same one.
    return _throttles.setdefault(endpoint, Throttle()) if throttle is None else throttle
