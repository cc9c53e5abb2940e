"""pass^k and pass@k of one task, from how many of its trials passed."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from maseval.core.exceptions import ConfigurationError

Measure = Literal["pass^k", "pass@k"]
Score = Callable[[int, int, int], Fraction]


def pass_hat_k(trials: int, passed: int, k: int) -> Fraction:
    """Chance that ``k`` trials drawn without replacement all passed (arXiv:2406.12045)."""
    _check(trials, passed, k)
    return Fraction(math.comb(passed, k), math.comb(trials, k))


def pass_at_k(trials: int, passed: int, k: int) -> Fraction:
    """Chance that of ``k`` trials drawn without replacement one passed (arXiv:2107.03374)."""
    return 1 - pass_hat_k(trials, trials - passed, k)


MEASURES: dict[Measure, Score] = {"pass^k": pass_hat_k, "pass@k": pass_at_k}


def named(measure: Measure, k: int) -> str:
    """The measure with its number: ``pass^4``."""
    return measure.replace("k", str(k))


def _check(trials: int, passed: int, k: int) -> None:
    if not 0 <= passed <= trials:
        raise ConfigurationError(
            f"{passed} passed of {trials} trials; give a number from 0 to the trials"
        )
    if not 1 <= k <= trials:
        raise ConfigurationError(
            f"k must lie between 1 and the {trials} trials that were run, not {k}"
        )
