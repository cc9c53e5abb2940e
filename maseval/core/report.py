"""Reports: the results of a run, and the one place where a failure becomes a record.

A failure travels like this, and ``failure_status`` alone decides the status at its end:

1. A provider refuses a request, answers nonsense or does not answer. The adapter in ``interface/``
   turns that into one of the few errors of ``provider_errors``, which says whether another attempt
   may succeed (``transient``) and whether every other task would fail too (``fatal_for_run``).
2. ``call_policy`` repeats a transient failure, and raises what is left: ``ModelAdapter.chat`` logs
   each attempt and lets the error through.
3. The agent, the user or the environment for which the model worked may add whose model it was
   (``provider_errors.model_of``) or raise an error of its own: ``AgentError``, ``UserError``,
   ``EnvironmentError``. Nothing on this way asks the provider again.
4. ``engine.repetition`` catches whatever leaves a stage: set-up, execution or evaluation. Error and
   stage determine the status (``failure_status``), and the error becomes a record
   (``error_record``). Work done so far stays in the report.
5. ``engine.run`` starts another attempt if the task's protocol allows one for that status
   (``RETRYABLE_STATUSES``), stops a hopeless run, and hands the report to the callbacks.

``docs/errors.md`` tells the same for users.
"""

import traceback
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, NotRequired, TypedDict, cast

from maseval.core.exceptions import (
    AgentError,
    EnvironmentError,
    TaskTimeoutError,
    UndecidedError,
    UserError,
    WorkerDiedError,
    is_machine_failure,
)
from maseval.core.provider_errors import (
    OTHERS_THAN_THE_AGENT,
    ContentFilterError,
    ContextOverflowError,
    ProviderError,
    QuotaExhaustedError,
)
from maseval.core.storage.redaction import redact_text
from maseval.core.tracing import JsonObject


class TaskExecutionStatus(Enum):
    """The way one repetition of a task ended."""

    SUCCESS = "success"
    AGENT_ERROR = "agent_error"
    ENVIRONMENT_ERROR = "environment_error"
    USER_ERROR = "user_error"
    TASK_TIMEOUT = "task_timeout"
    CONTEXT_OVERFLOW = "context_overflow"
    """The agent's conversation grew beyond what its model reads, which is the agent's failure."""
    CONTENT_FILTERED = "content_filtered"
    QUOTA_EXHAUSTED = "quota_exhausted"
    PROVIDER_ERROR = "provider_error"
    """Any other failure of a model's provider."""
    MACHINE_ERROR = "machine_error"
    """Memory, disk, files or threads of the machine ran out."""
    WORKER_DIED = "worker_died"
    """The process in which it took place died, again and again."""
    UNKNOWN_EXECUTION_ERROR = "unknown_execution_error"
    EVALUATION_FAILED = "evaluation_failed"
    JUDGE_UNDECIDED = "judge_undecided"
    """The judge's answers could not be used; it did answer."""
    SETUP_FAILED = "setup_failed"
    TASK_EXECUTION_FAILED = "task_execution_failed"
    """Never produced. As a filter it matches every failure during execution."""

    @property
    def covers(self) -> frozenset[str]:
        """The values that match a filter by this status."""
        if self is TaskExecutionStatus.TASK_EXECUTION_FAILED:
            return _EXECUTION_FAILURES
        return frozenset({self.value})


UNEVALUATED = frozenset(
    {TaskExecutionStatus.EVALUATION_FAILED.value, TaskExecutionStatus.JUDGE_UNDECIDED.value}
)
"""The conversation is whole: resuming a run evaluates it again, and plays none anew."""

_EXECUTION_FAILURES = frozenset(status.value for status in TaskExecutionStatus) - {
    TaskExecutionStatus.SUCCESS.value,
    TaskExecutionStatus.SETUP_FAILED.value,
    *UNEVALUATED,
    TaskExecutionStatus.TASK_EXECUTION_FAILED.value,
}

AGENT_FAILURES = frozenset(
    {TaskExecutionStatus.AGENT_ERROR.value, TaskExecutionStatus.CONTEXT_OVERFLOW.value}
)
"""Failures of the agent itself: such a repetition has a verdict, it did not pass."""

RERUN_STATUSES = frozenset(status.value for status in TaskExecutionStatus) - {
    *AGENT_FAILURES,
    TaskExecutionStatus.SUCCESS.value,
    *UNEVALUATED,
    TaskExecutionStatus.TASK_EXECUTION_FAILED.value,
}
"""Not the agent's doing: such a repetition has no verdict, and resuming a run makes it again."""

NO_VERDICT_STATUSES = RERUN_STATUSES | UNEVALUATED
"""Nobody knows whether such a repetition passed, and resuming a run finds out."""

# Worth another attempt within a run. A worker that died and a time-out have rules of their own.
RETRYABLE_STATUSES = frozenset(
    status for status in TaskExecutionStatus if status.value in RERUN_STATUSES
) - {TaskExecutionStatus.WORKER_DIED, TaskExecutionStatus.TASK_TIMEOUT}


class Attempt(TypedDict):
    """An earlier attempt at a repetition that was retried."""

    status: str
    error: JsonObject | None
    usage: JsonObject
    started_at: str
    duration_seconds: float


