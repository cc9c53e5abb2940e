"""The time left for the current repetition, and who works in it, for code that knows neither."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

from maseval.core.exceptions import TaskTimeoutError

logger = logging.getLogger(__name__)
_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


# Counted, as the system uses the ids of processes again.
os.register_at_fork(after_in_child=_count_fork)


def forks() -> int:
    """Return the number of forks between the first process and this one."""
    return _forks


def end_if_forked(since: int) -> None:
    """End this process if it was forked since: a copy must not go on as the run.

    A process that is forked to work for an agent returns from where it began, and never here.
    """
    if _forks != since:
        os._exit(0)


class Acting:
    """The agent of a repetition that was the last to begin its work.

    Tools hold this and not the clock, from which an agent could reach the run and its tasks.
    """

    name: str | None = None


class Clock:
    """The time of a repetition: its start, its deadline, and whether it was abandoned."""

    def __init__(
        self,
        deadline: float | None = None,
        *,
        simulation: tuple[str, int] | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.deadline = deadline
        self.simulation = simulation
        """The task's id and the number of the repetition."""
        self.stopping = stopping
        """Returns True if the run is stopping."""
        self.collected_traces: dict[str, object] = {}
        self.acting = Acting()
        self.judgements: Any = None
        """The ``JudgeRecord`` of the run, for whoever judges this repetition."""
        self.judged: Mapping[str, Any] | None = None
        """The simulation, as a judgement names it."""
        self.abandoned = False
        """True if the repetition was abandoned: its result will not be used."""
        self.is_over = False
        """True once the repetition has ended, whichever way."""
        self._start = time.monotonic()
        self._releases: list[Callable[[], object]] = []
        self._ending = threading.Lock()

    @staticmethod
    def here() -> "Clock | None":
        """Return the clock of the current repetition, if there is one."""
        return _current.get()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._start

    @property
    def remaining(self) -> float | None:
        """Seconds until the deadline, never below zero; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - self.elapsed)

    @property
    def is_expired(self) -> bool:
        """True if the deadline passed before the repetition was over."""
        expired = self.deadline is not None and self.elapsed >= self.deadline
        return expired and not self.is_over

    def check_timeout(self) -> None:
        """Raise ``TaskTimeoutError`` once the deadline has passed, or the run is over."""
        if self.abandoned or self.is_expired:
            raise self.timeout_error()

    def timeout_error(self) -> TaskTimeoutError:
        elapsed = self.elapsed
        return TaskTimeoutError(
            f"Task exceeded {self.deadline}s deadline after {elapsed:.2f}s",
            component="timeout_check",
            elapsed=elapsed,
            timeout=self.deadline or 0.0,
            partial_traces=self.collected_traces,
        )

    def set_collected_traces(self, traces: dict[str, object]) -> None:
        """Set traces to include in the report if the deadline passes."""
        self.collected_traces = traces

    def at_end(self, release: Callable[[], object]) -> None:
        """Have ``release`` called once the repetition is over, the latest first.

        That is after a success, a failed set-up and a time-out alike, with no clock running; at
        once if it is over already. It may block for a few seconds.
        """
        with self._ending:
            if not self.is_over:
                self._releases.append(release)
                return
        release()

    def end(self, *, wait: bool = True) -> None:
        """Let go of what was registered by ``at_end``; nothing happens the second time.

        Without ``wait`` a thread does it, for which this process waits when it exits.
        """
        with self._ending:
            self.is_over = True
            releases, self._releases = self._releases, []
        if wait:
            self._release(releases)
        elif releases:
            threading.Thread(target=self._release, args=[releases], name="maseval-ending").start()

    def _release(self, releases: Sequence[Callable[[], object]]) -> None:
        for release in reversed(releases):
            try:
                release()
            except Exception:  # a foreign program: the others must be let go of as well
                logger.warning("something of %s could not be ended", self.simulation, exc_info=True)

    @contextmanager
    def active(self) -> Iterator[Self]:
        """Make this the current repetition in this thread, within the context."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)


_current: ContextVar[Clock | None] = ContextVar("maseval_repetition", default=None)
_acting: ContextVar[str | None] = ContextVar("maseval_acting", default=None)


def acting_agent(latest: Acting | None = None) -> str | None:
    """Return the name of the agent that works here, in this thread or task; None if nobody does.

    In a thread that inherits nothing, it is the ``latest`` of the repetition.
    """
    return _acting.get() or (None if latest is None else latest.name)


def begin_to_act(name: str) -> None:
    """Name the agent at work in the rest of this context, as where a library calls back."""
    _acting.set(name)


@contextmanager
def acting_as(name: str | None) -> Iterator[None]:
    """Name the agent, or the user, on whose account models are asked and tools are called."""
    clock = Clock.here()
    latest = Acting() if clock is None else clock.acting
    before, token, began = latest.name, _acting.set(name), _forks
    latest.name = name
    try:
        yield
    finally:
        end_if_forked(began)
        _acting.reset(token)
        latest.name = before
