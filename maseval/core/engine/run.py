"""One run: hands out repetitions and notifies the callbacks.

All of this happens in the thread that called ``Benchmark.run()``; only the repetitions take place
in workers, which abandon what is past its deadline. When an exception or Ctrl-C ends the run, the
repetitions that have finished are still reported.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from maseval.core.callbacks.base import BenchmarkCallback
from maseval.core.engine.engines import Engine, Finished, Job, Workers
from maseval.core.engine.participants import pickled, private_task
from maseval.core.engine.process_settings import HeldInterrupts
from maseval.core.engine.repetition import Repetition, RepetitionResult, RunSetting
from maseval.core.exceptions import (
    ConfigurationError,
    DuplicateTaskError,
    MASEvalError,
    OutputExistsError,
    RunInterruptedError,
    RunStoppedError,
    TaskFormatError,
)
from maseval.core.provider_errors import ProviderError
from maseval.core.report import RETRYABLE_STATUSES, Report, TaskExecutionStatus, attempt_of
from maseval.core.task import Task, TimeoutAction
from maseval.core.tracing import JsonObject

if TYPE_CHECKING:  # it stands above the engine that runs it
    from maseval.core.benchmark import Benchmark

# The name that users know: it is the benchmark's run in which a callback failed.
logger = logging.getLogger("maseval.core.benchmark")

_REFUSALS = (ConfigurationError, OutputExistsError)
# Their workers get no other work until they are stored: a wait for the disk is worth a few reports.
_STORED_AT_ONCE = 32


class RunInProgress:
    _workers: Workers

    def __init__(
        self,
        owner: "Benchmark",
        setting: RunSetting,
        agent_data_of: Callable[[Task], JsonObject],
        engine: Engine,
    ) -> None:
        self._owner = owner
        self._setting = setting
        self._agent_data_of = agent_data_of
        self._engine = engine
        self._announce = Announcer(owner).announce
        # That of the caller: repetitions see the variables it has set.
        self._context = copy_context()
        self._lost_cause = LostCause()
        self._planned = self._plan()
        self._plan_error: Exception | None = None
        self._running: set[Repetition] = set()
        self._unreported: dict[str, int] = {}
        self._finished = 0

    def execute(self) -> None:
        """Run everything; ``on_run_end`` follows even if the run ends early."""
        with HeldInterrupts() as interrupts:
            try:
                self._announce("on_run_start")
                self._workers = self._engine.workers(self._job())
                with self._workers.open():
                    self._work(interrupts)
                if self._plan_error is not None:
                    raise self._plan_error
            finally:
                self._announce("on_run_end", results=self._owner.reports)
        self._lost_cause.raise_if_found(self._finished)

    def _job(self) -> Job:
        tasks = self._owner.tasks.to_list()

        return Job(
            setting=self._setting,
            size=self._owner.num_workers,
            repetitions=sum(len(self._repetitions_of(task)) for task in tasks),
            timed=any(task.protocol.timeout_seconds is not None for task in tasks),
            domains=frozenset(str(task.metadata.get("domain") or "") for task in tasks) - {""},
            # Each sees the caller's context variables, and none that another repetition set.
            run=lambda repetition: self._context.copy().run(repetition.run),
            note=lambda event: self._announce("on_worker_event", event=event),
        )

    def _plan(self) -> Iterator[Repetition]:
        """Yield the repetitions in order; a custom queue may hand out anything: check it."""
        seen: set[str] = set()
        # As it is before the first agent works, which in this process may reach what is to come.
        kept = {id(task): pickled(task.evaluation_data) for task in self._owner.tasks.to_list()}
        for task in self._owner.tasks:
            if not isinstance(task, Task):
                raise TaskFormatError(f"the queue handed out {task!r}, which is not a Task")
            if str(task.id) in seen:
                raise DuplicateTaskError(
                    f"the queue handed out the task {str(task.id)!r} twice; hand out each task "
                    "once, and use n_task_repeats to run it more often"
                )
            seen.add(str(task.id))
            for repeat_idx in self._repetitions_of(task):
                recorded = self._owner.tasks.recorded(task, repeat_idx)
                agent_data = self._agent_data_of(task)
                own = private_task(task, kept.get(id(task)))
                yield Repetition.of(self._setting, own, repeat_idx, agent_data, recorded)

    def _repetitions_of(self, task: Task) -> Sequence[int]:
        return self._owner.tasks.repetitions_of(task, self._owner.n_task_repeats)

    def _work(self, interrupts: HeldInterrupts) -> None:
        try:
            more = True
            while True:
                while more and len(self._running) < self._workers.size:
                    more = self._start_next()
                if not self._running:
                    return
                # Anywhere else Ctrl-C waits: a report that is being stored is not to be lost.
                with interrupts.let_through():
                    self._workers.wait()
                ended = self._take_ended()
                while group := list(islice(ended, _STORED_AT_ONCE)):
                    final = [ended for ended in group if not self._try_again(*ended)]
                    self._report_all(final)
                    for _, outcome in final:
                        self._check_failure(outcome)
                    while more and len(self._running) < self._workers.size:
                        more = self._start_next()
        except BaseException:
            self._report_all(list(self._take_ended()))
            # Their results come too late for the record, but what they used was paid for.
            for repetition in self._running:
                repetition.abandon()
            raise

    def _start_next(self) -> bool:
        if self._setting.stopping():
            return False
        try:
            repetition = next(self._planned, None)
        except Exception as error:  # a user's queue: what is running must still be reported
            self._plan_error = error
            return False
        if repetition is None:
            return False
        task = repetition.task
        if str(task.id) not in self._unreported:
            self._unreported[str(task.id)] = len(self._repetitions_of(task))
            self._announce("on_task_start", task=task)
        self._announce("on_task_repeat_start", task=task, repeat_idx=repetition.repeat_idx)
        self._submit(repetition)
        return True

    def _submit(self, repetition: Repetition) -> None:
        repetition.begin()
        self._running.add(repetition)
        self._workers.submit(repetition)

    def _take_ended(self) -> Iterator[Finished]:
        while ended := self._workers.take():
            self._running.discard(ended[0])
            yield ended

    def _try_again(self, repetition: Repetition, outcome: RepetitionResult) -> bool:
        again = None if self._setting.stopping() else next_attempt(repetition, outcome)
        if again is not None:
            self._submit(again)
        return again is not None

    def _report_all(self, finished: Sequence[Finished]) -> None:
        """Report repetitions once all of them are in safety."""
        if finished:
            self._announce("store_reports", reports=[outcome.report for _, outcome in finished])
        for repetition, outcome in finished:
            self._report(repetition, outcome.report)

    def _report(self, repetition: Repetition, report: Report) -> None:
        self._finished += 1
        if self._owner.keep_reports:
            self._owner.reports.append(report)
        self._announce("on_task_repeat_end", report=report)
        task = repetition.task
        self._unreported[str(task.id)] -= 1
        if not self._unreported[str(task.id)]:
            del self._unreported[str(task.id)]
            self._announce("on_task_end", task=task, result=report)

    def _check_failure(self, outcome: RepetitionResult) -> None:
        if self._owner.stop_when_hopeless and self._lost_cause.note(outcome.exception):
            self._owner.stop()
        if outcome.exception is not None and _ends_run(self._owner, outcome.status):
            # After it has been reported, with all that finished beside it.
            raise outcome.exception


def _ends_run(owner: "Benchmark", status: TaskExecutionStatus) -> bool:
    flags = {
        TaskExecutionStatus.SUCCESS: False,
        TaskExecutionStatus.TASK_TIMEOUT: False,
        TaskExecutionStatus.SETUP_FAILED: owner.fail_on_setup_error,
        TaskExecutionStatus.EVALUATION_FAILED: owner.fail_on_evaluation_error,
        TaskExecutionStatus.JUDGE_UNDECIDED: owner.fail_on_evaluation_error,
    }
    return flags.get(status, owner.fail_on_task_error)


def next_attempt(repetition: Repetition, outcome: RepetitionResult) -> Repetition | None:
    """Return the next attempt at the repetition, if its task's protocol allows one."""
    protocol, timeout = repetition.task.protocol, repetition.timeout
    timed_out, failure = TaskExecutionStatus.TASK_TIMEOUT, outcome.exception
    earlier = [attempt["status"] == timed_out.value for attempt in repetition.attempts]
    if outcome.status is timed_out:
        if protocol.timeout_action is TimeoutAction.SKIP or any(earlier):
            return None
        if protocol.timeout_action is TimeoutAction.EXTEND and timeout is not None:
            timeout *= 2
    elif (
        outcome.status not in RETRYABLE_STATUSES
        or earlier.count(False) >= protocol.max_retries
        or (isinstance(failure, ProviderError) and not failure.transient)
        or (isinstance(failure, MASEvalError) and failure.fatal_for_run)
    ):
        return None
    attempts = [*repetition.attempts, attempt_of(outcome.report)]
    return replace(repetition, timeout=timeout, attempts=attempts)


