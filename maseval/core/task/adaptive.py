"""A queue that chooses each task based on the results so far."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from maseval.core.exceptions import HookResultError
from maseval.core.task.queues import BaseTaskQueue, tasks_by_id
from maseval.core.task.task import Task
from maseval.core.tracing import TraceableMixin


@dataclass
class _Progress:
    """The progress of one iteration of an adaptive queue; tasks are keyed by id."""

    remaining: dict[str, Task]
    state: dict[str, object]
    in_flight: dict[str, Task] = field(default_factory=dict)
    finished: dict[str, tuple[Task, Mapping[str, Any]]] = field(default_factory=dict)
    stopped: bool = False


class AdaptiveTaskQueue(BaseTaskQueue, TraceableMixin):
    """Chooses each task based on the results so far.

    The runner takes a task whenever a worker is free, so others may still be in flight, and reports
    each finished repetition to ``on_task_repeat_end``, and each task with all its repetitions
    finished to ``on_task_complete``. An iteration yields each task at most once.
    It ends when no task remains, when ``select_next_task`` returns None or after ``stop()``; it
    does not wait for results. Each iteration starts anew, and all calls come from the runner's own
    thread. To look at the tasks without running them, use ``to_list()``.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        super().__init__(tasks)
        self._progress: _Progress | None = None

    @abstractmethod
    def initial_state(self) -> dict[str, object]:
        """Return the state before the first result."""

    @abstractmethod
    def select_next_task(self, remaining: Sequence[Task], state: dict[str, object]) -> Task | None:
        """Return one of ``remaining``, the tasks not yet handed out; or None to end the iteration.

        The sequence is a copy, made for each selection.
        """

    @abstractmethod
    def update_state(self, task: Task, report: Any, state: dict[str, Any]) -> dict[str, Any]:
        """Return the state after one more repetition of ``task``, whose ``Report`` is given."""

    def on_task_complete(self, task: Task, report: Any) -> None:
        """Override to learn that all repetitions of a task are reported; the last one is given."""

    def stop(self) -> None:
        """End the current iteration; what is in flight still counts when it finishes."""
        self._current().stopped = True

    def __iter__(self) -> Iterator[Task]:
        return self._handed_out(self._begin())

    def _begin(self) -> _Progress:
        self._progress = _Progress(tasks_by_id(self._tasks), self.initial_state())
        return self._progress

    def _current(self) -> _Progress:
        return self._progress or self._begin()

    def _handed_out(self, progress: _Progress) -> Iterator[Task]:
        while progress.remaining and not progress.stopped:
            chosen = self.select_next_task(list(progress.remaining.values()), progress.state)
            if chosen is None:
                return
            if not isinstance(chosen, Task) or str(chosen.id) not in progress.remaining:
                raise HookResultError(
                    f"{type(self).__name__}.select_next_task returned {chosen!r}, which is not "
                    "among the remaining tasks; return one of `remaining`, or None to stop"
                )
            task = progress.remaining.pop(str(chosen.id))
            progress.in_flight[str(task.id)] = task
            yield task

    @property
    def remaining(self) -> list[Task]:
        """Tasks not handed out yet."""
        return list(self._progress.remaining.values()) if self._progress else self.to_list()

    @property
    def in_flight(self) -> list[Task]:
        """Tasks handed out of which no repetition has been reported yet."""
        return list(self._progress.in_flight.values()) if self._progress else []

    @property
    def completed(self) -> list[tuple[Task, Mapping[str, Any]]]:
        """Tasks with the first report that came in on each, in the order of those reports."""
        return list(self._progress.finished.values()) if self._progress else []

    @property
    def state(self) -> Mapping[str, object]:
        return MappingProxyType(self._progress.state if self._progress else self.initial_state())

    # The hooks of a benchmark callback; Benchmark itself lives above this module, hence Any.

    def on_run_start(self, benchmark: Any) -> None:
        """Nothing to learn yet."""

    def on_task_start(self, benchmark: Any, task: Task) -> None:
        """Nothing to learn yet."""

    def on_task_repeat_start(self, benchmark: Any, task: Task, repeat_idx: int) -> None:
        """Nothing to learn yet."""

    def on_task_repeat_end(self, benchmark: Any, report: Mapping[str, Any]) -> None:
        """Learn from one finished repetition; reports on other tasks are ignored."""
        progress = self._current()
        task_id = str(report.get("task_id", ""))
        task = progress.in_flight.pop(task_id, None) or progress.remaining.pop(task_id, None)
        if task is not None:
            progress.finished[task_id] = (task, report)
        if task_id not in progress.finished:
            return
        task, _ = progress.finished[task_id]
        state = self.update_state(task, report, progress.state)
        if not isinstance(state, dict):
            raise HookResultError(
                f"{type(self).__name__}.update_state returned {state!r}; "
                "return the new state as a dict"
            )
        progress.state = state

    def on_task_end(self, benchmark: Any, task: Task, result: Mapping[str, Any]) -> None:
        """Report a complete task, unless it is of another queue."""
        if str(task.id) in self._current().finished:
            self.on_task_complete(task, result)

    def on_run_end(self, benchmark: Any, results: Sequence[Mapping[str, object]]) -> None:
        """Nothing to learn: each repetition was reported before."""

    def on_event(self, event_name: str, **data: object) -> None:
        """Nothing to learn: each event has its own hook."""

    def _of(self, tasks: list[Task]) -> Self:
        other = super()._of(tasks)
        other._progress = None
        return other
