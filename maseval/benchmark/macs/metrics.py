"""Metrics over the reports of a run: rates of success and means, with what was left out."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypedDict

from maseval.core.outcome import evaluations, task_key
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.shapes import Shape, mapping

SCORED = (
    TaskExecutionStatus.SUCCESS.value,
    TaskExecutionStatus.AGENT_ERROR.value,
    TaskExecutionStatus.TASK_TIMEOUT.value,
)
"""Whatever else happened to a repetition was not the agents' doing."""

# The verdict of an evaluation, which is no metric of its own.
_NO_METRICS = ("passed",)


class MACSMetrics(TypedDict):
    """Every repetition counts as one task."""

    total_tasks: int
    scored_tasks: int
    successful_tasks: int
    success_rate: float
    mean_metrics: dict[str, float]
    excluded: dict[str, int]
    status_counts: dict[str, int]


class JudgeProblem(TypedDict):
    """A repetition whose verdict deserves a look, and why."""

    task: str
    repeat: int
    problem: str


def compute_benchmark_metrics(results: Sequence[Report]) -> MACSMetrics:
    """Rates and means over the scored repetitions; one without an evaluation counts as zeros."""
    statuses = Counter(_status(result) for result in results)
    scored = [result for result in results if _status(result) in SCORED]
    successful = sum(_succeeded(result) for result in scored)
    return {
        "total_tasks": len(results),
        "scored_tasks": len(scored),
        "successful_tasks": successful,
        "success_rate": successful / len(scored) if scored else 0.0,
        "mean_metrics": _means(scored),
        "excluded": {status: n for status, n in statuses.items() if status not in SCORED},
        "status_counts": dict(statuses),
    }


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


def _succeeded(result: Report) -> bool:
    return any(entry.get("overall_gsr") == 1.0 for entry in evaluations(result))


def _means(scored: Sequence[Report]) -> dict[str, float]:
    entries = [_numbers(entry) for result in scored for entry in evaluations(result)]
    keys = dict.fromkeys(key for entry in entries for key in entry)
    lost = sum(not evaluations(result) for result in scored)
    found = {key: [entry[key] for entry in entries if key in entry] for key in keys}
    return {key: sum(values) / (len(values) + lost) for key, values in found.items()}


def _numbers(entry: Shape) -> dict[str, float]:
    """The numeric values; true and false are one and zero."""
    return {
        key: float(value)
        for key, value in entry.items()
        if isinstance(value, int | float) and key not in _NO_METRICS
    }
