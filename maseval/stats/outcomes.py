"""Outcomes: what became of each simulation, which is all that statistics need to know of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.report import TaskExecutionStatus


class TaskKey(NamedTuple):
    """A task's group (its domain) and id: every domain has a task "1"."""

    group: str
    task: str

    def __str__(self) -> str:
        return f"{self.group} {self.task}" if self.group else self.task


@dataclass(frozen=True)
class Outcome:
    """One trial of one task.

    ``passed`` is None for a trial that does not count, be it missing or excluded; ``reason`` then
    says why. ``cost`` is None if it is not known.
    """

    group: str
    task: str
    trial: int
    passed: bool | None
    cost: float | None = None
    reason: str | None = None

    @property
    def key(self) -> TaskKey:
        """The task it is a trial of."""
        return TaskKey(self.group, self.task)


class Trials(NamedTuple):
    """How many trials of one task count, and how many of these passed."""

    total: int
    passed: int


def outcomes_of(reports: Iterable[Mapping[str, Any]]) -> list[Outcome]:
    """The outcomes of a run's reports; one that failed or has no verdict did not pass."""
    return [_outcome(report) for report in reports]


def by_task(outcomes: Iterable[Outcome]) -> dict[TaskKey, Trials]:
    """The trials of each task, in the order in which tasks appear; 0 where none counts."""
    seen: set[tuple[TaskKey, int]] = set()
    trials: dict[TaskKey, Trials] = {}
    for outcome in outcomes:
        if (outcome.key, outcome.trial) in seen:
            raise ConfigurationError(
                f"trial {outcome.trial} of task {str(outcome.key)!r} is there twice; give each "
                "trial once, and number on when you put runs together"
            )
        seen.add((outcome.key, outcome.trial))
        total, passed = trials.get(outcome.key, Trials(0, 0))
        counted = outcome.passed is not None
        trials[outcome.key] = Trials(total + counted, passed + bool(outcome.passed))
    return trials


def mean_cost(outcomes: Iterable[Outcome]) -> float | None:
    """What a simulation cost on average, over those whose cost is known."""
    known = [outcome.cost for outcome in outcomes if outcome.cost is not None]
    return sum(known) / len(known) if known else None


def _outcome(report: Mapping[str, Any]) -> Outcome:
    if not isinstance(report, Mapping) or report.get("task_id") is None:
        raise ConfigurationError(
            f"{str(report)[:80]!r} is not a report with a task_id; give what benchmark.run() or "
            "read_reports() returned"
        )
    metadata = (report.get("task") or {}).get("metadata") or {}
    return Outcome(
        group=str(metadata.get("domain") or ""),
        task=str(report["task_id"]),
        trial=int(report.get("repeat_idx") or 0),
        passed=_passed(report),
        cost=_cost(report),
    )


def _passed(report: Mapping[str, Any]) -> bool:
    if report.get("status") != TaskExecutionStatus.SUCCESS.value:
        return False
    return any(verdict.get("passed") for verdict in report.get("eval") or [])


def _cost(report: Mapping[str, Any]) -> float | None:
    """Earlier attempts were paid for too."""
    attempts = (attempt.get("usage") for attempt in report.get("attempts") or [])
    costs = [cost for usage in (report.get("usage"), *attempts) for cost in _costs_in(usage)]
    return sum(costs) if costs else None


def _costs_in(usage: object) -> list[float]:
    """The costs at any depth: a category is one record or holds one for each name."""
    if not isinstance(usage, Mapping):
        return []
    if isinstance(usage.get("cost"), int | float):
        return [float(usage["cost"])]
    return [cost for part in usage.values() for cost in _costs_in(part)]
