"""The repetition that is running now: its clock, and the components that belong to it."""

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from maseval.core.exceptions import NoRepetitionError, TaskTimeoutError
from maseval.core.registry import ComponentRegistry

P = ParamSpec("P")
R = TypeVar("R")


class TaskContext:
    """One repetition's clock and components.

    Code that runs inside a repetition reaches it with ``TaskContext.current()``, for example to
    stop early by ``check_timeout()``. Async code finds it by itself; hand a function to a bare
    thread or an executor as ``TaskContext.bind(function)``.
    """

    def __init__(
        self, deadline: float | None = None, *, registry: ComponentRegistry | None = None
    ) -> None:
        self.deadline = deadline
        self.registry = registry if registry is not None else ComponentRegistry()
        self.collected_traces: dict[str, Any] = {}
        self.abandoned = False
        """Whether nobody waits for this repetition any more."""
        self._start = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the repetition began."""
        return time.monotonic() - self._start

    @property
    def remaining(self) -> float | None:
        """Seconds until the deadline, never below zero; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - self.elapsed)

    @property
    def is_expired(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and self.elapsed >= self.deadline

    def check_timeout(self) -> None:
        """Raise ``TaskTimeoutError`` once the deadline has passed, or the run is over."""
        if self.abandoned or self.is_expired:
            raise self.timeout_error()

    def timeout_error(self) -> TaskTimeoutError:
        """What to raise, or to report, for a deadline that has passed."""
        elapsed = self.elapsed
        return TaskTimeoutError(
            f"Task exceeded {self.deadline}s deadline after {elapsed:.2f}s",
            component="timeout_check",
            elapsed=elapsed,
            timeout=self.deadline or 0.0,
            partial_traces=self.collected_traces,
        )

    def set_collected_traces(self, traces: dict[str, Any]) -> None:
        """Leave traces to be reported should the deadline pass."""
        self.collected_traces = traces

    @staticmethod
    def current() -> "TaskContext":
        """The repetition that this code runs in."""
        context = _current.get()
        if context is None:
            raise NoRepetitionError(
                "no repetition is running here; call this from a setup hook, run_agents or an "
                "evaluator, and hand functions to threads as TaskContext.bind(function)"
            )
        return context

    @staticmethod
    def bind(function: Callable[P, R]) -> Callable[P, R]:
        """``function`` as part of the current repetition, in whichever thread it is called."""
        context = TaskContext.current()

        @functools.wraps(function)
        def bound(*args: P.args, **kwargs: P.kwargs) -> R:
            with context.active():
                return function(*args, **kwargs)

        return bound

    @contextmanager
    def active(self) -> Iterator["TaskContext"]:
        """Make this the current repetition for a while, in this thread."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)


_current: ContextVar[TaskContext | None] = ContextVar("maseval_repetition", default=None)
