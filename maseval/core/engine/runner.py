"""The scheduler: keeps the workers busy until the plan is done.

The thread that called ``run()`` hands out the work, watches the deadlines and notifies the
listener. A repetition that passes its deadline is abandoned, and a new worker replaces its worker.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from maseval.core.engine.engines import Workers
from maseval.core.engine.process import HeldInterrupts
from maseval.core.engine.repetition import Repetition, RepetitionResult
from maseval.core.exceptions import DuplicateTaskError, MASEvalError, TaskFormatError
from maseval.core.provider_errors import ProviderError
from maseval.core.report import RETRYABLE_STATUSES, Attempt, Report, TaskExecutionStatus
from maseval.core.task import Task, TimeoutAction


class RunListener(Protocol):
    """Receives the events of a run, and may end it by raising."""

    def task_started(self, task: Task) -> None: ...
    def repetition_started(self, task: Task, repeat_idx: int) -> None: ...
    def repetition_finished(self, report: Report) -> None: ...
    def task_finished(self, task: Task, report: Report) -> None: ...
    def check_failure(self, outcome: RepetitionResult) -> None: ...


@dataclass
class _TaskProgress:
    """The number of repetitions of a task that are not reported yet."""

    task: Task
    open: int


class Runner:
    """Runs the repetitions ``indices_of`` each task that ``plan`` yields.

    Once ``stopping`` returns true, nothing more is started; repetitions in progress finish and are
    reported.
    """

    def __init__(
        self,
        plan: Iterable[Task],
        indices_of: Callable[[Task], Sequence[int]],
        prepare: Callable[[Task, int], Repetition],
        workers: Workers,
        listener: RunListener,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._plan = (
            prepare(task, index) for task in _each_once(plan) for index in indices_of(task)
        )
        self._indices_of = indices_of
        self._stopping = stopping
        self._workers = workers
        self._listener = listener
        self._running: set[Repetition] = set()
        self._due: dict[Repetition, float] = {}
        self._tasks: dict[str, _TaskProgress] = {}
        self._plan_error: Exception | None = None

    def run(self, interrupts: HeldInterrupts) -> None:
        """Run everything; an exception of the listener, or Ctrl-C, ends the run early.

        Repetitions finished by then are still reported.
        """
        with self._workers.open():
            try:
                self._run(interrupts)
            except BaseException:
                self._drain()
                raise
        if self._plan_error is not None:
            raise self._plan_error

    def _run(self, interrupts: HeldInterrupts) -> None:
        more = True
        while True:
            while more and len(self._running) < self._workers.size:
                more = self._start_next()
            if not self._running:
                return
            timeout = self._until_next_deadline()
            with interrupts.let_through():
                self._workers.wait(timeout)
            while finished := self._workers.take():
                self._finish(*finished)
                if more and len(self._running) < self._workers.size:
                    more = self._start_next()
            self._give_up_overdue()

    def _start_next(self) -> bool:
        if self._stopping():
            return False
        try:
            repetition = next(self._plan, None)
        except Exception as error:  # a user's queue: what is running must still be reported
            self._plan_error = error
            return False
        if repetition is None:
            return False
        task = repetition.task
        if str(task.id) not in self._tasks:
            self._tasks[str(task.id)] = _TaskProgress(task, len(self._indices_of(task)))
            self._listener.task_started(task)
        self._listener.repetition_started(task, repetition.repeat_idx)
        self._submit(repetition)
        return True

    def _submit(self, repetition: Repetition) -> None:
        repetition.begin()
        self._running.add(repetition)
        if repetition.timeout is not None:
            self._due[repetition] = time.monotonic() + repetition.timeout
        self._workers.submit(repetition)

    def _until_next_deadline(self) -> float | None:
        if not self._due:
            return None
        return max(0.0, min(self._due.values()) - time.monotonic())

    def _give_up_overdue(self) -> None:
        moment = time.monotonic()
        for repetition in [late for late, due in self._due.items() if due <= moment]:
            outcome = self._workers.give_up(repetition)
            if outcome is not None:
                self._finish(repetition, outcome)
            elif repetition.timeout is not None:
                self._due[repetition] = moment + repetition.timeout

    def _finish(self, repetition: Repetition, outcome: RepetitionResult) -> None:
        self._forget(repetition)
        again = None if self._stopping() else next_attempt(repetition, outcome)
        if again is not None:
            self._submit(again)
            return
        self._report(outcome.report)
        self._listener.check_failure(outcome)

    def _forget(self, repetition: Repetition) -> None:
        self._running.discard(repetition)
        self._due.pop(repetition, None)

    def _report(self, report: Report) -> None:
        self._listener.repetition_finished(report)
        progress = self._tasks[report["task_id"]]
        progress.open -= 1
        if progress.open == 0:
            del self._tasks[report["task_id"]]
            self._listener.task_finished(progress.task, report)

    def _drain(self) -> None:
        """Report finished repetitions without waiting for the others."""
        while finished := self._workers.take():
            repetition, outcome = finished
            self._forget(repetition)
            self._report(outcome.report)
        for repetition in self._running:
            repetition.abandon()


def next_attempt(repetition: Repetition, outcome: RepetitionResult) -> Repetition | None:
    """The next attempt at the repetition, if its task's protocol allows one."""
    protocol, timeout = repetition.task.protocol, repetition.timeout
    timed_out = TaskExecutionStatus.TASK_TIMEOUT
    earlier = [attempt["status"] == timed_out.value for attempt in repetition.attempts]
    if outcome.status is timed_out:
        if protocol.timeout_action is TimeoutAction.SKIP or any(earlier):
            return None
        if protocol.timeout_action is TimeoutAction.EXTEND and timeout is not None:
            timeout *= 2
    elif (
        outcome.status not in RETRYABLE_STATUSES
        or earlier.count(False) >= protocol.max_retries
        or _is_lasting(outcome.exception)
    ):
        return None
    attempts = [*repetition.attempts, _attempt_record(outcome.report)]
    return replace(repetition, timeout=timeout, attempts=attempts)


def _is_lasting(failure: BaseException | None) -> bool:
    """Whether another attempt would fail in the same way."""
    if isinstance(failure, ProviderError):
        return not failure.transient
    return isinstance(failure, MASEvalError) and failure.fatal_for_run


def _attempt_record(report: Report) -> Attempt:
    return {
        "status": report["status"],
        "error": report["error"],
        "usage": report["usage"],
        "started_at": report["started_at"],
        "duration_seconds": report["duration_seconds"],
    }


def _each_once(plan: Iterable[Task]) -> Iterator[Task]:
    """The tasks of a plan, checked: a custom queue may yield anything."""
    seen: set[str] = set()
    for task in plan:
        if not isinstance(task, Task):
            raise TaskFormatError(f"the queue handed out {task!r}, which is not a Task")
        if str(task.id) in seen:
            raise DuplicateTaskError(
                f"the queue handed out the task {str(task.id)!r} twice; hand out each task once, "
                "and use n_task_repeats to run it more often"
            )
        seen.add(str(task.id))
        yield task
