"""The current repetition: its clock and its components."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from maseval.core.clock import Clock
from maseval.core.exceptions import NoRepetitionError
from maseval.core.registry import ComponentRegistry

P = ParamSpec("P")
R = TypeVar("R")


class TaskContext(Clock):
    """One repetition's clock and components.

    Code inside a repetition gets it from ``TaskContext.current()``, for example to stop early with
    ``check_timeout()``. Async code inherits it; pass a function to a bare thread or an executor as
    ``TaskContext.bind(function)``.
    """

    def __init__(
        self,
        deadline: float | None = None,
        *,
        registry: ComponentRegistry | None = None,
        simulation: tuple[str, int] | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(deadline, simulation=simulation, stopping=stopping)
        self.registry = registry if registry is not None else ComponentRegistry()

    @staticmethod
    def current() -> "TaskContext":
        """The repetition in which this code runs."""
        context = Clock.here()
        if not isinstance(context, TaskContext):
            raise NoRepetitionError(
                "no repetition is running here; call this from a setup hook, run_agents or an "
                "evaluator, and hand functions to threads as TaskContext.bind(function)"
            )
        return context

    @staticmethod
    def bind(function: Callable[P, R]) -> Callable[P, R]:
        """``function`` bound to the current repetition, in whichever thread it is called."""
        context = TaskContext.current()

        @functools.wraps(function)
        def bound(*args: P.args, **kwargs: P.kwargs) -> R:
            with context.active():
                return function(*args, **kwargs)

        return bound
