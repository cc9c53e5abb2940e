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

from maseval.stats.distributions import check_level
from maseval.stats.intervals import Interval
from maseval.stats.pass_k import MEASURES, Measure
from maseval.stats.trials import Trials

RESAMPLES = 2_000

# Where all resamples lie to one side, the bias correction would be infinite.
_EDGE = 1e-4


def bootstrap_tasks(
    scores: Sequence[float], level: float, resamples: int = RESAMPLES, seed: int = 0
) -> Interval | None:
    """BCa interval for the mean of ``scores``; None for fewer than two."""
    check_level(level)
    if len(scores) < 2:
        return None
    rng = random.Random(seed)
    means = sorted(fmean(rng.choices(scores, k=len(scores))) for _ in range(resamples))
    corrected = _bca(scores, means)
    low, high = (quantile(means, corrected(p)) for p in _tails(level))
    return Interval(low, high, level, f"BCa bootstrap over tasks, {resamples:,} resamples")


def bootstrap_nested(
    tasks: Sequence[Trials],
    measure: Measure,
    k: int,
    level: float,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """Percentiles over tasks and trials within tasks, centred; None for fewer than two tasks.

    Resampling trials is biased upwards: a task with 2 of 4 passed has a pass^2 of 1/6, its
    resamples 1/4 on average. The resamples are therefore shifted to the estimate.
    """
    check_level(level)
    if len(tasks) < 2:
        return None
    rng = random.Random(seed)
    scores, chances = _redrawn(tasks, measure, k)
    reached = list(accumulate(chances))
    means = sorted(
        fmean(rng.choices(scores, cum_weights=reached, k=len(tasks))) for _ in range(resamples)
    )
    shift = fmean(float(MEASURES[measure](*task, k)) for task in tasks) - fmean(means)
    low, high = (quantile(means, p) + shift for p in _tails(level))
    method = f"bootstrap over tasks and trials within tasks, {resamples:,} resamples, centred"
    return Interval(max(0.0, low), min(1.0, high), level, method)


def quantile(ordered: Sequence[float], probability: float) -> float:
    """The quantile, interpolated between the two nearest values."""
    position = probability * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _bca(scores: Sequence[float], means: Sequence[float]) -> Callable[[float], float]:
    """Maps a percentile to the corrected one, by the resamples' bias and the scores' skew."""
    normal, mean = NormalDist(), fmean(scores)
    below = fmean((each < mean) + (each == mean) / 2 for each in means)
    bias = normal.inv_cdf(min(1 - _EDGE, max(_EDGE, below)))
    away = [score - mean for score in scores]
    spread = sum(a * a for a in away)
    skew = sum(a**3 for a in away) / (6 * spread**1.5) if spread else 0.0

    def corrected(probability: float) -> float:
        z = bias + normal.inv_cdf(probability)
        return normal.cdf(bias + z / (1 - skew * z))

    return corrected


def _redrawn(tasks: Sequence[Trials], measure: Measure, k: int) -> tuple[list[float], list[float]]:
    """The possible scores of a task resampled with its trials, and their probabilities."""
    scores, chances = [], []
    for (n, passed), count in Counter(tasks).items():
        share = passed / n
        for j in range(n + 1):
            scores.append(float(MEASURES[measure](n, j, k)))
            chances.append(count * math.comb(n, j) * share**j * (1 - share) ** (n - j))
    return scores, chances
