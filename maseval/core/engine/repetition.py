"""One repetition of one task: set up, execute, collect, evaluate, report.

A repetition runs entirely in one thread, and any failure in it becomes a report; the way of a
failure is told in ``maseval.core.report``. What components report is collected even if some of them
fail, hang, or change meanwhile.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, TypeVar, cast

from maseval.core.agent import AgentAdapter
from maseval.core.clock import end_if_forked, forks
from maseval.core.context import Conversations, TaskContext
from maseval.core.engine.participants import Participants, Reference, SetupHooks
from maseval.core.evaluator import Evaluator
from maseval.core.event_loop import settle
from maseval.core.exceptions import (
    ConfigurationError,
    HookResultError,
    TaskTimeoutError,
    TraceCollectionError,
)
from maseval.core.registry import ComponentRegistry, ModelSettings, UsageTotals
from maseval.core.report import (
    UNEVALUATED,
    Attempt,
    RepetitionStage,
    Report,
    TaskExecutionStatus,
    TaskSummary,
    collection_failure,
    error_record,
    failure_status,
    gathering_failures,
)
from maseval.core.seeding import SeedGenerator
from maseval.core.storage import strict_json
from maseval.core.task import Task
from maseval.core.task.task import RepetitionKey
from maseval.core.tracing import JsonObject, now

if TYPE_CHECKING:  # it stands above the engine that runs it
    from maseval.core.benchmark import Benchmark

StageT = TypeVar("StageT")


@dataclass(frozen=True)
class RunSetting:
    """Everything that the repetitions of a run share."""

    benchmark: "Benchmark"
    run_id: str
    seeds: SeedGenerator
    config: Mapping[str, object]
    totals: UsageTotals
    models: ModelSettings
    stopping: Callable[[], bool]
    """Returns True once the run is stopping."""
    shared: ComponentRegistry | None = None
    """The components of the whole run."""
    conversations: Conversations = field(default_factory=Conversations)


@dataclass
class RepetitionResult:
    """The result of an attempt: its report, and the exception behind a failure."""

    report: Report
    status: TaskExecutionStatus
    exception: BaseException | None = None


@dataclass(eq=False)
class Repetition:
    """One attempt at one repetition; ``attempts`` holds the earlier ones.

    If there is a ``recorded`` report, only the evaluation of its conversation is made again.
    """

    setting: RunSetting
    task: Task
    summary: TaskSummary
    repeat_idx: int
    agent_data: JsonObject
    timeout: float | None
    attempts: list[Attempt] = field(default_factory=list)
    recorded: Report | None = None
    context: TaskContext = field(init=False)
    _started_at: str = field(init=False)
    _began: float = field(init=False)
    _stage: RepetitionStage = field(default="setup", init=False)
    _exception: BaseException | None = field(default=None, init=False)

    @classmethod
    def of(
        cls,
        setting: RunSetting,
        task: Task,
        repeat_idx: int,
        agent_data: JsonObject,
        recorded: Report | None = None,
    ) -> "Repetition":
        """Prepare the first attempt; raise if the task cannot be reported."""
        timeout = task.protocol.timeout_seconds
        summary: TaskSummary = {
            "query": task.query,
            "metadata": dict(task.metadata),
            "protocol": task.protocol.to_dict(),
        }
        if task.cluster is not None:
            summary["cluster"] = task.cluster
        if task.weight != 1:
            summary["weight"] = task.weight
        return cls(setting, task, summary, repeat_idx, agent_data, timeout, recorded=recorded)

    @property
    def key(self) -> RepetitionKey:
        return str(self.task.id), self.repeat_idx

    def begin(self) -> None:
        """Start the clock; must be called first."""
        self._started_at, self._began = now(), time.perf_counter()
        setting = self.setting
        registry = ComponentRegistry(
            setting.config,
            totals=setting.totals,
            models=setting.models,
            shared=setting.shared,
        )
        self.context = TaskContext(
            self.timeout, registry=registry, simulation=self.key, stopping=setting.stopping
        )
        self.context.judgements = setting.benchmark.judge_record
        domain = str(self.task.metadata.get("domain") or "")
        self.context.judged = {
            "domain": domain,
            "task_id": str(self.task.id),
            "trial": self.repeat_idx,
        }

    def run(self) -> RepetitionResult:
        registry = self.context.registry
        try:
            with self.context.active(), self.setting.conversations.open(self.key, registry):
                if self.recorded is not None:
                    return self._evaluate_again(self.recorded)
                return self._run_stages()
        except BaseException as error:  # an error outside the stages must not kill the worker
            let_interrupts_pass(error)
            return self.outcome(error, "engine")
        finally:
            # What still works for it, such as a tool's thread, is not counted any more.
            registry.close()
            self.context.end()

    def given_up(self) -> RepetitionResult:
        """Return the result of an attempt that is still running past its deadline.

        Work done so far is kept; later work reaches neither the report nor the usage totals.
        """
        registry, left = self.context.registry, self.context.collected_traces
        error = self.context.timeout_error()
        traces = collect_copy("traces", lambda: {**registry.collect_traces(), **left})
        config = collect_copy("configs", registry.collect_configs)
        return self.outcome(error, traces=traces, config=config, usage=self.abandon())

    def abandon(self) -> JsonObject:
        """Mark the attempt as abandoned; return its usage so far, which still counts."""
        self.context.abandoned = True
        usage = collect_copy("usage", self.context.registry.collect_usage)
        self.context.registry.close()
        # Whatever hangs may hold up its own end, too.
        self.context.end(wait=False)
        return usage

    def outcome(
        self,
        error: BaseException | None = None,
        stage: RepetitionStage = "execution",
        *,
        traces: JsonObject | None = None,
        config: JsonObject | None = None,
        usage: JsonObject | None = None,
        evaluation: list[JsonObject] | None = None,
        final_answer: object = None,
    ) -> RepetitionResult:
        """Record the attempt, and the error that ended it in ``stage``."""
        status = TaskExecutionStatus.SUCCESS
        if error is not None:
            # Whatever ends a new evaluation, the conversation stays as it was.
            status = failure_status(error, stage)
            if self.recorded is not None and status.value not in UNEVALUATED:
                status = TaskExecutionStatus.EVALUATION_FAILED
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
            "seed": self.setting.seeds.global_seed,
            "attempts": self.attempts,
        }
        if self.recorded is not None:
            # The usage is that of the evaluation alone: the report before it has the rest.
            # Its earlier attempts stand in the log beside it, where readers add them up.
            renewed = {key: report[key] for key in ("status", "error", "eval", "usage")}
            report = cast(Report, {**self.recorded, **renewed, "attempts": []})
        return RepetitionResult(report, status, error)

    def _run_stages(self) -> RepetitionResult:
        benchmark, answer, evaluation = self.setting.benchmark, None, None
        traces: JsonObject = {}
        config: JsonObject = {}
        participants = self._guard("setup", self._set_up)
        if participants is not None:
            answer = self._guard("execution", lambda: self._execute(participants))
            config = collect_safely("configs", benchmark.collect_all_configs)
            traces = collect_safely("traces", benchmark.collect_all_traces)
        if isinstance(self._exception, TaskTimeoutError):
            traces |= self._exception.partial_traces
        if participants is not None and self._exception is None:
            agents = participants.agents_by_name
            reference = participants.reference
            evaluation = self._guard(
                "evaluation",
                lambda: self._evaluate(participants.evaluators, agents, answer, traces, reference),
            )
        return self.outcome(
            self._exception,
            self._stage,
            traces=traces,
            config=config,
            # After the evaluation, for which a model may have been asked.
            usage=collect_safely("usage", benchmark.collect_all_usage),
            evaluation=evaluation,
            final_answer=answer,
        )

    def _evaluate_again(self, report: Report) -> RepetitionResult:
        answer, traces = report["final_answer"], report["traces"]
        evaluation = self._guard(
            "evaluation",
            lambda: self._evaluate(self._setup_hooks().evaluators_alone(), {}, answer, traces),
        )
        usage = collect_safely("usage", self.context.registry.collect_usage)
        return self.outcome(self._exception, usage=usage, evaluation=evaluation)

    def _guard(self, stage: RepetitionStage, work: Callable[[], StageT]) -> StageT | None:
        self._stage, began = stage, forks()
        try:
            return work()
        except BaseException as error:  # a repetition in the runner: every failure is reported
            let_interrupts_pass(error)
            self._exception = error
            return None
        finally:
            end_if_forked(began)

    def _setup_hooks(self) -> SetupHooks:
        seeds = self.setting.seeds.for_task(str(self.task.id)).for_repetition(self.repeat_idx)
        return SetupHooks(self.setting.benchmark, self.agent_data, self.task, seeds)

    def _set_up(self) -> Participants:
        hooks = self._setup_hooks()
        participants = hooks.participants()
        participants.register(self.context.registry, hooks.seeds)
        # What is late already must not ask a model any more.
        self.context.check_timeout()
        return participants

    def _execute(self, taking_part: Participants) -> object:
        self.context.check_timeout()
        agents, environment, user = taking_part.agents, taking_part.environment, taking_part.user
        loop = self.setting.benchmark.execution_loop
        return settle(loop(agents, self.task, environment, user))

    def _evaluate(
        self,
        evaluators: Sequence[Evaluator],
        agents: dict[str, AgentAdapter],
        answer: object,
        traces: JsonObject,
        reference: Reference | None = None,
    ) -> list[JsonObject]:
        """Return the evaluators' results; if traces are missing after a failure, that is it."""
        # A judge costs money, and would judge what nobody counts.
        self.context.check_timeout()
        if reference is not None:
            reference.check()
        try:
            results = settle(self.setting.benchmark.evaluate(evaluators, agents, answer, traces))
        except TaskTimeoutError:
            raise
        except Exception as error:
            if failures := gathering_failures(traces):
                raise TraceCollectionError(
                    f"the traces of a component could not be gathered: {'; '.join(failures)}. The "
                    f"evaluation then failed with {type(error).__name__}: {error}. Correct its "
                    "gather_traces()"
                ) from error
            raise
        if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
            raise HookResultError(
                f"evaluate() returned {results!r}; it must return a list of dicts, one for each "
                "evaluator"
            )
        return results


