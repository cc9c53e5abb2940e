"""Which repetition runs when: one after the other, or many at once in threads.

The thread that called ``run()`` hands out the work, watches the deadlines and calls the callbacks;
repetitions run in worker threads, or in the calling thread itself when there is one worker and no
deadline. A worker whose repetition overruns its deadline is given up and replaced.
"""

import heapq
import itertools
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from maseval.core.interrupts import HeldInterrupts
from maseval.core.repetition import Outcome, Repetition
from maseval.core.report import RETRIED, Attempt, Report, TaskExecutionStatus
from maseval.core.task import Task, TimeoutAction

RunRepetition = Callable[[Repetition], Outcome]
Finished = tuple[Repetition, Outcome]


class Listener(Protocol):
    """Who is told what happens, and may end the run by raising."""

    def task_started(self, task: Task) -> None: ...
    def repetition_started(self, task: Task, repeat_idx: int) -> None: ...
    def repetition_finished(self, report: Report) -> None: ...
    def task_finished(self, task: Task, report: Report) -> None: ...
    def check_failure(self, outcome: Outcome) -> None: ...


class Workers(Protocol):
    """Something that runs repetitions.

    Waiting and taking are two steps, so that Ctrl-C while waiting loses nothing that is finished.
    """

    size: int

    def submit(self, repetition: Repetition) -> None: ...
    def wait(self, timeout: float | None) -> None: ...
    def take(self) -> Finished | None: ...
    def give_up(self, repetition: Repetition) -> None: ...
    def close(self) -> None: ...


class CallingThread:
    """Runs one repetition at a time, in the thread that waits for it."""

    size = 1

    def __init__(self, run: RunRepetition) -> None:
        self._run = run
        self._work: Repetition | None = None
        self._finished: Finished | None = None

    def submit(self, repetition: Repetition) -> None:
        self._work = repetition

    def wait(self, timeout: float | None) -> None:
        repetition, self._work = self._work, None
        if repetition:
            self._finished = repetition, self._run(repetition)

    def take(self) -> Finished | None:
        finished, self._finished = self._finished, None
        return finished

    def give_up(self, repetition: Repetition) -> None:
        raise AssertionError("a repetition in the calling thread has no deadline to overrun")

    def close(self) -> None:
        pass


class Threads:
    """Runs up to ``size`` repetitions at once.

    The threads are daemons: one that hangs for good keeps neither the run nor the process.
    """

    def __init__(self, run: RunRepetition, size: int) -> None:
        self.size = size
        self._run = run
        self._work: queue.SimpleQueue[Repetition | None] = queue.SimpleQueue()
        self._finished: deque[Finished] = deque()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._given_up: set[Repetition] = set()
        self._threads = 0
        self._busy = 0

    def submit(self, repetition: Repetition) -> None:
        self._busy += 1
        if self._busy > self._threads:
            self._threads += 1
            threading.Thread(target=self._serve, daemon=True, name="maseval-worker").start()
        self._work.put(repetition)

    def _serve(self) -> None:
        while (repetition := self._work.get()) is not None:
            self._finished.append((repetition, self._run(repetition)))
            self._bell.put(None)
            if repetition in self._given_up:
                return  # another thread has taken this one's place

    def wait(self, timeout: float | None) -> None:
        with suppress(queue.Empty):
            self._bell.get(timeout=timeout)

    def take(self) -> Finished | None:
        while self._finished:
            repetition, outcome = self._finished.popleft()
            if repetition not in self._given_up:
                self._busy -= 1
                return repetition, outcome
        return None

    def give_up(self, repetition: Repetition) -> None:
        self._given_up.add(repetition)
        self._busy -= 1
        self._threads -= 1

    def close(self) -> None:
        for _ in range(self._threads):
            self._work.put(None)


@dataclass
class _TaskProgress:
    """How many repetitions of a task are still to be reported."""

    task: Task
    open: int


