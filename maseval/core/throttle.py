"""Throttle: adapts the number of concurrent requests to what a provider accepts.

Requests are unlimited until the provider complains. Then half as many as were in progress may run
at once, and one more each time that many were answered. While a provider asks to wait, with a
``Retry-After`` that the refused call follows, no other request starts either.
"""

import math
import threading
import time
from collections import deque

from maseval.core.clock import Clock
from maseval.core.provider_errors import OverloadedError, RateLimitError

# How often a waiting request checks whether it is still needed, in seconds.
POLL = 0.1


def is_complaint(error: BaseException | None) -> bool:
    """Return whether a provider says that it gets too many requests."""
    return isinstance(error, RateLimitError | OverloadedError)


class Tally:
    """A count that many threads add to."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def add(self, number: int = 1) -> None:
        """So many more."""
        with self._lock:
            self.count += number


complaints = Tally()
"""The complaints of providers to this process, or to its workers, about too many requests."""


class AdaptiveLimit:
    """The limit of concurrent requests, learned from the provider's answers and complaints."""

    def __init__(self) -> None:
        self.value = math.inf
        self.era = 0
        """Grows with each cut, so that the complaints about one burst count once."""
        self.rests = 0
        """The number of times that the provider asked to wait."""
        self._rest_until = -math.inf

    def has_room(self, under_way: int) -> bool:
        """Return whether one more may be in progress."""
        return under_way + 1 <= self.value

    def rest_left(self) -> float:
        """Return the seconds for which no request may start."""
        return max(0.0, self._rest_until - time.monotonic())

    def note_answer(self, era: int, under_way: int) -> None:
        """Learn from an answer to one of the requests in progress."""
        # Only a limit that was reached shows that the provider may accept more.
        if era == self.era and not self.has_room(under_way):
            self.value += 1 / self.value

    def note_complaint(self, era: int, under_way: int, rest: float) -> None:
        """Learn from a complaint about one of the requests in progress."""
        if era == self.era:
            self.value = max(1.0, min(self.value, under_way) / 2)
            self.era += 1
        if rest > 0:
            self.rests += 1
            self._rest_until = max(self._rest_until, time.monotonic() + rest)


class Slot:
    """The right to make one request."""

    __slots__ = ("era", "holder", "rest", "turn")

    def __init__(self, holder: Clock) -> None:
        self.holder = holder
        self.era = 0
        self.turn: threading.Event | None = None
        self.rest = 0
        """Which of the provider's wishes to wait came in reply to this request."""


class Throttle:
    """Lets requests to one provider through, first come, first served."""

    def __init__(self) -> None:
        self._answered: set[str] = set()
        self._adaptive = AdaptiveLimit()
        self._held: set[Slot] = set()
        self._queue: deque[Slot] = deque()
        self._looked = -math.inf
        self._lock = threading.Lock()

    @property
    def limit(self) -> float:
        """The maximum number of concurrent requests; infinite until the provider complains."""
        value = self._adaptive.value
        return value if math.isinf(value) else float(int(value))

    @property
    def under_way(self) -> int:
        """The number of requests in progress."""
        return len(self._held)

    def has_answered(self, model_id: str) -> bool:
        """Return whether a model has answered at least once."""
        return model_id in self._answered

    def note_answer_of(self, model_id: str) -> None:
        """Remember that a model has answered."""
        self._answered.add(model_id)

    def enter(self, holder: Clock, *, rested: int = 0) -> Slot:
        """Wait for a slot, at most until the deadline of ``holder``.

        ``rested`` is the ``rest`` of the caller's last slot, which it has waited out by itself.
        """
        slot = Slot(holder)
        with self._lock:
            if self._takes_at_once(slot, rested):
                return slot
            slot.turn = turn = threading.Event()
            self._queue.append(slot)
        try:
            while not turn.wait(POLL):
                self._look_after()
                holder.check_timeout()
        except BaseException:
            with self._lock:
                self._withdraw(slot)
                self._admit()
            raise
        return slot

    def leave(self, slot: Slot, error: BaseException | None = None, *, rest: float = 0.0) -> None:
        """Release a slot and report the outcome of its request.

        ``rest`` is how many seconds the provider asked to wait, if the caller is going to.
        """
        with self._lock:
            if error is None:
                self._adaptive.note_answer(slot.era, len(self._held))
            elif is_complaint(error):
                complaints.add()
                self._adaptive.note_complaint(slot.era, len(self._held), rest)
                slot.rest = self._adaptive.rests if rest > 0 else 0
            self._held.discard(slot)
            self._admit()

    def _takes_at_once(self, slot: Slot, rested: int) -> bool:
        adaptive = self._adaptive
        free = not self._queue and adaptive.has_room(len(self._held))
        if not free or (rested != adaptive.rests and adaptive.rest_left()):
            return False
        self._give(slot)
        return True

    def _admit(self) -> None:
        if not self._queue or self._adaptive.rest_left():
            return
        while self._queue and self._adaptive.has_room(len(self._held)):
            slot = self._queue.popleft()
            self._give(slot)
            if slot.turn is not None:
                slot.turn.set()

    def _give(self, slot: Slot) -> None:
        slot.era = self._adaptive.era
        self._held.add(slot)

    def _withdraw(self, slot: Slot) -> None:
        if slot in self._queue:
            self._queue.remove(slot)
        self._held.discard(slot)

    def _look_after(self) -> None:
        """Let in who may enter by now; one of all that wait is enough to look."""
        with self._lock:
            if time.monotonic() < self._looked + POLL:
                return
            # An abandoned repetition may hang in its request forever.
            for slot in [slot for slot in self._held if slot.holder.abandoned]:
                self._held.discard(slot)
            self._admit()
            self._looked = time.monotonic()


_throttles: dict[str, Throttle] = {}


def throttle_of(endpoint: str) -> Throttle:
    """Return the one throttle that all models behind an endpoint share in this process."""
    throttle = _throttles.get(endpoint)
    # setdefault is atomic: of two threads that come first, both get the same one.
    return throttle or _throttles.setdefault(endpoint, Throttle())
