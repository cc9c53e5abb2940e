"""Outcomes, counted task by task."""

from collections.abc import Iterable, Mapping
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, TaskKey, checked_report, outcome_of
from maseval.stats.trials import Trials, count_trials


def outcomes_of(reports: Iterable[Mapping[str, Any]]) -> list[Outcome]:
    """The outcomes of a run's reports; one that failed or has no verdict did not pass."""
    return [
        outcome_of(checked_report(report, f"reports[{position}]"))
        for position, report in enumerate(reports)
    ]


def by_task(outcomes: Iterable[Outcome]) -> dict[TaskKey, Trials]:
    """The trials of each task, in the order in which tasks appear; 0 where none counts."""
    known = list(outcomes)
    seen: set[tuple[TaskKey, int]] = set()
    for outcome in known:
        if (outcome.key, outcome.trial) in seen:
            raise ConfigurationError(
                f"trial {outcome.trial} of task {str(outcome.key)!r} appears twice; give each "
                "trial once, and continue the numbers when you put runs together"
            )
        seen.add((outcome.key, outcome.trial))
    return count_trials((outcome.key, outcome.passed) for outcome in known)


def mean_cost(outcomes: Iterable[Outcome]) -> float | None:
    """What a simulation cost on average, over those whose cost is known."""
    known = [outcome.cost for outcome in outcomes if outcome.cost is not None]
    return sum(known) / len(known) if known else None
