"""Screening: the tasks that tell systems apart best, learned from the results of several systems.

A task is worth as much as its pass rate goes along with that of all other tasks, from system to
system: the covariance of item and rest (Lord & Novick 1968, chapter 15). Luck in the trials of a
task is independent of that in the others, so that it does not make a task look good. The chosen
tasks are the ones that differ most; their mean is a way to rank systems, and no score.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, TaskKey
from maseval.stats.trials import by_task

FEWEST_SYSTEMS = 3


class TaskWorth(NamedTuple):
    """A task and how much it says about which system is better."""

    task: TaskKey
    worth: float


def rank_tasks(runs: Mapping[str, Iterable[Outcome]]) -> list[TaskWorth]:
    """Rank the tasks that all runs have a verdict on, the most telling first.

    Raise ConfigurationError for fewer than three systems, or fewer than two shared tasks.
    """
    if len(runs) < FEWEST_SYSTEMS:
        raise ConfigurationError(
            f"{len(runs)} systems do not show which tasks tell systems apart; give the runs of "
            f"{FEWEST_SYSTEMS} or more"
        )
    rates = [_rates(outcomes) for outcomes in runs.values()]
    shared = [key for key in rates[0] if all(key in each for each in rates)]
    if len(shared) < 2:
        raise ConfigurationError("the runs share fewer than two tasks; give runs of the same tasks")
    totals = [sum(each[key] for key in shared) for each in rates]
    found = [TaskWorth(key, _worth(key, rates, totals, len(shared))) for key in shared]
    # A stable order: equal tasks stay as they came.
    return sorted(found, key=lambda each: -each.worth)


def _rates(outcomes: Iterable[Outcome]) -> dict[TaskKey, float]:
    tasks = by_task(outcomes)
    return {key: each.passed / each.total for key, each in tasks.items() if each.total}


def _worth(
    key: TaskKey, rates: Sequence[Mapping[TaskKey, float]], totals: Sequence[float], tasks: int
) -> float:
    item = [each[key] for each in rates]
    rest = [(total - own) / (tasks - 1) for total, own in zip(totals, item, strict=True)]
    middle, average = fmean(item), fmean(rest)
    products = [(a - middle) * (b - average) for a, b in zip(item, rest, strict=True)]
    return sum(products) / (len(products) - 1)
