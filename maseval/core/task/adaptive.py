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
    begun: dict[str, Task] = field(default_factory=dict)
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
            # Before it is yielded, as its report may come before the next one is asked for.
            task = progress.remaining.pop(str(chosen.id))
            progress.begun[str(task.id)] = task
            yield task

    @property
    def state(self) -> Mapping[str, object]:
        return MappingProxyType(self._progress.state if self._progress else self.initial_state())

    # The hooks of a benchmark callback; ``Benchmark`` stands above, hence ``Any``.

    def on_run_start(self, *args: Any, **kwargs: Any) -> None:
        """Nothing, for an override that calls it; so are the next four."""

    on_run_end = on_task_start = on_task_repeat_start = on_event = on_run_start

    def on_task_repeat_end(self, benchmark: Any, report: Mapping[str, Any]) -> None:
        """Learn from one finished repetition; reports on other tasks are ignored."""
        progress, task_id = self._current(), str(report.get("task_id", ""))
        task = progress.begun.get(task_id) or progress.remaining.pop(task_id, None)
        if task is None:
            return
        progress.begun[task_id] = task
        state = self.update_state(task, report, progress.state)
        if not isinstance(state, dict):
            raise HookResultError(
                f"{type(self).__name__}.update_state returned {state!r}; "
                "return the new state as a dict"
            )
        progress.state = state

    def on_task_end(self, benchmark: Any, task: Task, result: Mapping[str, Any]) -> None:
        """Report a complete task, unless it is of another queue."""
        if str(task.id) in self._current().begun:
            self.on_task_complete(task, result)

    def _of(self, tasks: list[Task]) -> Self:
        other = super()._of(tasks)
        other._progress = None
        return other
