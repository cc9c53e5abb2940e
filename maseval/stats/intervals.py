"""Intervals for a share and for a mean over tasks.

The tasks of a benchmark are few, their scores are bounded, and the best agents sit close to the
bound: there a bootstrap of percentiles is too short, and of no width at all when every task
passes. So the spread is that of the bootstrap over tasks, which for a mean is known in closed
form, and the shape is Wilson's, as if so many independent tasks had been counted as would give
that spread (the effective sample size of survey statistics: Korn & Graubard 1998; Dean & Pagano
2015).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from maseval.core.exceptions import ConfigurationError
from maseval.stats.distributions import two_sided_t, two_sided_z
from maseval.stats.result import Result

LEVEL = 0.95
OVER_TASKS = "bootstrap variance over tasks in closed form, Wilson's shape, Student's t"


@dataclass(frozen=True)
class Interval(Result):
    """A confidence interval, and how it was found."""

    low: float
    high: float
    level: float
    method: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def wilson(passed: int, total: int, level: float = LEVEL) -> Interval:
    """Wilson's interval for a share of independent simulations (J. Am. Stat. Assoc. 22, 1927).

    For a live display, or one trial of each task. Several trials of one task resemble each other:
    ``mean_interval`` over the tasks takes account of it.
    """
    z = two_sided_z(level)
    if not 0 <= passed <= total:
        raise ConfigurationError(f"{passed} passed of {total}; give a number from 0 to the total")
    low, high = _wilson(passed / total, total, z) if total else (0.0, 1.0)
    return Interval(low, high, level, "Wilson")


def mean_interval(
    scores: Sequence[float], level: float = LEVEL, bounds: tuple[float, float] = (0.0, 1.0)
) -> Interval | None:
    """The interval for the mean over tasks like these; None for fewer than two of them.

    ``bounds`` are those of a single score: -1 and 1 for a difference of two runs.
    """
    if len(scores) < 2:
        return None
    return shaped(
        fmean(scores),
        variance(scores) / len(scores),
        two_sided_t(level, len(scores) - 1),
        Interval(*bounds, level, OVER_TASKS),
        len(scores),
    )


def shaped(mean: float, variance: float, z: float, frame: Interval, tasks: int) -> Interval:
    """Wilson's interval around ``mean``, within ``frame``, for the ``variance`` of that mean.

    Where no task differs from another there is no spread to go by. Then as many others may be
    quite different as Wilson's interval allows for after none of so many was.
    """
    width = frame.high - frame.low
    share = min(1.0, max(0.0, (mean - frame.low) / width))
    spread = variance / width**2
    if spread > 0 and 0 < share < 1:
        low, high = _wilson(share, share * (1 - share) / spread, z)
    else:
        _, others = _wilson(0.0, tasks, z)
        low, high = share * (1 - others), share + (1 - share) * others
    return Interval(
        frame.low + width * min(share, low),
        frame.low + width * max(share, high),
        frame.level,
        frame.method,
    )


def _wilson(share: float, total: float, z: float) -> tuple[float, float]:
    spread = z * z / total
    centre = share + spread / 2
    half = math.sqrt(spread * (share * (1 - share) + spread / 4))
    return max(0.0, (centre - half) / (1 + spread)), min(1.0, (centre + half) / (1 + spread))
