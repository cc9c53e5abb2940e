"""One repetition of one task: set up, execute, collect, evaluate, report.

Any failure becomes a report. A repetition runs entirely in one thread.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeVar

from maseval.core.agent import AgentAdapter
from maseval.core.context import Conversations, TaskContext
from maseval.core.engine.collection import Collected, collected, cut_loose, let_interrupts_pass
from maseval.core.engine.participants import Cast, Hooks, SetUp
from maseval.core.evaluator import Evaluator
from maseval.core.event_loop import settled
from maseval.core.exceptions import HookResultError, TaskTimeoutError, TraceCollectionError
from maseval.core.registry import ComponentRegistry, UsageTotals
from maseval.core.report import (
    Attempt,
    Report,
    TaskExecutionStatus,
    TaskSummary,
    error_record,
    execution_status,
    gathering_failures,
    summary_of,
)
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.tracing import JsonObject, now
from maseval.core.usage import CostCalculator

StageT = TypeVar("StageT")


@dataclass(frozen=True)
class RunSetting:
    """What all repetitions of a run share."""

    benchmark: Hooks
    run_id: str
    seeds: SeedGenerator
    seed: int | None
    config: Mapping[str, object]
    totals: UsageTotals
    prices: CostCalculator | None
    stopping: Callable[[], bool]
    """Whether the run is stopping."""
    shared: ComponentRegistry | None = None
    """The components of the whole run."""
    conversations: Conversations = field(default_factory=Conversations)
    """What is said while it is running."""


@dataclass
class RepetitionResult:
    """The result of an attempt: its report, and the exception behind a failure."""

    report: Report
    status: TaskExecutionStatus
    exception: BaseException | None = None


@dataclass(eq=False)
class Repetition:
    """One attempt at one repetition; ``attempts`` holds the earlier ones."""

    setting: RunSetting
    task: Task
    summary: TaskSummary
    repeat_idx: int
    agent_data: JsonObject
    timeout: float | None
    attempts: list[Attempt] = field(default_factory=list)
    context: TaskContext = field(init=False)
    _started_at: str = field(init=False)
    _began: float = field(init=False)

    @classmethod
    def of(
        cls, setting: RunSetting, task: Task, repeat_idx: int, agent_data: JsonObject
    ) -> "Repetition":
        """The first attempt; raises if the task cannot be reported."""
        timeout = task.protocol.timeout_seconds
        return cls(setting, task, summary_of(task), repeat_idx, agent_data, timeout)

    def begin(self) -> None:
        """Start the clock; must be called first."""
        self._started_at, self._began = now(), time.perf_counter()
        setting = self.setting
        registry = ComponentRegistry(
            setting.config, totals=setting.totals, prices=setting.prices, shared=setting.shared
        )
        self.context = TaskContext(
            self.timeout,
            registry=registry,
            simulation=(str(self.task.id), self.repeat_idx),
            stopping=setting.stopping,
        )

    def set_up(self) -> SetUp:
        """The setup hooks, with this repetition's seeds."""
        seeds = self.setting.seeds.for_task(str(self.task.id)).for_repetition(self.repeat_idx)
        return SetUp(self.setting.benchmark, self.agent_data, self.task, seeds)

    def run(self) -> RepetitionResult:
        """Make the attempt."""
        try:
            with self.context.active(), self._watched():
                return _Stages(self).outcome()
        except BaseException as error:  # an error outside the stages must not kill the worker
            let_interrupts_pass(error)
            return self.outcome(TaskExecutionStatus.UNKNOWN_EXECUTION_ERROR, error)
        finally:
            self.context.registry.close()

    def _watched(self) -> AbstractContextManager[None]:
        key = (str(self.task.id), self.repeat_idx)
        return self.setting.conversations.held(key, self.context.registry)

    def rescored(self, report: Report) -> Report:
        """The ``report`` of a finished repetition with a new evaluation."""
        self.begin()
        with self.context.active():
            stages = _Stages(self)
            evaluation = stages.judged_again(report)
            collected("usage", self.context.registry.collect_usage)
        self.context.registry.close()
        error = None if stages.exception is None else error_record(stages.exception)
        return {**report, "status": stages.status.value, "error": error, "eval": evaluation}

    def given_up(self) -> RepetitionResult:
        """The result of an attempt that is still running past its deadline.

        Work done so far is kept; later work reaches neither the report nor the usage totals.
        """
        registry, left = self.context.registry, self.context.collected_traces
        error = self.context.timeout_error()
        traces = cut_loose("traces", lambda: {**registry.collect_traces(), **left})
        config = cut_loose("configs", registry.collect_configs)
        return self.outcome(
            TaskExecutionStatus.TASK_TIMEOUT,
            error,
            traces=traces,
            config=config,
            usage=self.abandon(),
        )

    def abandon(self) -> Collected:
        """Mark the attempt as abandoned; returns its usage so far, which still counts."""
        self.context.abandoned = True
        usage = cut_loose("usage", self.context.registry.collect_usage)
        self.context.registry.close()
        return usage

    def outcome(
        self,
        status: TaskExecutionStatus,
        error: BaseException | None = None,
        *,
        traces: Collected | None = None,
        config: Collected | None = None,
        usage: Collected | None = None,
        evaluation: list[JsonObject] | None = None,
        final_answer: object = None,
    ) -> RepetitionResult:
        """The attempt as a record."""
        report: Report = {
            "task_id": str(self.task.id),
            "repeat_idx": self.repeat_idx,
            "status": status.value,
            "error": None if error is None else error_record(error),
            "traces": {} if traces is None else traces,
            "config": {} if config is None else config,
            "usage": {} if usage is None else usage,
            "eval": evaluation,
            "task": self.summary,
            "final_answer": final_answer,
            "run_id": self.setting.run_id,
            "started_at": self._started_at,
            "duration_seconds": time.perf_counter() - self._began,
            "seed": self.setting.seed,
            "attempts": self.attempts,
        }
        return RepetitionResult(report, status, error)