_EVALUATED = UNEVALUATED | {TaskExecutionStatus.SUCCESS.value}
_NEEDED = ("task_id", "repeat_idx", "traces", "final_answer")


def rescore_reports(
    reports: Iterable[Report],
    setting: RunSetting,
    tasks: Iterable[Task],
    agent_data_of: Callable[[Task], JsonObject],
) -> list[Report]:
    """Return the reports with new evaluations; those that never reached one are unchanged."""
    known, given = {str(task.id): task for task in tasks}, list(reports)
    for report in given:
        if report["status"] in _EVALUATED:
            _check_scorable(report, known)

    def rescore(report: Report) -> Report:
        if report["status"] not in _EVALUATED:
            return report
        task = known[report["task_id"]]
        again = Repetition.of(setting, task, report["repeat_idx"], agent_data_of(task), report)
        again.begin()
        new = again.run().report
        return {**report, "status": new["status"], "error": new["error"], "eval": new["eval"]}

    return [rescore(report) for report in given]


def _check_scorable(report: Report, tasks: Mapping[str, Task]) -> None:
    missing = [key for key in _NEEDED if key not in report]
    if missing:
        raise ConfigurationError(
            f"report of task {report.get('task_id')!r} cannot be scored: it lacks "
            f"{', '.join(missing)}; have whole reports written, include_traces=True"
        )
    if report["task_id"] not in tasks:
        raise ConfigurationError(
            f"report of task {report['task_id']!r} cannot be scored: the task is not among the "
            f"{len(tasks)} given; pass the tasks of that run as tasks="
        )


