"""The moments of a run at which an observer is called.

Every hook does nothing here, so an observer writes only those it needs. The engine calls all hooks
of a benchmark callback from the one thread that called ``run()``: no observer needs a lock.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from maseval.core.agent import AgentAdapter
from maseval.core.environment import Environment
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import AdaptiveTaskQueue, BaseTaskQueue, Task
from maseval.core.task.task import RepetitionKey
from maseval.core.tracing import TraceableMixin

if TYPE_CHECKING:
    from maseval.core.benchmark import Benchmark


def planned_repetitions(benchmark: Benchmark) -> list[RepetitionKey]:
    """Return the repetitions that a run is going to have; ``tasks`` may be any list of tasks."""
    tasks: BaseTaskQueue | Sequence[Task] = benchmark.tasks
    repeats = benchmark.n_task_repeats
    # A callback may be tried by hand, with something that only looks like a benchmark.
    if not isinstance(tasks, BaseTaskQueue):
        return [(str(task.id), repeat) for task in tasks for repeat in range(repeats)]
    # By the list, because going through an adaptive queue would use it up.
    every = tasks.to_list()
    return [(str(t.id), repeat) for t in every for repeat in tasks.repetitions_of(t, repeats)]


class BenchmarkCallback(TraceableMixin, ABC):
    """Watches a run: its tasks, their repetitions, their reports.

    ``on_run_end`` follows every ``on_run_start``, also after an error or Ctrl-C. An exception that
    leaves a hook is logged by the engine and never stops the run.
    """

    def on_run_start(self, benchmark: Benchmark) -> None:
        """The run is about to begin; ``benchmark.tasks`` is set."""

    def on_run_end(self, benchmark: Benchmark, results: Any) -> None:
        """The run is over; ``results`` is the list of the reports it made."""

    def on_task_start(self, benchmark: Benchmark, task: Task) -> None:
        """The first repetition of ``task`` is about to be started."""

    def on_task_end(self, benchmark: Benchmark, task: Task, result: Any) -> None:
        """All repetitions of ``task`` are reported; ``result`` is the last report."""

    def on_task_repeat_start(self, benchmark: Benchmark, task: Task, repeat_idx: int) -> None:
        """One repetition is about to be started."""

    def on_task_repeat_end(self, benchmark: Benchmark, report: Any) -> None:
        """One repetition has finished, successfully or not; ``report`` is its ``Report``.

        The type is left open, so that an observer may also call it a plain ``dict``.
        """

    def store_reports(self, benchmark: Benchmark, reports: Sequence[Any]) -> None:
        """Repetitions have finished, and nobody has heard of it yet.

        For observers that keep reports where they are not lost: one call has all reports there are,
        so that a disk is waited for once. ``on_task_repeat_end`` follows for each of them.
        """

    def on_worker_event(self, benchmark: Benchmark, event: Any) -> None:
        """A worker process started or died, or its simulation was given up: a ``WorkerEvent``."""

    def on_event(self, event_name: str, **data: object) -> None:
        """Any event, by name; for observers that treat all events alike."""


# An adaptive queue learns from reports through the same hooks, but lives below this module.
BenchmarkCallback.register(AdaptiveTaskQueue)  # type: ignore[type-abstract]


class EnvironmentCallback(TraceableMixin):
    """Watches an environment being set up."""

    def on_setup_start(self, environment: Environment) -> None:
        """The environment is about to build its state."""
        self.on_event("on_setup_start", environment=environment)

    def on_setup_end(self, environment: Environment) -> None:
        self.on_event("on_setup_end", environment=environment)

    def on_event(self, event_name: str, **data: object) -> None:
        """Any event that has no hook of its own here."""


class AgentCallback(TraceableMixin):
    """Watches an agent's runs; if shared between agents, possibly from several threads."""

    def on_run_start(self, agent: AgentAdapter) -> None:
        """The agent is about to receive a query."""
        self.on_event("on_run_start", agent=agent)

    def on_run_end(self, agent: AgentAdapter, result: object) -> None:
        """The agent answered with ``result``."""
        self.on_event("on_run_end", agent=agent, result=result)

    def on_event(self, event_name: str, **data: object) -> None:
        """Any event that has no hook of its own here."""


class CallbackHandler:
    """A list of functions that are called together, in the order of their registration."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[..., object]] = []

    def register(self, callback: Callable[..., object]) -> None:
        """Have ``callback`` called by every later ``invoke``."""
        self.callbacks.append(callback)

    def deregister(self, callback: Callable[..., object]) -> None:
        """Undo one ``register``."""
        if callback not in self.callbacks:
            raise ConfigurationError(
                f"{callback!r} is not registered; give deregister() what register() was given"
            )
        self.callbacks.remove(callback)

    def invoke(self, *args: object, **kwargs: object) -> None:
        """Call every registered function with these arguments."""
        for callback in list(self.callbacks):
            callback(*args, **kwargs)