class _Stages:
    """The stages of one attempt, in order."""

    def __init__(self, repetition: Repetition) -> None:
        self.repetition = repetition
        self.context = repetition.context
        self.benchmark = repetition.setting.benchmark
        self.status = TaskExecutionStatus.SUCCESS
        self.exception: BaseException | None = None

    def outcome(self) -> RepetitionResult:
        registry = self.context.registry
        cast = self._guarded(self._set_up, _setup_status)
        if cast is None:
            return self._setup_failure()
        answer = self._guarded(lambda: self._execute(cast), execution_status)
        config = collected("configs", registry.collect_configs)
        traces = collected("traces", registry.collect_traces) | self._left_traces()
        evaluation = None
        if self.status is TaskExecutionStatus.SUCCESS:
            evaluation = self._guarded(
                lambda: self._evaluate(cast, answer, traces), _evaluation_status
            )
        return self.repetition.outcome(
            self.status,
            self.exception,
            traces=traces,
            config=config,
            usage=collected("usage", registry.collect_usage),
            evaluation=evaluation,
            final_answer=answer,
        )

    def judged_again(self, report: Report) -> list[JsonObject] | None:
        def judge() -> list[JsonObject]:
            evaluators = self.repetition.set_up().evaluators_alone()
            return judged(self.benchmark, evaluators, {}, report["final_answer"], report["traces"])

        return self._guarded(judge, _evaluation_status)

    def _guarded(
        self, stage: Callable[[], StageT], status: Callable[[BaseException], TaskExecutionStatus]
    ) -> StageT | None:
        try:
            return stage()
        except BaseException as error:  # a repetition in the runner: every failure is reported
            let_interrupts_pass(error)
            self.status, self.exception = status(error), error
            return None

    def _set_up(self) -> Cast:
        hooks = self.repetition.set_up()
        cast = hooks.everything()
        cast.register(self.context.registry, hooks.seeds)
        self.context.check_timeout()
        return cast

    def _left_traces(self) -> Collected:
        error = self.exception
        return error.partial_traces if isinstance(error, TaskTimeoutError) else {}

    def _setup_failure(self) -> RepetitionResult:
        return self.repetition.outcome(
            self.status,
            self.exception,
            traces=self._left_traces(),
            usage=collected("usage", self.context.registry.collect_usage),
        )

    def _execute(self, cast: Cast) -> object:
        self.context.check_timeout()
        return executed(self.benchmark, self.repetition.task, cast)

    def _evaluate(self, cast: Cast, answer: object, traces: Collected) -> list[JsonObject]:
        self.context.check_timeout()
        return judged(self.benchmark, cast.evaluators, cast.agents_by_name, answer, traces)


def executed(benchmark: Hooks, task: Task, cast: Cast) -> object:
    """The final answer of the execution loop."""
    return settled(benchmark.execution_loop(cast.agents, task, cast.environment, cast.user))


def judged(
    benchmark: Hooks,
    evaluators: Sequence[Evaluator],
    agents: dict[str, AgentAdapter],
    answer: object,
    traces: Collected,
) -> list[JsonObject]:
    """The evaluators' results; if traces are missing because of a failure, that is the error."""
    try:
        results = settled(benchmark.evaluate(evaluators, agents, answer, traces))
    except TaskTimeoutError:
        raise
    except Exception as error:
        if failures := gathering_failures(traces):
            told = "; ".join(f"{name} ({reason})" for name, reason in failures.items())
            raise TraceCollectionError(
                f"the traces of a component could not be gathered: {told}. The evaluation then "
                f"failed with {type(error).__name__}: {error}. Correct its gather_traces()",
                details=failures,
            ) from error
        raise
    if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
        raise HookResultError(
            f"evaluate() returned {results!r}; it must return a list of dicts, one for each "
            "evaluator"
        )
    return results


def _setup_status(error: BaseException) -> TaskExecutionStatus:
    if isinstance(error, TaskTimeoutError):
        return TaskExecutionStatus.TASK_TIMEOUT
    return TaskExecutionStatus.SETUP_FAILED


def _evaluation_status(error: BaseException) -> TaskExecutionStatus:
    if isinstance(error, TaskTimeoutError):
        return TaskExecutionStatus.TASK_TIMEOUT
    return TaskExecutionStatus.EVALUATION_FAILED
