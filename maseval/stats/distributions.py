"""Quantiles of the normal and t distributions, without a numerical library."""

import math
from functools import lru_cache
from statistics import NormalDist

from maseval.core.exceptions import ConfigurationError

_TINY = 1e-300
_PRECISION = 1e-15


def check_level(level: float) -> None:
    """Raise unless ``level`` is that of a confidence interval."""
    if not 0 < level < 1:
        raise ConfigurationError(
            f"the confidence level is {level}; give a number between 0 and 1, such as 0.95"
        )


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(probability)


def two_sided_z(level: float) -> float:
    """The z value of a two-sided normal interval: 1.96 for 95%."""
    check_level(level)
    return normal_quantile((1 + level) / 2)


@lru_cache(maxsize=1024)
def two_sided_t(level: float, degrees: int) -> float:
    """The same for Student's t distribution (1908)."""
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
    """I_x(a, b), the distribution function of Beta(a, b), by its continued fraction."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly, use the symmetry
        return 1 - regularised_beta(1 - x, b, a)
    log_front = a * math.log(x) + b * math.log1p(-x) - log_beta(a, b)
    return math.exp(log_front) / a * _continued_fraction(x, a, b)


def log_beta(a: float, b: float) -> float:
    """The logarithm of Euler's beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Lentz's way to evaluate it from the front (Press et al., Numerical Recipes, 6.4)."""
    upper, lower = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    value = lower
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            lower = 1 / _apart(1 + term * lower)
            upper = _apart(1 + term / upper)
            step = upper * lower
            value *= step
        if abs(step - 1) < _PRECISION:
            break
    return value


def _apart(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
