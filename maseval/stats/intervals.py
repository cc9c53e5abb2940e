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

import cmath
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
OVER_TASKS_IN_WORDS = f"{OVER_TASKS}, as trials of one task are not independent"
OF_ONE_TASK = "exact, trials of one task"

TOO_FEW = "too few tasks"
"""The words that stand for a bar that would say nothing."""

# A wider interval is not drawn; the page's script has the same limit.
_WIDEST_BAR = 0.6

# Steps of the integral along its path; quantiles come out right to nine digits.
_STEP = 0.2
_SMALL = 1e-12

# Secants come as close with one more step as the square of the last; a path near the saddle point
# is as good as one through it.
_CLOSE = 1e-6
_NEAR = 1e-2

_MOST_STEPS = 100

_TINY = 1e-300
_PRECISION = 1e-15


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

    @property
    def tells(self) -> bool:
        """False if it spans so much that a drawing says "too few tasks" instead of a bar."""
        return self.high - self.low <= _WIDEST_BAR


def wilson(passed: int, total: int, level: float = LEVEL) -> Interval:
    """Return Wilson's interval for a share of independent simulations.

    It is for one trial per task. Several trials of one task are correlated, which
    ``mean_interval`` over the tasks takes into account (J. Am. Stat. Assoc. 22, 1927).
    """
    z = two_sided_z(level)
    if not 0 <= passed <= total:
        raise ConfigurationError(f"{passed} passed of {total}; give a number from 0 to the total")
    low, high = _wilson(passed / total, total, z) if total else (0.0, 1.0)
    return Interval(low, high, level, "Wilson")


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
    return _interval(tuple(sorted(counts.items())), level, bounds)


# One page shows the same scores in several tables.
@lru_cache(maxsize=1024)
def _interval(
    counts: tuple[tuple[float, float], ...], level: float, bounds: tuple[float, float]
) -> Interval:
    low, high = bounds
    tail = (1 - level) / 2
    return Interval(
        low + _quantile([(score - low, count) for score, count in counts], tail),
        high - _quantile([(high - score, count) for score, count in counts], tail),
        level,
        OVER_TASKS,
    )


def _quantile(counts: Sequence[tuple[float, float]], tail: float) -> float:
    """Return the quantile of the weighted mean of these scores and of an imagined one at 0."""
    top = max((score for score, count in counts if count), default=0.0)
    if top <= 0:
        return 0.0
    points = [(score / top, count) for score, count in counts if count] + [(0.0, 1.0)]
    total = math.fsum(count for _, count in points)
    mean = math.fsum(count * score for score, count in points) / total
    spread = math.fsum(count * (score - mean) ** 2 for score, count in points) / total / (total + 1)
    aim = NormalDist().inv_cdf(tail)
    # The chance as a normal deviate is nearly straight in the logarithm of the odds: secants.
    slope = mean * (1 - mean) / math.sqrt(spread)
    at, low, high, saddle = math.log(mean / (1 - mean)) + aim / slope, -math.inf, math.inf, 0.5
    before: tuple[float, float] | None = None
    for _ in range(_MOST_STEPS):
        chance, saddle = _chance_below(points, 1 / (1 + math.exp(-at)), saddle)
        miss = NormalDist().inv_cdf(min(1 - 1e-15, max(_TINY, chance))) - aim
        low, high = (at, high) if miss < 0 else (low, at)
        if before is not None:
            slope = (miss - before[1]) / (at - before[0])
        step = at - miss / slope if slope > 0 else math.nan
        if not low < step < high:
            step = (low + high) / 2 if math.isfinite(low + high) else at - math.copysign(1.0, miss)
        before, at = (at, miss), step
        if abs(step - before[0]) < _CLOSE:
            break
    return top / (1 + math.exp(-at))


def _chance_below(
    points: Sequence[tuple[float, float]], limit: float, saddle: float
) -> tuple[float, float]:
    """Return the chance of a weighted mean up to ``limit``, and the saddle point, found from one.

    Its integrand is exp(-log q - sum of count * log(1 + q * step)) over q / (2 pi i).
    """
    steps = [(score / limit - 1, count) for score, count in points]
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
        logs = sum([count * cmath.log(1 + z * slope) for slope, count in slopes])
        value = cmath.exp(-logs) * complex(bend * along, across)
        total += value.imag
        size = abs(value)
    front = -math.log(q) - math.fsum(count * math.log1p(q * step) for step, count in steps)
    return _STEP * width / math.pi * math.exp(front) * total, q


def _wilson(share: float, total: float, z: float) -> tuple[float, float]:
    spread = z * z / total
    centre = share + spread / 2
    half = math.sqrt(spread * (share * (1 - share) + spread / 4))
    return max(0.0, (centre - half) / (1 + spread)), min(1.0, (centre + half) / (1 + spread))


def check_level(level: float) -> None:
    """Raise unless ``level`` is that of a confidence interval."""
    if not 0 < level < 1:
        raise ConfigurationError(
            f"the confidence level is {level}; give a number between 0 and 1, such as 0.95"
        )


def two_sided_z(level: float) -> float:
    """Return the z value of a two-sided normal interval: 1.96 for 95%."""
    check_level(level)
    return NormalDist().inv_cdf((1 + level) / 2)


@lru_cache(maxsize=1024)
def two_sided_t(level: float, degrees: int) -> float:
    """Return the same for Student's t distribution (1908)."""
    check_level(level)
    if degrees < 1:
        raise ConfigurationError(
            f"{degrees} degrees of freedom allow no interval; give 1 or more, from 2 values"
        )
    outside, low, high = 1 - level, 0.0, 1.0
    while _t_outside(high, degrees) > outside:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _t_outside(middle, degrees) > outside else (low, middle)
    return (low + high) / 2


def _t_outside(t: float, degrees: int) -> float:
    return regularised_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


def regularised_beta(x: float, a: float, b: float) -> float:
    """Return I_x(a, b), the distribution function of Beta(a, b), by its continued fraction."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly, use the symmetry
        return 1 - regularised_beta(1 - x, b, a)
    log_front = a * math.log(x) + b * math.log1p(-x) - log_beta(a, b)
    return math.exp(log_front) / a * _continued_fraction(x, a, b)


def log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluate it from the front, by Lentz's method (Press et al., Numerical Recipes, 6.4)."""
    upper, lower = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or _TINY)
    value = lower
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            lower = 1 / ((1 + term * lower) or _TINY)
            upper = (1 + term / upper) or _TINY
            step = upper * lower
            value *= step
        if abs(step - 1) < _PRECISION:
            break
    return value
