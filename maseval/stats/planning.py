"""The power of a comparison of two runs, and the sample size that would decide it.

A true difference is found with 80% power if it is (z_97.5 + z_80) standard errors away from zero.
The variance of the tasks' differences has two parts: true variation between tasks, which only more
tasks average out, and the noise of the trials, which more trials reduce.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from maseval.stats.distributions import normal_quantile, two_sided_z
from maseval.stats.pass_k import MEASURES, Measure
from maseval.stats.result import Result
from maseval.stats.trial_noise import TaskModel, mirrored
from maseval.stats.trials import Trials, fewest_trials

POWER = 0.8
MOST_TRIALS = 1_000
"""If more trials of each task than this are needed, more trials are not the answer."""


@dataclass(frozen=True)
class SamplePlan(Result):
    """The sample size that decides a difference as large as the one found.

    ``trials`` per task in each run would do, or ``tasks`` with the present number of trials; None
    where no number would, or none can be computed. ``simulations`` and ``cost`` are those of the
    additional trials in both runs together.
    """

    difference: float
    trials: int | None
    simulations: int | None
    cost: float | None
    tasks: int | None
    advice: str


@dataclass(frozen=True)
class Pairs:
    """The trials of the tasks that two runs share, in the same order, and the measure compared."""

    first: Sequence[Trials]
    second: Sequence[Trials]
    measure: Measure = "pass^k"
    k: int = 1

    @property
    def differences(self) -> list[float]:
        """Second run - first run, task by task."""
        score = MEASURES[self.measure]
        return [
            float(score(*b, self.k) - score(*a, self.k))
            for a, b in zip(self.first, self.second, strict=True)
        ]

    def noise(self, trials: int | None = None) -> float | None:
        """The part of the differences' variance that is trial noise, with ``trials`` per task."""
        parts = []
        for run in (self.first, self.second):
            counted = mirrored(run, self.measure)
            model = TaskModel.fitted(counted)
            if model is None:
                return None
            parts.append(model.noise(counted, self.k, trials))
        return sum(parts)


def reach(level: float) -> float:
    """How many standard errors a difference must be away from zero for 80% power."""
    return two_sided_z(level) + normal_quantile(POWER)


def detectable_difference(differences: Sequence[float], level: float) -> float | None:
    """The smallest true difference that this design finds with 80% power; None if there is none.

    It assumes the observed variance of the differences.
    """
    if not _can_decide(len(differences), level) or not (spread := variance(differences)):
        return None
    return min(1.0, reach(level) * math.sqrt(spread / len(differences)))


def plan(
    pairs: Pairs, p_value: float, level: float, costs: tuple[float | None, float | None]
) -> SamplePlan:
    """How many trials, or tasks, would decide a difference as large as the one found.

    ``p_value`` is what the test says now, ``costs`` are those of one simulation in each run.
    """
    differences = pairs.differences
    found = fmean(differences)
    count = len(differences)
    if not found:
        why = "the runs are equal: no difference to plan for"
        return SamplePlan(found, None, None, None, None, why)
    if not _can_decide(count, level):
        why = f"{count} tasks are too few for a test at the {1 - level:.0%} level"
        return SamplePlan(found, None, None, None, None, why)
    if p_value <= 1 - level:
        present = fewest_trials([*pairs.first, *pairs.second])
        why = f"p = {p_value:.2g}: significant at the {1 - level:.0%} level, no more trials needed"
        return SamplePlan(found, present, 0, 0.0, count, why)
    allowed = count * (found / reach(level)) ** 2
    tasks = max(count, math.ceil(count * variance(differences) / allowed))
    trials = _trials_needed(pairs, variance(differences), allowed)
    if trials is None:
        return SamplePlan(found, None, None, None, tasks, _no_trials(pairs, tasks))
    first, second = (
        sum(max(0, trials - each.total) for each in run) for run in (pairs.first, pairs.second)
    )
    cost = _cost((first, second), costs)
    advice = (
        f"{trials} trials per task in each run ({first + second} more simulations) would decide a "
        "difference of this size with 80% power"
    )
    return SamplePlan(found, trials, first + second, cost, tasks, advice)


def _can_decide(tasks: int, level: float) -> bool:
    """Whether p can reach the level: if all tasks change the same way, it is 2 / 2**tasks."""
    return tasks > 1 and 2 / 2**tasks <= 1 - level


def _trials_needed(pairs: Pairs, spread: float, allowed: float) -> int | None:
    """The smallest number of trials at which the variance is allowed, found by bisection."""
    now = pairs.noise()
    if now is None:
        return None
    real = max(0.0, spread - now)

    def suffices(trials: int) -> bool:
        noise = pairs.noise(trials)
        return noise is not None and real + noise <= allowed

    fewest = fewest_trials([*pairs.first, *pairs.second])
    if spread <= allowed:
        return fewest
    if not suffices(MOST_TRIALS):
        return None
    low, high = fewest, MOST_TRIALS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def _no_trials(pairs: Pairs, tasks: int) -> str:
    others = f"about {tasks} tasks like these, with the present number of trials, would decide it"
    if pairs.noise() is None:
        return f"one trial per task cannot separate luck from skill: run two or more; {others}"
    return f"no number of trials would decide it: these tasks differ too much; {others}"


def _cost(further: tuple[int, int], costs: tuple[float | None, float | None]) -> float | None:
    """Unknown if a run needs more simulations and the cost of one is not known."""
    total = 0.0
    for simulations, cost in zip(further, costs, strict=True):
        if simulations and cost is None:
            return None
        total += simulations * (cost or 0.0)
    return total
