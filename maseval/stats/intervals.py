"""Confidence intervals for a share and for a mean over tasks, and the quantiles they need.

A benchmark has few tasks, scores are bounded, and good agents score close to the bound. There a
percentile bootstrap is too narrow, and has no width at all when every task passes. So the interval
holds every mean from which the one found is not too far, where the variance is that of the mean in
question (Wilson 1927) and the quantile is corrected for skewness (Cornish & Fisher 1938; Hall
1992). The quantiles need no numerical library.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean
from typing import NamedTuple, Self

from maseval.core.exceptions import ConfigurationError
from maseval.stats.result import Result

LEVEL = 0.95
OVER_TASKS = "clustered by task"
OVER_TASKS_IN_WORDS = f"{OVER_TASKS}, as trials of one task are not independent"
OF_ONE_TASK = "Wilson, trials of one task"

# The part of a task at each bound that no run shows; coverage was simulated with 0.02 to 0.1.
_UNSEEN = 0.05

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


class Spread(NamedTuple):
    """The scatter of a score, or of a mean: its variance, and its skewness to each side.

    ``up`` and ``down`` are the third moment of the deviations to that side over the second of all:
    the size of the steps, where a score moves by few and rare ones.
    """

    variance: float
    up: float
    down: float

    def of_mean(self, count: int) -> Self:
        """Return the scatter of a mean over so many independent scores."""
        return type(self)(*(each / count for each in self))


def spread_of(scores: Sequence[float], bounds: tuple[float, float] = (0.0, 1.0)) -> Spread:
    """Return the scatter of single scores, of which there are two or more.

    Each side has a small part of a task at its bound: few tasks hardly show how far others lie. It
    is the smaller the closer the tasks lie together, compared with such that pass or fail.
    """
    mean, (low, high) = fmean(scores), bounds
    deviations = [score - mean for score in scores]
    total = math.fsum(each * each for each in deviations)
    room = (mean - low) * (high - mean)
    unseen = min(_UNSEEN, total / len(scores) / room) if total and room > 0 else _UNSEEN

    def side(sign: int, far: float) -> float:
        third = math.fsum((sign * each) ** 3 for each in deviations if sign * each > 0)
        return (third + unseen * far**3) / (total + unseen * far**2) if far > 0 else 0.0

    return Spread(total / (len(scores) - 1), side(1, high - mean), side(-1, mean - low))


def mean_interval(
    scores: Sequence[float], level: float = LEVEL, bounds: tuple[float, float] = (0.0, 1.0)
) -> Interval | None:
    """Return the interval for the mean over tasks like these; None for fewer than two tasks.

    ``bounds`` are those of a single score: -1 and 1 for a difference of two runs.
    """
    if len(scores) < 2:
        return None
    return bounded_interval(
        fmean(scores),
        spread_of(scores, bounds).of_mean(len(scores)),
        two_sided_t(level, len(scores) - 1),
        Interval(*bounds, level, OVER_TASKS),
    )


def bounded_interval(mean: float, spread: Spread, z: float, frame: Interval) -> Interval:
    """Return the interval around ``mean``, within ``frame``, for the scatter of the mean.

    A mean closer to a bound has less variance, in proportion to the product of the distances to
    both bounds, and more towards the side to which it is skewed.
    """
    room = (mean - frame.low) * (frame.high - mean)
    shrink = 1 + z * z * spread.variance / room if room > 0 else 1.0

    def arm(skew: float) -> float:
        root = z * z * spread.variance * shrink + (z**4 / 12 + z * z / 6) * skew * skew
        return ((2 * z * z + 1) / 6 * skew + math.sqrt(root)) / shrink

    return Interval(
        max(frame.low, mean - arm(spread.down)),
        min(frame.high, mean + arm(spread.up)),
        frame.level,
        frame.method,
    )


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