class LostCause:
    """The reason to stop a run in which every remaining task would fail in the same way.

    A refused key, an unknown model or a missing library ends the run at once if the model has never
    answered, otherwise after several such failures in a row.
    """

    # A model that has answered before may refuse one request by mistake, but hardly so many.
    _IN_A_ROW = 3

    def __init__(self) -> None:
        self.error: MASEvalError | None = None
        self._in_a_row = 0
        self._worked = False

    def note(self, exception: BaseException | None) -> bool:
        """Record how a repetition ended; return whether the run should stop."""
        if not isinstance(exception, MASEvalError) or not exception.fatal_for_run:
            self._in_a_row = 0
            self._worked |= exception is None  # in whichever process
            return False
        self._in_a_row += 1
        worked_before = self._worked or exception.details.get("answered_before", False)
        if self.error is None and (not worked_before or self._in_a_row >= self._IN_A_ROW):
            self.error = exception
        return self.error is not None

    def raise_if_found(self, finished: int) -> None:
        if isinstance(self.error, RunInterruptedError):
            raise RunStoppedError(str(self.error)) from self.error
        if self.error is not None:
            raise RunStoppedError(
                f"the run was stopped, as every other task would have failed in the same way: "
                f"{self.error}. Reports kept so far: {finished}; run again when the cause is gone",
                details={"error_type": type(self.error).__name__, **self.error.details},
            ) from self.error


