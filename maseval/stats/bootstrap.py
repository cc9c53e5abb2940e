"""Bootstrap intervals by resampling, as a check of the default interval.

``bootstrap_tasks`` resamples tasks and corrects the percentiles for bias and skewness (BCa: Efron
1987). ``bootstrap_nested`` resamples tasks, and then the trials of each. Resampling trials adds
their noise a second time, so the nested interval is the wider one. Both are deterministic: the
random numbers are seeded.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from statistics import NormalDist, fmean

from maseval.stats.intervals import Interval, check_level
from maseval.stats.trials import Measure, Trials, mean_over_tasks, task_scores

RESAMPLES = 2_000

# Where all resamples lie to one side, the bias correction would be infinite.
_EDGE = 1e-4


def bootstrap_tasks(
    scores: Sequence[float], level: float, resamples: int = RESAMPLES, seed: int = 0
) -> Interval | None:
    """Return the BCa interval for the mean of ``scores``; None for fewer than two."""
    check_level(level)
    if len(scores) < 2:
        return None
    rng = random.Random(seed)
    means = sorted(fmean(rng.choices(scores, k=len(scores))) for _ in range(resamples))
    correct = _bca_correction(scores, means)
    low, high = (quantile(means, correct(p)) for p in _tails(level))
    return Interval(low, high, level, f"BCa bootstrap over tasks, {resamples:,} resamples")


def bootstrap_nested(
    tasks: Sequence[Trials],
    measure: Measure,
    k: int,
    level: float,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """Return centred percentiles over tasks and trials within tasks; None for fewer than two tasks.

    Resampling trials is biased upwards: a task with 2 of 4 passed has a pass^2 of 1/6, its
    resamples 1/4 on average. The resamples are therefore shifted to the estimate.
    """
    check_level(level)
    if len(tasks) < 2:
        return None
    rng = random.Random(seed)
    scores, chances = _resampled_scores(tasks, measure, k)
    reached = list(accumulate(chances))
    means = sorted(
        fmean(rng.choices(scores, cum_weights=reached, k=len(tasks))) for _ in range(resamples)
    )
    shift = mean_over_tasks(tasks, measure, k) - fmean(means)
    low, high = (quantile(means, p) + shift for p in _tails(level))
    method = f"bootstrap over tasks and trials within tasks, {resamples:,} resamples, centred"
    return Interval(max(0.0, low), min(1.0, high), level, method)


def quantile(ordered: Sequence[float], probability: float) -> float:
    """Return the quantile, interpolated between the two nearest values (R's type 7)."""
    position = probability * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _bca_correction(scores: Sequence[float], means: Sequence[float]) -> Callable[[float], float]:
    """Return the map from a percentile to the one corrected for bias and skew."""
    normal, mean = NormalDist(), fmean(scores)
    below = fmean((each < mean) + (each == mean) / 2 for each in means)
    bias = normal.inv_cdf(min(1 - _EDGE, max(_EDGE, below)))
    deviations = [score - mean for score in scores]
    spread = sum(each * each for each in deviations)
    skew = sum(each**3 for each in deviations) / (6 * spread**1.5) if spread else 0.0

    def correct(probability: float) -> float:
        z = bias + normal.inv_cdf(probability)
        return normal.cdf(bias + z / (1 - skew * z))

    return correct


def _resampled_scores(
    tasks: Sequence[Trials], measure: Measure, k: int
) -> tuple[list[float], list[float]]:
    """Return the possible scores of a task with resampled trials, and their probabilities."""
    scores: list[float] = []
    chances: list[float] = []
    for (n, passed), count in Counter(tasks).items():
        scores += task_scores([Trials(n, j) for j in range(n + 1)], measure, k)
        chances += [count * each for each in _binomial(n, passed / n)]
    return scores, chances


def _binomial(n: int, share: float) -> list[float]:
    """Return the chance of each number of passes; by logarithms, as the ways are too many."""
    if share in (0, 1):
        return [float(j == n * share) for j in range(n + 1)]
    win, lose, ways = math.log(share), math.log1p(-share), math.lgamma(n + 1)
    return [
        math.exp(ways - math.lgamma(j + 1) - math.lgamma(n - j + 1) + j * win + (n - j) * lose)
        for j in range(n + 1)
    ]
