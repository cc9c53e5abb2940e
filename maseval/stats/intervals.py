"""Intervals for a share and for a mean over tasks.

A benchmark has few tasks, scores are bounded, and good agents score close to the bound. There a
percentile bootstrap is too narrow, and has no width at all when every task passes. So the variance
is that of the bootstrap over tasks, which for a mean is known in closed form, and the interval is
Wilson's for the effective sample size that gives this variance, with Student's t for z (Korn &
Graubard 1998; Dean & Pagano 2015).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from maseval.core.exceptions import ConfigurationError
from maseval.stats.distributions import two_sided_t, two_sided_z
from maseval.stats.result import Result

LEVEL = 0.95
OVER_TASKS = "clustered by task"


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

    For one trial per task. Several trials of one task are correlated, which ``mean_interval`` over
    the tasks takes into account.
    """
    z = two_sided_z(level)
    if not 0 <= passed <= total:
        raise ConfigurationError(f"{passed} passed of {total}; give a number from 0 to the total")
    low, high = _wilson(passed / total, total, z) if total else (0.0, 1.0)
    return Interval(low, high, level, "Wilson")


def mean_interval(
    scores: Sequence[float], level: float = LEVEL, bounds: tuple[float, float] = (0.0, 1.0)
) -> Interval | None:
    """The interval for the mean over tasks like these; None for fewer than two tasks.

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

    If all tasks have the same score, the variance says nothing. The interval is then the one that
    Wilson's gives for the share of tasks that differ, after 0 of ``tasks`` did.
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
