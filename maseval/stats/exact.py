"""Exact limits of a share that was counted in independent cases (Clopper and Pearson, 1934)."""

import math
from collections.abc import Callable

from maseval.stats.intervals import check_level

_STEPS = 60


def binomial_limits(found: int, total: int, level: float = 0.95) -> tuple[float, float]:
    """Return the limits of a share of which ``found`` of ``total`` were seen.

    They are the shares by which so many or more, and so few or fewer, would be seen in half of the
    remaining chance each; without any case nothing is known.
    """
    check_level(level)
    if not 0 <= found <= total:
        raise ValueError(f"found must lie between 0 and the {total} cases, not {found}")
    tail = (1 - level) / 2
    low = 0.0
    if found:
        low = _root(lambda share: 1 - _chance_up_to(found - 1, total, share) > tail)
    high = 1.0
    if found < total:
        high = _root(lambda share: _chance_up_to(found, total, share) < tail)
    return low, high


def _root(is_above: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return (low + high) / 2


def _chance_up_to(most: int, total: int, share: float) -> float:
    """Return the chance of at most so many of ``total``, each with this share."""
    if share >= 1.0:
        return 0.0
    if share <= 0.0:
        return 1.0
    log, log_rest = math.log(share), math.log1p(-share)
    whole = math.lgamma(total + 1)
    return math.fsum(
        math.exp(
            whole
            - math.lgamma(each + 1)
            - math.lgamma(total - each + 1)
            + each * log
            + (total - each) * log_rest
        )
        for each in range(most + 1)
    )
