"""Estimates: the one way from trials to a number with its interval.

Everything that shows a score (a table, a report, a comparison, a live display) takes it from here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from maseval.stats.intervals import LEVEL, OF_ONE_TASK, Interval, mean_interval, wilson
from maseval.stats.result import Result
from maseval.stats.trial_noise import rerun_interval
from maseval.stats.trials import (
    Measure,
    Trials,
    fewest_trials,
    mean_over_tasks,
    measure_name,
    task_scores,
)


@dataclass(frozen=True)
class Estimate(Result):
    """One measure of one group of tasks.

    ``value`` and ``interval`` are None where some task has fewer than k trials. ``interval`` is
    about tasks like these, or about the trials of a single one, ``rerun`` about these very tasks.
    ``bounds`` is what the value can still become: every missing trial fails, every one passes; None
    if nothing is missing.
    """

    measure: Measure
    k: int
    value: float | None
    interval: Interval | None = None
    rerun: Interval | None = None
    bounds: tuple[float, float] | None = None
    mean_of_groups: float | None = None

    @property
    def name(self) -> str:
        """The measure with its k, such as ``pass^1``."""
        return measure_name(self.measure, self.k)

    @property
    def low(self) -> float:
        """The lower end of ``interval``; 0 without one."""
        return 0.0 if self.interval is None else self.interval.low

    @property
    def high(self) -> float:
        return 1.0 if self.interval is None else self.interval.high

    def in_brief(self) -> dict[str, float | None]:
        """Return value and interval, and ``worst`` and ``best`` if there are bounds, for JSON."""
        ends = dict(zip(("worst", "best"), self.bounds or (), strict=False))
        return {"value": self.value, "low": self.low, "high": self.high, **ends}


def estimate(
    tasks: Sequence[Trials],
    measure: Measure = "pass^k",
    k: int = 1,
    *,
    planned: Sequence[int] | None = None,
    level: float = LEVEL,
) -> Estimate:
    """Estimate the mean of a measure over ``tasks``, with an interval clustered by task.

    Args:
        tasks: The trials of each task. A task without a trial that counts is left out of the
            value.
        planned: How many trials each of them was to have; None if none is missing.
    """
    bounds = None if planned is None else _bounds(tasks, planned, measure, k)
    counted = tuple(each for each in tasks if each.total)
    if not counted or k > fewest_trials(counted):
        return Estimate(measure, k, None, bounds=bounds)
    found = _of_counted(counted, measure, k, level)
    return found if bounds is None else replace(found, bounds=bounds)


# One page shows the same trials in several tables.
@lru_cache(maxsize=256)
def _of_counted(tasks: tuple[Trials, ...], measure: Measure, k: int, level: float) -> Estimate:
    value = mean_over_tasks(tasks, measure, k)
    return Estimate(
        measure,
        k,
        value,
        interval=_interval(tasks, measure, k, level),
        rerun=rerun_interval(tasks, measure, k, value, level),
    )


def _interval(tasks: Sequence[Trials], measure: Measure, k: int, level: float) -> Interval | None:
    if len(tasks) == 1:
        return _interval_of_one(tasks[0], measure, k, level)
    return mean_interval(task_scores(tasks, measure, k), level)


def _interval_of_one(task: Trials, measure: Measure, k: int, level: float) -> Interval:
    """Return the interval of one task: that of its chance to pass, of which k are taken.

    It says nothing of other tasks. The value of some k lies outside, as it is estimated without
    bias; the interval is then extended to it.
    """
    span, value = wilson(task.passed, task.total, level), mean_over_tasks([task], measure, k)
    ends = (span.low, span.high)
    low, high = (p**k if measure == "pass^k" else 1 - (1 - p) ** k for p in ends)
    return Interval(min(low, value), max(high, value), level, OF_ONE_TASK)


def _bounds(
    tasks: Sequence[Trials], planned: Sequence[int], measure: Measure, k: int
) -> tuple[float, float] | None:
    pairs = list(zip(tasks, planned, strict=True))
    if all(each.total == wanted for each, wanted in pairs):
        return None
    worst = [Trials(wanted, each.passed) for each, wanted in pairs]
    best = [Trials(wanted, each.passed + wanted - each.total) for each, wanted in pairs]
    return mean_over_tasks(worst, measure, k), mean_over_tasks(best, measure, k)
