"""Metrics over the reports of a run: success rates and means, with counts of what was left out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from maseval.core.outcome import RecordedReport, TaskKey
from maseval.core.recorded import Part, Recorded, Shape, dict_of, list_of, mapping, number
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.tracing import JsonObject
from maseval.core.words import count_of, text
from maseval.stats.intervals import LEVEL, Interval, mean_interval

SCORED = (
    TaskExecutionStatus.SUCCESS.value,
    TaskExecutionStatus.AGENT_ERROR.value,
    TaskExecutionStatus.TASK_TIMEOUT.value,
)
"""Whatever else happened to a repetition was not the agents' doing."""

# The verdict as every benchmark gives it, which is no metric of its own.
_NO_METRICS = ("passed", "reward")


class GoalRate(NamedTuple):
    """The mean of a rate over the scored repetitions, with an interval clustered by task.

    ``value`` is None if no repetition is scored.
    """

    value: float | None
    interval: Interval | None


class GoalRates(NamedTuple):
    """The rates of one domain, or of all of them together (``domain`` is None)."""

    domain: str | None
    tasks: int
    repetitions: int
    scored: int
    rates: Mapping[str, GoalRate]


RATES = ("overall_gsr", "overall_partial_gsr", "user_gsr", "system_gsr")
"""The rates that the original reports, the first of them the official one."""


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _rate(value: object) -> float:
    return number(value) or 0.0


class RecordedGoals(Recorded):
    """The verdict of a judge, as an evaluation has it."""

    user_gsr = Part(_rate)
    system_gsr = Part(_rate)
    overall_gsr = Part(_rate)
    partial_gsr = Part(_rate, "overall_partial_gsr")
    rows = Part(list_of(mapping), "report")
    errors = Part(dict_of(text), "judge_errors")
    coverage = Part(dict_of(dict_of(_whole)))

    @classmethod
    def all_in(cls, report: RecordedReport) -> "list[RecordedGoals]":
        return [cls(evaluation.raw) for evaluation in report.evaluations]


def compute_benchmark_metrics(results: Sequence[Report]) -> JsonObject:
    """Return rates and means over the scored repetitions, each of which counts as one task.

    One without an evaluation counts as zeros.
    """
    return _metrics([RecordedReport(result) for result in results])


def _metrics(reports: Sequence[RecordedReport]) -> JsonObject:
    statuses = Counter(report.status or "unknown" for report in reports)
    scored = [report for report in reports if report.status in SCORED]
    successful = sum(
        # The original compares whatever stands there: True is 1 as well.
        any(goals.raw.get("overall_gsr") == 1.0 for goals in RecordedGoals.all_in(report))
        for report in scored
    )
    return {
        "total_tasks": len(reports),
        "scored_tasks": len(scored),
        "successful_tasks": successful,
        "success_rate": successful / len(scored) if scored else 0.0,
        "mean_metrics": _means(scored),
        "excluded": {status: n for status, n in statuses.items() if status not in SCORED},
        "status_counts": dict(statuses),
    }


def goal_rates(results: Iterable[Report]) -> list[GoalRates]:
    """Return the rates of each domain, and of all together if there are several."""
    domains: dict[str, list[RecordedReport]] = {}
    every = [RecordedReport(result) for result in results]
    for report in every:
        domains.setdefault(report.domain, []).append(report)
    found = [_rates(name, reports) for name, reports in domains.items()]
    return found if len(found) < 2 else [*found, _rates(None, every)]


def _rates(domain: str | None, reports: Sequence[RecordedReport]) -> GoalRates:
    means = _metrics(reports)
    by_task: dict[TaskKey, list[RecordedReport]] = {}
    for report in reports:
        if report.status in SCORED:
            by_task.setdefault(report.task, []).append(report)
    rates = {
        key: GoalRate(
            # A rate is missing if no scored repetition has a verdict, and those count as 0.
            means["mean_metrics"].get(key, 0.0),
            # Trials of one task are not independent, so each task enters the interval once, as a
            # mean.
            mean_interval([_means(trials).get(key, 0.0) for trials in by_task.values()], LEVEL),
        )
        if by_task
        else GoalRate(None, None)
        for key in RATES
    }
    tasks = {report.task for report in reports}
    return GoalRates(domain, len(tasks), len(reports), means["scored_tasks"], rates)


def judge_problems(results: Iterable[Report]) -> list[JsonObject]:
    """Return the repetitions that could not be judged, or in which assertions are undecided.

    Neither shows in the numbers: the first are failures there, and undecided assertions pass.
    """
    return [
        {"task": str(report.task), "repeat": report.trial, "problem": problem}
        for report in map(RecordedReport, results)
        for goals in RecordedGoals.all_in(report)
        for problem in _problems(goals)
    ]


def _problems(goals: RecordedGoals) -> Iterable[str]:
    for side, error in goals.errors.items():
        yield f"{side} side not scorable: {error}"
    for side, counts in goals.coverage.items():
        # An unreadable side has no rows, and would be reported again for missing rows.
        if side in goals.errors:
            continue
        rows, asserted = counts.get("rows", 0), counts.get("assertions", 0)
        if undecided := counts.get("undecided"):
            yield f"{side} side: {undecided} of {rows} rows undecided"
        if rows < asserted:
            yield f"{side} side: {count_of(rows, 'row')} for {count_of(asserted, 'assertion')}"


def _means(scored: Sequence[RecordedReport]) -> dict[str, float]:
    entries = [_numbers(each.raw) for report in scored for each in report.evaluations]
    keys = dict.fromkeys(key for entry in entries for key in entry)
    # A scored repetition without a verdict counts as zeros.
    lost = sum(not report.evaluations for report in scored)
    found = {key: [entry[key] for entry in entries if key in entry] for key in keys}
    return {key: sum(values) / (len(values) + lost) for key, values in found.items()}


def _numbers(entry: Shape) -> dict[str, float]:
    return {
        key: float(value)
        for key, value in entry.items()
        if isinstance(value, int | float) and key not in _NO_METRICS
    }
