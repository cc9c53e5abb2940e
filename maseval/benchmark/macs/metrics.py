"""Metrics over the reports of a run: success rates and means, with counts of what was left out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypedDict

from maseval.core.outcome import TaskKey, domain_of, evaluations, task_key
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.shapes import Shape, mapping
from maseval.stats.intervals import LEVEL, Interval, mean_interval

SCORED = (
    TaskExecutionStatus.SUCCESS.value,
    TaskExecutionStatus.AGENT_ERROR.value,
    TaskExecutionStatus.TASK_TIMEOUT.value,
)
"""Whatever else happened to a repetition was not the agents' doing."""

# The verdict as every benchmark gives it, which is no metric of its own.
_NO_METRICS = ("passed", "reward")


class MACSMetrics(TypedDict):
    """Every repetition counts as one task."""

    total_tasks: int
    scored_tasks: int
    successful_tasks: int
    success_rate: float
    mean_metrics: dict[str, float]
    excluded: dict[str, int]
    status_counts: dict[str, int]


class GoalRate(NamedTuple):
    """The mean of a rate over the scored repetitions, with an interval clustered by task."""

    value: float
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


class JudgeProblem(TypedDict):
    """A repetition whose verdict deserves a look, and why."""

    task: str
    repeat: int
    problem: str


def compute_benchmark_metrics(results: Sequence[Report]) -> MACSMetrics:
    """Rates and means over the scored repetitions; one without an evaluation counts as zeros."""
    statuses = Counter(_status(result) for result in results)
    scored = [result for result in results if _status(result) in SCORED]
    successful = sum(
        any(entry.get("overall_gsr") == 1.0 for entry in evaluations(result)) for result in scored
    )
    return {
        "total_tasks": len(results),
        "scored_tasks": len(scored),
        "successful_tasks": successful,
        "success_rate": successful / len(scored) if scored else 0.0,
        "mean_metrics": _means(scored),
        "excluded": {status: n for status, n in statuses.items() if status not in SCORED},
        "status_counts": dict(statuses),
    }


def goal_rates(results: Iterable[Report]) -> list[GoalRates]:
    """Return the rates of each domain, and of all together if there are several."""
    every = list(results)
    domains = list(dict.fromkeys(domain_of(mapping(result)) for result in every))
    found = [
        _rates(name, [each for each in every if domain_of(mapping(each)) == name])
        for name in domains
    ]
    return found if len(found) < 2 else [*found, _rates(None, every)]


def _rates(domain: str | None, results: Sequence[Report]) -> GoalRates:
    means = compute_benchmark_metrics(results)
    by_task: dict[TaskKey, list[Report]] = {}
    for result in results:
        if _status(result) in SCORED:
            by_task.setdefault(task_key(mapping(result)), []).append(result)
    rates = {
        key: GoalRate(
            means["mean_metrics"].get(key, 0.0),
            mean_interval([_means(trials).get(key, 0.0) for trials in by_task.values()], LEVEL),
        )
        for key in RATES
    }
    tasks = {task_key(mapping(result)) for result in results}
    return GoalRates(domain, len(tasks), len(results), means["scored_tasks"], rates)


def judge_problems(results: Iterable[Report]) -> list[JudgeProblem]:
    """Repetitions that could not be judged, or in which the judge left assertions undecided.

    Neither shows in the numbers: the first are failures there, and undecided assertions pass.
    """
    return [
        {"task": str(task_key(result)), "repeat": result["repeat_idx"], "problem": problem}
        for result in results
        for evaluation in evaluations(result)
        for problem in _problems(evaluation)
    ]


def _problems(evaluation: Shape) -> Iterable[str]:
    errors = mapping(evaluation, "judge_errors")
    for side, error in errors.items():
        yield f"{side} side not scorable: {error}"
    for side, coverage in mapping(evaluation, "coverage").items():
        counts = mapping(coverage)
        if side in errors:
            continue
        if counts.get("undecided"):
            yield f"{side} side: {counts['undecided']} of {counts['rows']} rows undecided"
        if _count(counts, "rows") < _count(counts, "assertions"):
            yield f"{side} side: {counts['rows']} rows for {counts['assertions']} assertions"


def _count(counts: Shape, key: str) -> int:
    value = counts.get(key)
    return value if isinstance(value, int) else 0


def _status(result: Report) -> str:
    return str(mapping(result).get("status") or "unknown")


def _means(scored: Sequence[Report]) -> dict[str, float]:
    entries = [_numbers(entry) for result in scored for entry in evaluations(result)]
    keys = dict.fromkeys(key for entry in entries for key in entry)
    lost = sum(not evaluations(result) for result in scored)
    found = {key: [entry[key] for entry in entries if key in entry] for key in keys}
    return {key: sum(values) / (len(values) + lost) for key, values in found.items()}


def _numbers(entry: Shape) -> dict[str, float]:
    """Return the numeric values; true and false are one and zero."""
    return {
        key: float(value)
        for key, value in entry.items()
        if isinstance(value, int | float) and key not in _NO_METRICS
    }
