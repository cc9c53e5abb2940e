"""CallPolicy: which failed model requests are retried, when, and when to stop.

The one place for retries: adapters disable those of their libraries, and nothing above a model
repeats a request because of a :class:`ProviderError`. ``Throttle`` adapts the number of concurrent
requests to what a provider accepts: they are unlimited until it complains; then half as many as
were in progress may run at once, and one more each time that many were answered.
"""

import logging
import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from maseval.core.clock import Clock
from maseval.core.exceptions import ConfigurationError
from maseval.core.provider_errors import (
    OverloadedError,
    ProviderError,
    RateLimitError,
    WaitTooLongError,
)

T = TypeVar("T")

logger = logging.getLogger(__name__)

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
            # One for each: a condition that all share would wake all of them for every free slot.
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
                    # One more in the time in which as many as the limit are answered.
                    self._most += 1 / self._most
            elif isinstance(error, RateLimitError | OverloadedError) and slot.era == self._era:
                # Of what was in progress, as the limit may be infinite or far from being reached.
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


# When the run is stopping, a wait of a few seconds can still save what a simulation has cost.
_PATIENCE_WHEN_STOPPING = 5.0
_IN_SECONDS = ("base_delay", "max_delay", "max_total_wait")

# Separate, so that seeded random numbers do not depend on how often a provider failed.
_chance = random.Random()


