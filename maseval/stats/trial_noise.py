"""The noise of trials: the variance of a score over reruns of the same tasks.

Four trials of a task say little about its own variance; all tasks together say much. The tasks'
pass rates are modelled by a beta distribution, fitted by its first two moments, which the counts
of passed trials estimate without bias. Each task's own counts then give its posterior (empirical
Bayes for beta-binomial counts: Griffin & Krutchkoff 1971).
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from statistics import fmean
from typing import Self

from maseval.stats.intervals import Interval, log_beta, two_sided_z, wilson_shaped
from maseval.stats.trials import Measure, Trials, pass_hat_k

RERUN = "same tasks, new trials; beta-binomial variance"

_NEARLY = 1e-6


@dataclass(frozen=True)
class TaskModel:
    """The distribution Beta(``a``, ``b``) of a task's pass rate."""

    a: float
    b: float

    @classmethod
    def fit(cls, tasks: Collection[Trials]) -> Self | None:
        """Fit the model to the moments of these tasks; None without two trials of some task."""
        repeated = [each for each in tasks if each.total >= 2]
        if not repeated:
            return None
        mean = fmean(each.passed / each.total for each in repeated)
        square = fmean(float(pass_hat_k(*each, 2)) for each in repeated)
        mean = min(1 - _NEARLY, max(_NEARLY, mean))
        likeness = (square - mean * mean) / (mean * (1 - mean))
        weight = 1 / min(1 - _NEARLY, max(_NEARLY, likeness)) - 1
        return cls(mean * weight, (1 - mean) * weight)

    def noise(self, tasks: Collection[Trials], k: int, trials: int | None = None) -> float:
        """Return the mean over tasks of the variance of their pass^k, over repeated runs.

        ``trials`` is the number of trials of such a run; None means as many as each task has had.
        """
        kinds = Counter(tasks)
        total = sum(
            count * self._noise_of(each, k, trials or each.total) for each, count in kinds.items()
        )
        return total / kinds.total()

    def _noise_of(self, task: Trials, k: int, trials: int) -> float:
        a, b = self.a + task.passed, self.b + task.total - task.passed
        square = math.prod((a + i) / (a + b + i) for i in range(2 * k))
        seen = math.fsum(map(mul, _predictive(trials, a, b), _squared_scores(trials, k)))
        return max(0.0, seen - square)


@lru_cache(maxsize=256)
def _squared_scores(trials: int, k: int) -> list[float]:
    return [float(pass_hat_k(trials, passed, k)) ** 2 for passed in range(trials + 1)]


def _predictive(trials: int, a: float, b: float) -> Iterator[float]:
    """Yield the beta-binomial chances of 0, 1, ... passed trials."""
    ways = math.lgamma(trials + 1) - log_beta(a, b)
    for passed in range(trials + 1):
        failed = trials - passed
        orders = ways - math.lgamma(passed + 1) - math.lgamma(failed + 1)
        yield math.exp(orders + log_beta(a + passed, b + failed))


def count_as_pass_hat(tasks: Collection[Trials], measure: Measure) -> list[Trials]:
    """Return trials whose pass^k varies as this measure does: for pass@k, failures are passes."""
    if measure == "pass^k":
        return list(tasks)
    return [Trials(each.total, each.total - each.passed) for each in tasks]


def rerun_interval(
    tasks: Collection[Trials], measure: Measure, k: int, value: float, level: float
) -> Interval | None:
    """Return the interval for the score of these very tasks, if only the trials are repeated.

    None if no task has two trials.
    """
    counted = count_as_pass_hat(tasks, measure)
    model = TaskModel.fit(counted)
    if model is None:
        return None
    variance = model.noise(counted, k) / len(counted)
    frame = Interval(0.0, 1.0, level, RERUN)
    return wilson_shaped(value, variance, two_sided_z(level), frame, len(counted))
