"""One repetition of one task: set up, execute, collect, evaluate, report.

Whatever goes wrong on the way, the result is a report. It runs wholly in one thread.
"""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import current_thread, main_thread
from typing import Any, Protocol

from maseval.core.agent import AgentAdapter
from maseval.core.context import TaskContext
from maseval.core.environment import Environment
from maseval.core.evaluator import Evaluator
from maseval.core.exceptions import HookResultError, TaskTimeoutError
from maseval.core.report import (
    Attempt,
    Report,
    TaskExecutionStatus,
    collection_failure,
    error_record,
    execution_status,
    summary_of,
)
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.tracing import TraceableMixin, now
from maseval.core.user import User

Agents = tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]


@dataclass
class Cast:
    """Who takes part in a repetition."""

    environment: Environment
    user: User | None
    agents: Sequence[AgentAdapter]
    agents_by_name: dict[str, AgentAdapter]
    evaluators: Sequence[Evaluator]


class Stages(Protocol):
    """What a benchmark lends to its repetitions."""

    def cast(self, agent_data: dict[str, Any], task: Task, seeds: SeedGenerator) -> Cast:
        """Set up everybody."""

    def judges(self, task: Task, seeds: SeedGenerator) -> Sequence[Evaluator]:
        """Set up only those who judge."""

    def execution_loop(
        self,
        agents: Sequence[AgentAdapter],
        task: Task,
        environment: Any,
        user: Any,
    ) -> Any:
        """Let the agents work; returns the final answer."""

    def evaluate(
        self,
        evaluators: Sequence[Evaluator],
        agents: dict[str, AgentAdapter],
        final_answer: Any,
        traces: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """Judge what happened."""


@dataclass(eq=False)
class Repetition:
    """One repetition to be run, and what is already known of it."""

    task: Task
    repeat_idx: int
    agent_data: dict[str, Any]
    run_id: str
    seeds: SeedGenerator
    context_for: Callable[[float | None], TaskContext]
    timeout: float | None
    attempts: list[Attempt] = field(default_factory=list)
    context: TaskContext | None = None
    started_at: str = ""
    _began: float = 0.0

    def run(self, stages: Stages) -> "Outcome":
        """Make an attempt."""
        self.started_at, self._began = now(), time.perf_counter()
        self.context = context = self.context_for(self.timeout)
        with context.active():
            outcome = _Attempt(self, stages, context).outcome()
        context.registry.clear()
        return outcome

    def rescore(self, stages: Stages, report: Report) -> "Outcome":
        """Judge a finished repetition again from its report."""
        with self.context_for(None).active() as context:
            return _Attempt(self, stages, context).rescored(report)

    def report(
        self,
        status: TaskExecutionStatus,
        *,
        error: BaseException | None = None,
        traces: dict[str, Any] | None = None,
        config: dict[str, Any] | None = None,
        usage: dict[str, Any] | None = None,
        evaluation: list[dict[str, Any]] | None = None,
        final_answer: Any = None,
    ) -> Report:
        """The attempt as a record."""
        return {
            "task_id": str(self.task.id),
            "repeat_idx": self.repeat_idx,
            "status": status.value,
            "error": error_record(error) if error else None,
            "traces": traces if traces is not None else {},
            "config": config if config is not None else {},
            "usage": usage if usage is not None else {},
            "eval": evaluation,
            "task": summary_of(self.task),
            "final_answer": final_answer,
            "run_id": self.run_id,
            "started_at": self.started_at,
            "duration_seconds": time.perf_counter() - self._began,
            "seed": self.seeds.global_seed,
            "attempts": self.attempts,
        }

    def given_up(self) -> "Outcome":
        """The report of an attempt that is still running past its deadline.

        What it has done so far is kept; what it does from now on reaches no report.
        """
        context = self.context
        if context is None:  # the thread never came to run it
            context = self.context_for(self.timeout)
            self.started_at = now()
        context.abandoned = True
        error = context.timeout_error()
        traces = _snapshot("traces", context.registry.collect_traces)
        report = self.report(
            TaskExecutionStatus.TASK_TIMEOUT,
            error=error,
            traces={**traces, **context.collected_traces},
            config=_snapshot("configs", context.registry.collect_configs),
            usage=_snapshot("usage", context.registry.collect_usage),
        )
        return Outcome(report, TaskExecutionStatus.TASK_TIMEOUT, error)


@dataclass
class Outcome:
    """What came of an attempt: its report, and the exception behind a failure."""

    report: Report
    status: TaskExecutionStatus
    exception: BaseException | None = None


class _Attempt:
    """The stages of one attempt, in order."""

    def __init__(self, repetition: Repetition, stages: Stages, context: TaskContext) -> None:
        self.repetition = repetition
        self.stages = stages
        self.context = context
        self.status = TaskExecutionStatus.SUCCESS
        self.exception: BaseException | None = None

    def outcome(self) -> Outcome:
        try:
            cast = self._set_up()
        except BaseException as error:  # a repetition in the runner: every failure is reported
            return self._setup_failure(error)
        answer = self._guarded(lambda: self._execute(cast), execution_status)
        registry = self.context.registry
        config = _collected("configs", registry.collect_configs)
        traces = _collected("traces", registry.collect_traces)
        evaluation = None
        if self.status is TaskExecutionStatus.SUCCESS:
            evaluation = self._guarded(
                lambda: self._evaluate(cast, answer, traces), _evaluation_status
            )
        usage = self._usage()
        report = self.repetition.report(
            self.status,
            error=self.exception,
            traces=traces,
            config=config,
            usage=usage,
            evaluation=evaluation,
            final_answer=answer,
        )
        return Outcome(report, self.status, self.exception)

    def rescored(self, report: Report) -> Outcome:
        traces, answer = report["traces"], report["final_answer"]

        def judge() -> Any:
            task = self.repetition.task
            evaluators = self.stages.judges(task, self._seeds())
            return self._judged(evaluators, {}, answer, traces)

        evaluation = self._guarded(judge, _evaluation_status)
        judged = self.repetition.report(self.status, error=self.exception, evaluation=evaluation)
        return Outcome(judged, self.status, self.exception)

    def _seeds(self) -> SeedGenerator:
        task, index = self.repetition.task, self.repetition.repeat_idx
        return self.repetition.seeds.for_task(str(task.id)).for_repetition(index)

    def _guarded(
        self, stage: Callable[[], Any], status: Callable[[BaseException], TaskExecutionStatus]
    ) -> Any:
        try:
            return stage()
        except BaseException as error:  # a repetition in the runner: every failure is reported
            _let_interrupts_pass(error)
            self.status, self.exception = status(error), error
            return None

    def _set_up(self) -> Cast:
        repetition, registry = self.repetition, self.context.registry
        seeds = self._seeds()
        cast = self.stages.cast(repetition.agent_data, repetition.task, seeds)
        components = [
            ("environment", "env", cast.environment),
            ("user", "user", cast.user),
            *(("agents", name, agent) for name, agent in cast.agents_by_name.items()),
        ]
        for category, name, component in components:
            if isinstance(component, TraceableMixin):
                registry.register(category, name, component)
        registry.register("seeding", "seed_generator", seeds)
        self.context.check_timeout()
        return cast

    def _setup_failure(self, error: BaseException) -> Outcome:
        _let_interrupts_pass(error)
        usage = self._usage()
        if isinstance(error, TaskTimeoutError):
            status, traces = TaskExecutionStatus.TASK_TIMEOUT, error.partial_traces
        else:
            status, traces = TaskExecutionStatus.SETUP_FAILED, {}
        report = self.repetition.report(status, error=error, traces=traces, usage=usage)
        return Outcome(report, status, error)

    def _usage(self) -> dict[str, Any]:
        if self.context.abandoned:  # counted when it was given up
            return {}
        return _collected("usage", self.context.registry.collect_usage)

    def _execute(self, cast: Cast) -> Any:
        self.context.check_timeout()
        return self.stages.execution_loop(
            cast.agents, self.repetition.task, cast.environment, cast.user
        )

    def _evaluate(self, cast: Cast, answer: Any, traces: dict[str, Any]) -> Any:
        self.context.check_timeout()
        return self._judged(cast.evaluators, cast.agents_by_name, answer, traces)

    def _judged(
        self,
        evaluators: Sequence[Evaluator],
        agents: dict[str, AgentAdapter],
        answer: Any,
        traces: dict[str, Any],
    ) -> Any:
        results = self.stages.evaluate(evaluators, agents, answer, traces)
        if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
            raise HookResultError(
                f"evaluate() returned {results!r}; it must return a list of dicts, one for each "
                "evaluator"
            )
        return results


def _evaluation_status(error: BaseException) -> TaskExecutionStatus:
    if isinstance(error, TaskTimeoutError):
        return TaskExecutionStatus.TASK_TIMEOUT
    return TaskExecutionStatus.EVALUATION_FAILED


def _let_interrupts_pass(error: BaseException) -> None:
    # Ctrl-C belongs to the person at the keyboard, not to the repetition it happened to hit. It
    # only ever reaches the main thread; elsewhere the exception is the agent's own doing.
    if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
        raise error


def _collected(what: str, collect: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return collect()
    except Exception as error:  # a component's own code: what it breaks must not cost the report
        return collection_failure(what, error)


def _snapshot(what: str, collect: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What was collected, cut loose from a thread that still writes to it."""
    collected = _collected(what, collect)
    for _ in range(3):
        try:
            benchmark = collected.pop("benchmark", None)
            loose = copy.deepcopy(collected)
            return loose if benchmark is None else {**loose, "benchmark": benchmark}
        except Exception as error:  # changed under our hands, or not made to be copied
            failure = error
    return collection_failure(what, failure)