@dataclass(frozen=True)
class CallPolicy:
    """The rules by which a model retries its provider.

    A request that failed for a transient reason is repeated after a random time of up to
    ``base_delay`` seconds, then up to twice as long each time, but at most ``max_delay``. A
    ``Retry-After`` from the provider is added on top. No wait starts that would pass the deadline
    of the repetition.

    Args:
        max_attempts: The maximum number of requests; 1 disables retries.
        base_delay: The longest first wait, in seconds.
        max_delay: The longest wait apart from ``Retry-After``, in seconds.
        max_total_wait: The maximum time one call may spend waiting between attempts, in seconds. A
            provider that asks for more at once is not asked again: ``WaitTooLongError``.
        sleep: Waits that many seconds. Pass one that returns at once to test without waiting.
        chance: Returns a number from 0 to 1: the fraction of the longest wait that is used.
    """

    max_attempts: int = 6
    base_delay: float = 0.5
    max_delay: float = 60.0
    max_total_wait: float = 300.0
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False, compare=False)
    chance: Callable[[], float] = field(default=_chance.random, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ConfigurationError(f"max_attempts must be at least 1, not {self.max_attempts!r}")
        for name in _IN_SECONDS:
            value = getattr(self, name)
            if not value >= 0:
                raise ConfigurationError(f"{name} is in seconds, at least 0, not {value!r}")

    def call(
        self, request: Callable[["CallAttempt"], T], *, model_id: str, endpoint: str | None = None
    ) -> T:
        """Call ``request``, with retries, and return its result.

        Args:
            request: Asks the model once; raises :class:`ProviderError`.
            model_id: The model, for :func:`waiting`.
            endpoint: Calls to the same endpoint share a :class:`Throttle`; the model by default.
        """
        return _Call(self, request, model_id, throttle_of(endpoint or model_id)).result()

    def delay(self, error: ProviderError, attempt: int) -> float:
        """Return the seconds to wait after attempt number ``attempt`` failed with ``error``."""
        # Somebody may allow thousands of attempts, and 2.0 ** 1024 raises.
        longest = min(self.max_delay, self.base_delay * 2.0 ** min(attempt - 1, 60))
        # On top: requests that were refused together would otherwise come back together.
        return (error.retry_after or 0.0) + self.chance() * longest

    def to_dict(self) -> dict[str, object]:
        """Return the limits, for a model's configuration."""
        return {name: getattr(self, name) for name in ("max_attempts", *_IN_SECONDS)}


class CallAttempt(NamedTuple):
    """One request of a call: its number, and how many seconds it waited."""

    number: int
    waited: float


class Wait(NamedTuple):
    """A call that waits to be repeated: the error of its last attempt, and until when it waits.

    ``until`` is a time of ``time.monotonic()``.
    """

    model_id: str
    error: str
    until: float


class _Call(Generic[T]):
    def __init__(
        self,
        policy: CallPolicy,
        request: Callable[[CallAttempt], T],
        model_id: str,
        throttle: Throttle,
    ) -> None:
        self._policy = policy
        self._request = request
        self._model_id = model_id
        self._throttle = throttle
        self._clock = Clock.here() or Clock()
        self._attempts = 0
        self._waited = 0.0
        self._idle_since = time.monotonic()

    def result(self) -> T:
        while True:
            answer = self._try_once()
            if not isinstance(answer, ProviderError):
                return answer
            # Not where the error was caught: each would drag all earlier ones along as its context.
            self._back_off(answer)

    def _try_once(self) -> T | ProviderError:
        slot = self._throttle.enter(self._clock)
        self._attempts += 1
        try:
            waited = time.monotonic() - self._idle_since
            answer = self._request(CallAttempt(self._attempts, waited))
        except BaseException as error:
            self._throttle.leave(slot, error)
            if isinstance(error, ProviderError):
                return error
            raise
        self._throttle.leave(slot)
        self._throttle.answered.add(self._model_id)
        return answer

    def _back_off(self, error: ProviderError) -> None:
        """Wait until the next attempt is due; raises the error if there is none."""
        error = self._or_lasting(error)
        error.details["attempts"] = self._attempts
        # By this a run tells a key that is wrong from a provider that refuses one request.
        error.details["answered_before"] = self._model_id in self._throttle.answered
        if not error.transient:
            raise error
        delay = self._policy.delay(error, self._attempts)
        self._go_on_unless(self._obstacle_to(delay), error)
        following = f"attempt {self._attempts + 1} of {self._policy.max_attempts}"
        logger.info("%s: %s in %.1f s (%s)", self._model_id, following, delay, error)
        self._idle_since = time.monotonic()
        _waits[id(self)] = Wait(self._model_id, type(error).__name__, self._idle_since + delay)
        try:
            self._sleep(delay, error)
        finally:
            del _waits[id(self)]

    def _or_lasting(self, error: ProviderError) -> ProviderError:
        """Return the error, or a lasting one if the provider asks for more than any call waits."""
        longest = self._policy.max_total_wait
        if not error.transient or (error.retry_after or 0.0) <= longest:
            return error
        lasting = error.as_kind(WaitTooLongError)()
        lasting.details["gave_up"] = f"max_total_wait={longest:g}"
        return lasting

    def _sleep(self, delay: float, error: ProviderError) -> None:
        self._waited += delay
        # In short steps, so that a deadline or the end of the run ends the wait as well.
        while delay > 0:
            self._policy.sleep(min(delay, POLL))
            delay -= POLL
            self._clock.check_timeout()
            self._go_on_unless(self._stop_before(delay), error)

    def _go_on_unless(self, obstacle: str | None, error: ProviderError) -> None:
        if obstacle is not None:
            error.details["gave_up"] = obstacle
            raise error

    def _obstacle_to(self, delay: float) -> str | None:
        policy, remaining = self._policy, self._clock.remaining
        if self._attempts >= policy.max_attempts:
            return f"max_attempts={policy.max_attempts}"
        if self._waited + delay > policy.max_total_wait:
            return f"max_total_wait={policy.max_total_wait:g}"
        if remaining is not None and delay >= remaining:
            return "the deadline of the repetition comes first"
        return self._stop_before(delay)

    def _stop_before(self, delay: float) -> str | None:
        if delay > _PATIENCE_WHEN_STOPPING and self._clock.stopping():
            return "the run is being stopped"
        return None


_waits: dict[int, Wait] = {}


def waiting() -> list[Wait]:
    """Return the calls of this process that wait to be repeated."""
    # Copied in one step, as other threads add and remove some all the time.
    return list(_waits.copy().values())


_default = CallPolicy()


def default_policy() -> CallPolicy:
    """Return the policy of every model created without one."""
    return _default


def set_default_policy(policy: CallPolicy) -> None:
    """Replace :func:`default_policy`, for the whole process."""
    global _default
    _default = policy
