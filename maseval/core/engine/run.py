"""One run: prepares its repetitions, runs them, and notifies the callbacks."""

import logging
from collections.abc import Callable, Iterable
from contextvars import copy_context
from typing import Protocol

from maseval.core.callbacks.base import BenchmarkCallback, CallbackHandler
from maseval.core.engine.engines import Engine, Job, WorkerEvent, Workers
from maseval.core.engine.lost_cause import LostCause
from maseval.core.engine.process import HeldInterrupts, rare_garbage_collection
from maseval.core.engine.repetition import Repetition, RepetitionResult, RunSetting
from maseval.core.engine.runner import Runner
from maseval.core.exceptions import ConfigurationError, OutputExistsError
from maseval.core.report import Report
from maseval.core.task import BaseTaskQueue, Task
from maseval.core.tracing import JsonObject

# The name that users know: it is the benchmark's run in which a callback failed.
logger = logging.getLogger("maseval.core.benchmark")

_REFUSALS = (ConfigurationError, OutputExistsError)


class RunOwner(Protocol):
    """What a run needs of its benchmark."""

    tasks: BaseTaskQueue
    reports: list[Report]
    keep_reports: bool
    callbacks: list[BenchmarkCallback]
    callback_handler: CallbackHandler
    n_task_repeats: int
    num_workers: int
    stop_when_hopeless: bool

    def stop(self) -> None:
        """Start nothing more."""


class RunInProgress:
    """One call of ``Benchmark.run()``; ``raise_if_fatal`` ends it early by raising."""

    def __init__(
        self,
        owner: RunOwner,
        setting: RunSetting,
        agent_data_of: Callable[[Task], JsonObject],
        raise_if_fatal: Callable[[RepetitionResult], None],
        engine: Engine,
    ) -> None:
        self._owner = owner
        self._setting = setting
        self._agent_data_of = agent_data_of
        self._raise_if_fatal = raise_if_fatal
        self._engine = engine
        self._announcer = Announcer(_listening(owner), owner.callback_handler)
        self._context = copy_context()
        self._lost_cause = LostCause()
        self._finished = 0

    def execute(self) -> None:
        """Run everything; ``on_run_end`` follows even if the run ends early."""
        with HeldInterrupts() as interrupts, rare_garbage_collection():
            try:
                self._announce("on_run_start")
                self._runner().run(interrupts)
            finally:
                self._announce("on_run_end", results=self._owner.reports)
        self._lost_cause.tell(finished=self._finished)

    def _runner(self) -> Runner:
        owner = self._owner
        return Runner(
            plan=owner.tasks,
            indices_of=lambda task: owner.tasks.repetitions_of(task, owner.n_task_repeats),
            prepare=self._prepare,
            workers=self._workers(),
            listener=self,
            stopping=self._setting.stopping,
        )

    def _workers(self) -> Workers:
        tasks = self._owner.tasks.to_list()
        return self._engine.workers(
            Job(
                setting=self._setting,
                size=self._owner.num_workers,
                timed=any(task.protocol.timeout_seconds is not None for task in tasks),
                domains=frozenset(str(task.metadata.get("domain") or "") for task in tasks) - {""},
                run=self._run,
                note=self._worker_event,
            )
        )

    def _worker_event(self, event: WorkerEvent) -> None:
        self._announce("on_worker_event", event=event)

    def _run(self, repetition: Repetition) -> RepetitionResult:
        # Each sees the caller's context variables, and none that another repetition set.
        return self._context.copy().run(repetition.run)

    def _prepare(self, task: Task, repeat_idx: int) -> Repetition:
        return Repetition.of(self._setting, task, repeat_idx, self._agent_data_of(task))

    def _announce(self, hook: str, **facts: object) -> None:
        self._announcer.announce(hook, self._owner, **facts)

    def task_started(self, task: Task) -> None:
        self._announce("on_task_start", task=task)

    def repetition_started(self, task: Task, repeat_idx: int) -> None:
        self._announce("on_task_repeat_start", task=task, repeat_idx=repeat_idx)

    def repetition_finished(self, report: Report) -> None:
        self._finished += 1
        if self._owner.keep_reports:
            self._owner.reports.append(report)
        self._announce("on_task_repeat_end", report=report)

    def task_finished(self, task: Task, report: Report) -> None:
        self._announce("on_task_end", task=task, result=report)

    def check_failure(self, outcome: RepetitionResult) -> None:
        if self._owner.stop_when_hopeless and self._lost_cause.note(outcome.exception):
            self._owner.stop()
        self._raise_if_fatal(outcome)


def _listening(owner: RunOwner) -> list[BenchmarkCallback]:
    """The callbacks, and the queue if it learns from reports."""
    queue = owner.tasks
    if isinstance(queue, BenchmarkCallback) and queue not in owner.callbacks:
        return [*owner.callbacks, queue]
    return owner.callbacks


class Announcer:
    """Calls one hook of every callback, in order, in the thread that runs the benchmark.

    A callback that fails is logged and never stops a run. One exception: before anything has run,
    it may refuse the run because of its configuration, for example because its output file exists.

    A callback's ``on_event``, and each function of ``handler``, receives the hook's name and its
    arguments by keyword.
    """

    def __init__(self, callbacks: Iterable[BenchmarkCallback], handler: CallbackHandler) -> None:
        self._callbacks = list(callbacks)
        self._handler = handler

    def announce(self, hook: str, benchmark: object, **facts: object) -> None:
        """Call ``hook`` with the benchmark and its arguments."""
        for callback in self._callbacks:
            name = type(callback).__name__
            _call(f"{name}.{hook}", getattr(callback, hook, None), benchmark, *facts.values())
            _call(f"{name}.on_event", getattr(callback, "on_event", None), hook, **facts)
        for function in tuple(self._handler.callbacks):
            _call(getattr(function, "__qualname__", repr(function)), function, hook, **facts)


def _call(
    name: str, function: Callable[..., object] | None, *args: object, **kwargs: object
) -> None:
    if function is None:
        return
    try:
        function(*args, **kwargs)
    except Exception as error:  # a user's callback: it observes, it does not decide
        if name.endswith(".on_run_start") and isinstance(error, _REFUSALS):
            raise
        logger.exception("Callback %s() failed: %s", name, error)