class Runner:
    """Keeps the workers busy until the plan is done."""

    def __init__(
        self,
        plan: Iterator[Task],
        repeats: int,
        prepare: Callable[[Task, int], Repetition],
        workers: Workers,
        listener: Listener,
    ) -> None:
        self._plan = ((task, index) for task in plan for index in range(repeats))
        self._repeats = repeats
        self._prepare = prepare
        self._workers = workers
        self._listener = listener
        self._running: set[Repetition] = set()
        self._tasks: dict[str, _TaskProgress] = {}
        self._deadlines: list[tuple[float, int, Repetition]] = []
        self._counter = itertools.count()
        self._plan_error: Exception | None = None

    def run(self) -> None:
        """Run everything; an exception of the listener, or Ctrl-C, ends the run early.

        What was finished by then is still reported.
        """
        with HeldInterrupts() as interrupts:
            try:
                self._run(interrupts)
            except BaseException:
                self._report_finished()
                raise
            finally:
                self._workers.close()
        if self._plan_error:
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
                more = more and self._fill_one()
            self._give_up_overdue()

    def _fill_one(self) -> bool:
        return len(self._running) >= self._workers.size or self._start_next()

    def _start_next(self) -> bool:
        try:
            planned = next(self._plan, None)
        except Exception as error:  # a user's queue: what is running must still be reported
            self._plan_error = error
            return False
        if planned is None:
            return False
        task, index = planned
        if index == 0:
            self._tasks[str(task.id)] = _TaskProgress(task, self._repeats)
            self._listener.task_started(task)
        self._listener.repetition_started(task, index)
        self._submit(self._prepare(task, index))
        return True

    def _submit(self, repetition: Repetition) -> None:
        self._running.add(repetition)
        if repetition.timeout is not None:
            due = time.monotonic() + repetition.timeout
            heapq.heappush(self._deadlines, (due, next(self._counter), repetition))
        self._workers.submit(repetition)

    def _until_next_deadline(self) -> float | None:
        if len(self._deadlines) > 2 * len(self._running) + 64:
            self._deadlines = [due for due in self._deadlines if due[2] in self._running]
            heapq.heapify(self._deadlines)
        if not self._running or not self._deadlines:
            return None
        return max(0.0, self._deadlines[0][0] - time.monotonic())

    def _give_up_overdue(self) -> None:
        overdue = time.monotonic()
        while self._deadlines and self._deadlines[0][0] <= overdue:
            repetition = heapq.heappop(self._deadlines)[2]
            if repetition in self._running:
                self._workers.give_up(repetition)
                self._finish(repetition, repetition.given_up())

    def _finish(self, repetition: Repetition, outcome: Outcome) -> None:
        self._running.discard(repetition)
        again = next_attempt(repetition, outcome)
        if again:
            self._submit(again)
            return
        self._report(outcome)
        self._listener.check_failure(outcome)

    def _report(self, outcome: Outcome) -> None:
        report = outcome.report
        self._listener.repetition_finished(report)
        progress = self._tasks[report["task_id"]]
        progress.open -= 1
        if progress.open == 0:
            del self._tasks[report["task_id"]]
            self._listener.task_finished(progress.task, report)

    def _report_finished(self) -> None:
        while finished := self._workers.take():
            repetition, outcome = finished
            self._running.discard(repetition)
            self._report(outcome)


def next_attempt(repetition: Repetition, outcome: Outcome) -> Repetition | None:
    """The same repetition once more, if its task's protocol asks for that."""
    protocol = repetition.task.protocol
    timed_out = TaskExecutionStatus.TASK_TIMEOUT
    timeout = repetition.timeout
    earlier = [attempt["status"] == timed_out.value for attempt in repetition.attempts]
    if outcome.status is timed_out:
        if protocol.timeout_action is TimeoutAction.SKIP or any(earlier):
            return None
        if protocol.timeout_action is TimeoutAction.EXTEND and timeout is not None:
            timeout *= 2
    elif outcome.status not in RETRIED or earlier.count(False) >= protocol.max_retries:
        return None
    return Repetition(
        task=repetition.task,
        repeat_idx=repetition.repeat_idx,
        agent_data=repetition.agent_data,
        run_id=repetition.run_id,
        seeds=repetition.seeds,
        context_for=repetition.context_for,
        timeout=timeout,
        attempts=[*repetition.attempts, _attempt_record(outcome.report)],
    )


def _attempt_record(report: Report) -> Attempt:
    return {
        "status": report["status"],
        "error": report["error"],
        "usage": report["usage"],
        "started_at": report["started_at"],
        "duration_seconds": report["duration_seconds"],
    }
