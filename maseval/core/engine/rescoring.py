"""Evaluating finished repetitions again, from their reports."""

from collections.abc import Callable, Iterable, Mapping

from maseval.core.engine.repetition import Repetition, RunSetting
from maseval.core.exceptions import ConfigurationError
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.task import Task
from maseval.core.tracing import JsonObject

_JUDGED = (TaskExecutionStatus.SUCCESS.value, TaskExecutionStatus.EVALUATION_FAILED.value)
_NEEDED = ("task_id", "repeat_idx", "traces", "final_answer")


def rescored(
    reports: Iterable[Report],
    setting: RunSetting,
    tasks: Iterable[Task],
    agent_data_of: Callable[[Task], JsonObject],
) -> list[Report]:
    """The reports with new evaluations; those that never reached evaluation are unchanged."""
    known, given = {str(task.id): task for task in tasks}, list(reports)
    for report in given:
        if report["status"] in _JUDGED:
            _check(report, known)
    return [
        _again(report, setting, known[report["task_id"]], agent_data_of)
        if report["status"] in _JUDGED
        else report
        for report in given
    ]


def _again(
    report: Report,
    setting: RunSetting,
    task: Task,
    agent_data_of: Callable[[Task], JsonObject],
) -> Report:
    repetition = Repetition.of(setting, task, report["repeat_idx"], agent_data_of(task))
    return repetition.rescored(report)


def _check(report: Report, tasks: Mapping[str, Task]) -> None:
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