_PATIENCE_SECONDS = 2.0


def let_interrupts_pass(error: BaseException) -> None:
    """Re-raise ``error`` if it is Ctrl-C, for code that catches everything."""
    # Ctrl-C belongs to the person at the keyboard, not to the repetition it happened to hit. It
    # only ever reaches the main thread; elsewhere the exception is the agent's own doing.
    if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
        raise error


def collect_safely(what: str, collect: Callable[[], JsonObject]) -> JsonObject:
    try:
        return collect()
    except BaseException as error:  # a component's own code: what it breaks must not cost the rest
        let_interrupts_pass(error)
        return collection_failure(what, error)


def collect_copy(what: str, collect: Callable[[], JsonObject]) -> JsonObject:
    """Return a copy of what can be collected while another thread may still be writing.

    Components of a repetition that hangs may hang as well, so the wait is short.
    """
    answers: list[JsonObject] = []

    def ask() -> None:
        parts = collect_safely(what, collect)
        # The machine's facts are shared by all reports and never changed.
        answers.append(
            {k: part if k == "benchmark" else strict_json.plain(part) for k, part in parts.items()}
        )

    thread = Thread(target=ask, daemon=True, name="maseval-collector")
    try:
        thread.start()
    except RuntimeError as error:  # the system gives no more threads
        return collection_failure(what, error)
    thread.join(_PATIENCE_SECONDS)
    if answers:
        return answers[0]
    return collection_failure(what, TimeoutError(f"no answer in {_PATIENCE_SECONDS} s"))