class Announcer:
    """Calls one hook of every callback, in order, in the thread that runs the benchmark.

    A callback that fails is logged and never stops a run. One exception: before anything has run,
    it may refuse the run because of its configuration, for example because its output file exists.
    A queue that learns from reports is called as a callback too. After an event's own hook comes
    ``on_event``, with the hook's name and its arguments by keyword; ``store_reports`` is no event.
    """

    def __init__(self, owner: "Benchmark") -> None:
        self._owner = owner
        self._callbacks = list(owner.callbacks)
        if isinstance(owner.tasks, BenchmarkCallback) and owner.tasks not in self._callbacks:
            self._callbacks.append(owner.tasks)

    def announce(self, hook: str, **facts: object) -> None:
        for name, call in self._calls(hook, facts):
            try:
                call()
            except Exception as error:  # a user's callback: it observes, it does not decide
                if name.endswith(".on_run_start") and isinstance(error, _REFUSALS):
                    raise
                logger.exception("Callback %s() failed: %s", name, error)

    def _calls(
        self, hook: str, facts: dict[str, object]
    ) -> Iterator[tuple[str, Callable[[], object]]]:
        is_event = hook.startswith("on_")
        for callback in self._callbacks:
            name = type(callback).__name__
            if method := getattr(callback, hook, None):
                yield f"{name}.{hook}", partial(method, self._owner, *facts.values())
            if is_event and (on_event := getattr(callback, "on_event", None)):
                yield f"{name}.on_event", partial(on_event, hook, **facts)
