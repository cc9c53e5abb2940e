"""Throttle: adapts the number of concurrent requests to what a provider accepts.

Requests are unlimited until the provider complains. Then half as many as were in progress may run
at once, and one more each time that many were answered.
"""

import math
import threading
import time
from collections import deque

from maseval.core.clock import Clock
from maseval.core.provider_errors import OverloadedError, RateLimitError

# How often a waiting request checks whether it is still needed, in seconds.
POLL = 0.1


class Tally:
    """A count that many threads add to."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def add(self, number: int = 1) -> None:
        with self._lock:
            self.count += number


complaints = Tally()
"""The complaints of providers to this process, or to its workers, about too many requests."""


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
        """The models that have answered."""
        self._most = math.inf
        self._era = 0
        """Grows with each cut, so that the complaints about one burst count once."""
        self._held: set[Slot] = set()
        self._queue: deque[Slot] = deque()
        self._looked = -math.inf
        self._lock = threading.Lock()

    @property
    def limit(self) -> float:
        """The maximum number of concurrent requests; infinite until the provider complains."""
        return self._most if math.isinf(self._most) else float(int(self._most))

    @property
    def under_way(self) -> int:
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
                self._look_after()
                holder.check_timeout()
        except BaseException:
            with self._lock:
                if slot in self._queue:
                    self._queue.remove(slot)
                self._held.discard(slot)
                self._admit()
            raise
        return slot

    def leave(self, slot: Slot, error: BaseException | None = None) -> None:
        """Release a slot and report the outcome of its request."""
        with self._lock:
            if error is None:
                # Only a limit that was reached shows that the provider may accept more.
                if slot.era == self._era and not self._has_room():
                    self._most += 1 / self._most
            elif isinstance(error, RateLimitError | OverloadedError):
                complaints.add()
                if slot.era == self._era:
                    self._most = max(1.0, min(self._most, len(self._held)) / 2)
                    self._era += 1
            self._held.discard(slot)
            self._admit()

    def _has_room(self) -> bool:
        return len(self._held) + 1 <= self._most

    def _admit(self) -> None:
        while self._queue and self._has_room():
            slot = self._queue.popleft()
            self._give(slot)
            if slot.turn is not None:
                slot.turn.set()

    def _give(self, slot: Slot) -> None:
        slot.era = self._era
        self._held.add(slot)

    def _look_after(self) -> None:
        """Let in who may enter by now; one of all that wait is enough to look."""
        with self._lock:
            if time.monotonic() < self._looked + POLL:
                return
            # An abandoned repetition may hang in its request forever.
            self._held = {slot for slot in self._held if not slot.holder.abandoned}
            self._admit()
            self._looked = time.monotonic()


_throttles: dict[str, Throttle] = {}


def throttle_of(endpoint: str) -> Throttle:
    """Return the one throttle that all models behind an endpoint share in this process."""
    throttle = _throttles.get(endpoint)
    # setdefault is atomic: of two threads that come first, both get the same one.
    return throttle or _throttles.setdefault(endpoint, Throttle())