class TaskSummary(TypedDict):
    """The parts of a task that a reader of reports needs."""

    query: str
    metadata: JsonObject
    protocol: JsonObject
    cluster: NotRequired[str]
    weight: NotRequired[float]


class Report(TypedDict):
    """One repetition of one task. Every report has every key."""

    task_id: str
    repeat_idx: int
    status: str
    error: JsonObject | None
    traces: JsonObject
    config: JsonObject
    usage: JsonObject
    eval: list[JsonObject] | None
    task: TaskSummary
    final_answer: Any
    run_id: str
    started_at: str
    duration_seconds: float
    seed: int | None
    attempts: list[Attempt]


def attempt_of(report: Report) -> Attempt:
    return cast(
        Attempt, {key: part for key, part in report.items() if key in Attempt.__annotations__}
    )


RepetitionStage = Literal["setup", "execution", "evaluation", "engine"]
"""The part of a repetition in which something failed; ``engine``: outside the other three."""


def failure_status(exception: BaseException, stage: RepetitionStage) -> TaskExecutionStatus:
    """Decide the status of a repetition that ended with an exception: whose failure it was."""
    match exception:
        case TaskTimeoutError():
            return TaskExecutionStatus.TASK_TIMEOUT
        case WorkerDiedError():
            return TaskExecutionStatus.WORKER_DIED
    match stage, exception:
        case "setup", _:
            return TaskExecutionStatus.SETUP_FAILED
        case "evaluation", UndecidedError(unanswered=False):
            return TaskExecutionStatus.JUDGE_UNDECIDED
        case "evaluation", _:
            return TaskExecutionStatus.EVALUATION_FAILED
        case "execution", _:
            return _execution_status(exception)
    return TaskExecutionStatus.UNKNOWN_EXECUTION_ERROR


def _execution_status(exception: BaseException) -> TaskExecutionStatus:
    # First, as an agent that finds no memory left may wrap that in an error of its own.
    if is_machine_failure(exception):
        return TaskExecutionStatus.MACHINE_ERROR
    match exception:
        case AgentError():
            return TaskExecutionStatus.AGENT_ERROR
        case EnvironmentError():
            return TaskExecutionStatus.ENVIRONMENT_ERROR
        case UserError():
            return TaskExecutionStatus.USER_ERROR
        case ProviderError():
            return _provider_status(exception)
    return TaskExecutionStatus.UNKNOWN_EXECUTION_ERROR


def _provider_status(error: ProviderError) -> TaskExecutionStatus:
    match error:
        # A user or a tool whose conversation grew too long is no failure of the agent.
        case ContextOverflowError() if error.component not in OTHERS_THAN_THE_AGENT:
            return TaskExecutionStatus.CONTEXT_OVERFLOW
        case ContentFilterError():
            return TaskExecutionStatus.CONTENT_FILTERED
        case QuotaExhaustedError():
            return TaskExecutionStatus.QUOTA_EXHAUSTED
    return TaskExecutionStatus.PROVIDER_ERROR


# The errors whose component and details belong in a report.
_ATTRIBUTED = AgentError | EnvironmentError | UserError | ProviderError


def error_record(exception: BaseException) -> dict[str, object]:
    """Turn an exception into the ``error`` of a report, without keys and passwords."""
    record: dict[str, object] = {
        "error_type": type(exception).__name__,
        "error_message": _message_of(exception),
        "traceback": redact_text("".join(traceback.format_exception(exception))),
    }
    if isinstance(exception, TaskTimeoutError):
        record |= {"elapsed": exception.elapsed, "timeout": exception.timeout}
    elif isinstance(exception, _ATTRIBUTED):
        record |= {"component": exception.component, "details": exception.details}
    return record


def collection_failure(what: str, exception: BaseException) -> dict[str, object]:
    """Return the record of traces, configuration or usage that could not be collected."""
    return {
        "error": f"Failed to collect {what}: {_message_of(exception)}",
        "error_type": type(exception).__name__,
    }


def gathering_failure(what: str, component: object, exception: Exception) -> dict[str, object]:
    """Return the record of one component whose collection failed."""
    return {
        "error": f"Failed to gather {what}: {_message_of(exception)}",
        "error_type": type(exception).__name__,
        "component_type": type(component).__name__,
    }


def gathering_failures(traces: Mapping[str, object]) -> list[str]:
    """Name each component whose traces could not be gathered, with the reason."""
    groups = {name: part for name, part in traces.items() if isinstance(part, Mapping)}
    named = {f"{group}:{name}": part for group, of in groups.items() for name, part in of.items()}
    failed = {name: part for name, part in {**groups, **named}.items() if _is_failure(part)}
    if traces.keys() == {"error", "error_type"}:
        failed = {"all components": traces}
    return [f"{name} ({part['error_type']}: {part['error']})" for name, part in failed.items()]


def _is_failure(part: object) -> bool:
    return isinstance(part, Mapping) and part.keys() >= {"error", "error_type", "component_type"}


def _message_of(exception: BaseException) -> str:
    try:
        return redact_text(str(exception))
    except Exception as broken:  # a foreign exception's own text may fail; the report must not
        return f"<no text: {type(broken).__name__} in {type(exception).__name__}.__str__>"
