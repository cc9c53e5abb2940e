"""Confidence intervals for a share and for a mean over tasks, and the quantiles they need.

A benchmark has few tasks, scores are bounded, and good agents score close to the bound. So the
interval asks what the tasks not seen could do: give each task, and one imagined task at the bound,
a random weight, all weights equally likely (Dirichlet); the lower end is the quantile of the
weighted mean with the imagined task at the lower bound, the upper end its mirror image (Gaffke
2005; Learned-Miller & Thomas 2019). Where every score is 0 or 1 this is the exact interval of
Clopper & Pearson (1934). That it holds for every bounded distribution is conjectured, not proved.

The quantile needs no sampling. Weights are gamma variables over their sum, so the weighted mean is
at most t where a sum of gamma variables times (score - t) is at most 0, and the chance of that is
an integral over the sum's moment-generating function, taken along a path through its saddle point.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from maseval.core.exceptions import ConfigurationError
from maseval.stats.result import Result

LEVEL = 0.95
OVER_TASKS = "clustered by task"
OVER_CLUSTERS = "over clusters of tasks"
OF_ONE_TASK = "exact, trials of one task"

# Steps of the integral along its path; quantiles come out right to nine digits.
_STEP = 0.2
_SMALL = 1e-12

# Secants come as close with one more step as the square of the last; a path near the saddle point
# is as good as one through it.
_CLOSE = 1e-6
_FARTHEST = 300.0  # in logarithms of odds; whatever lies beyond is the bound
_NEAR = 1e-2

_MOST_STEPS = 100


@dataclass(frozen=True)
class Interval(Result):
    """A confidence interval and the method that found it."""

    low: float
    high: float
    level: float
    method: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def mean_interval(
    scores: Sequence[float], level: float = LEVEL, bounds: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    """Return the interval for the mean over tasks like these.

    ``bounds`` are those of a single score: -1 and 1 for a difference of two runs.
    """
    return weighted_interval(Counter(scores), level, bounds)


def weighted_interval(
    counts: Mapping[float, float], level: float = LEVEL, bounds: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    """Return the same for so many tasks of each score, which need not be whole numbers of tasks."""
    check_level(level)
    points = tuple((score, count, 1.0) for score, count in sorted(counts.items()))
    return _interval(points, level, bounds, OVER_TASKS)


def cluster_interval(
    counts: Mapping[tuple[float, float], float],
    level: float = LEVEL,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """Return the same for clusters, each with its mean score and its weight in the mean.

    The imagined cluster weighs as one in which an average case finds itself: with few clusters of
    unequal size the next one may be large.
    """
    check_level(level)
    points = tuple((score, count, weight) for (score, weight), count in sorted(counts.items()))
    return _interval(points, level, bounds, OVER_CLUSTERS)


# One page shows the same scores in several tables.
@lru_cache(maxsize=1024)
def _interval(
    points: tuple[tuple[float, float, float], ...],
    level: float,
    bounds: tuple[float, float],
    method: str,
) -> Interval:
    low, high = bounds
    tail = (1 - level) / 2
    whole = math.fsum(count * weight for _, count, weight in points)
    squares = math.fsum(count * weight * weight for _, count, weight in points)
    imagined = (0.0, 1.0, squares / whole if whole else 1.0)
    below = [(score - low, count, weight) for score, count, weight in points]
    above = [(high - score, count, weight) for score, count, weight in points]
    return Interval(
        low + _quantile([*below, imagined], tail),
        high - _quantile([*above, imagined], tail),
        level,
        method,
    )


def weighted_quantile(counts: Sequence[tuple[float, float]], share: float) -> float:
    """Return the quantile of the mean of scores from 0 on, with Dirichlet weights of their counts.

    Of the scores 1 and 0 it is that of a beta distribution.
    """
    return _quantile([(score, count, 1.0) for score, count in counts], share)


def _quantile(counts: Sequence[tuple[float, float, float]], share: float) -> float:
    """Return the same for scores that each weigh something in the mean, beside their counts."""
    top = max(score for score, count, _ in counts if count)
    if top <= 0:
        return 0.0
    if share > 0.5:  # the integral is exact in the tail below
        rest = [(top - score, count, weight) for score, count, weight in counts]
        return top - _quantile(rest, 1 - share)
    # Only ratios of weights matter; with the largest at 1 the path below stays in range.
    heaviest = max(weight for _, count, weight in counts if count)
    points = [(score / top, count, weight / heaviest) for score, count, weight in counts if count]
    total = math.fsum(count * weight for _, count, weight in points)
    mean = math.fsum(count * weight * score for score, count, weight in points) / total
    squares = [count * (weight * (score - mean)) ** 2 for score, count, weight in points]
    spread = math.fsum(squares) / total / (total + 1)
    aim = NormalDist().inv_cdf(share)
    # The chance as a normal deviate is nearly straight in the logarithm of the odds: secants.
    slope = mean * (1 - mean) / math.sqrt(spread)
    at = max(-_FARTHEST, math.log(mean / (1 - mean)) + aim / slope)
    low, high, saddle = -math.inf, math.inf, 0.5
    before: tuple[float, float] | None = None
    for _ in range(_MOST_STEPS):
        chance, saddle = _chance_below(points, 1 / (1 + math.exp(-at)), saddle)
        # Rounding may leave a chance of 0 or 1, to which no deviate belongs.
        miss = NormalDist().inv_cdf(min(1 - 1e-15, max(1e-300, chance))) - aim
        low, high = (at, high) if miss < 0 else (low, at)
        if before is not None:
            slope = (miss - before[1]) / (at - before[0])
        step = at - miss / slope if slope > 0 else math.nan
        if not low < step < high:
            step = (low + high) / 2 if math.isfinite(low + high) else at - math.copysign(1.0, miss)
        before, at = (at, miss), min(_FARTHEST, max(-_FARTHEST, step))
        if abs(at - before[0]) < _CLOSE:
            break
    return top / (1 + math.exp(-at))


def _chance_below(
    points: Sequence[tuple[float, float, float]], limit: float, saddle: float
) -> tuple[float, float]:
    """Return the chance of a weighted mean up to ``limit``, and the saddle point, found from one.

    Its integrand is exp(-log q - sum of count * log(1 + q * step)) over q / (2 pi i).
    """
    steps = [(weight * (score / limit - 1), count) for score, count, weight in points]
    q, low, high = saddle, 0.0, 1.0
    for _ in range(_MOST_STEPS):
        slopes = [(1 / q, 1.0), *((step / (1 + q * step), count) for step, count in steps)]
        first = -math.fsum([count * slope for slope, count in slopes])
        second = math.fsum([count * slope * slope for slope, count in slopes])
        low, high = (q, high) if first < 0 else (low, q)
        better = q - first / second
        if not low < better < high:
            better = (low + high) / 2
        if abs(better - q) < _NEAR * min(q, 1 - q):
            break
        q = better
    # The path bends as that of the steepest descent does; it crosses the real line only at q.
    width = 1 / math.sqrt(second)
    bend = -2 / 3 * width**3 * math.fsum(count * slope**3 for slope, count in slopes)
    total, at, size = 0.5, 0.0, 1.0
    while size > _SMALL:
        at += _STEP
        along, across = math.sinh(at), math.cosh(at)
        z = width * complex(bend * (across - 1), along)
        factors = math.prod([(1 + z * slope) ** count for slope, count in slopes])
        value = complex(bend * along, across) / factors
        total += value.imag
        size = abs(value)
    front = -math.log(q) - math.fsum(count * math.log1p(q * step) for step, count in steps)
    return _STEP * width / math.pi * math.exp(front) * total, q


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ConfigurationError(
            f"the confidence level is {level}; give a number between 0 and 1, such as 0.95"
        )


def two_sided_z(level: float) -> float:
    """Return the z value of a two-sided normal interval: 1.96 for 95%."""
    check_level(level)
    return NormalDist().inv_cdf((1 + level) / 2)


# Found by a search, and tables ask for the same few.
@lru_cache(maxsize=1024)
def two_sided_t(level: float, degrees: float) -> float:
    """Return the same for Student's t distribution (1908)."""
    check_level(level)
    if degrees < 1:
        raise ConfigurationError(
            f"{degrees} degrees of freedom allow no interval; give 1 or more, from 2 values"
        )
    # The degrees over their sum with the square of t follow a beta distribution.
    rest = weighted_quantile([(0.0, 0.5), (1.0, degrees / 2)], 1 - level)
    return math.sqrt(degrees * (1 - rest) / rest)


def student_p(t: float, degrees: float) -> float:
    """Return the two-sided p-value of a t with so many degrees of freedom."""
    points = [(0.0, 0.5, 1.0), (1.0, degrees / 2, 1.0)]
    return 1.0 if not t else min(1.0, _chance_below(points, degrees / (degrees + t * t), 0.5)[0])
