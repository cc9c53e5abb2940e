"""pass^k and pass@k of one task, and their means over tasks."""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from statistics import fmean
from typing import Literal

from maseval.core.exceptions import ConfigurationError
from maseval.stats.trials import Trials

Measure = Literal["pass^k", "pass@k"]


def pass_hat_k(trials: int, passed: int, k: int) -> Fraction:
    """Chance that ``k`` trials drawn without replacement all passed (arXiv:2406.12045)."""
    _check(trials, passed, k)
    return Fraction(math.comb(passed, k), math.comb(trials, k))


def pass_at_k(trials: int, passed: int, k: int) -> Fraction:
    """Chance that of ``k`` trials drawn without replacement one passed (arXiv:2107.03374)."""
    _check(trials, passed, k)
    return 1 - pass_hat_k(trials, trials - passed, k)


MEASURES: dict[Measure, Callable[[int, int, int], Fraction]] = {
    "pass^k": pass_hat_k,
    "pass@k": pass_at_k,
}


def mean_over_tasks(tasks: Iterable[Trials], measure: Measure, k: int) -> float:
    """The mean over tasks, each of which counts once, however many trials it has."""
    return fmean(float(MEASURES[measure](*each, k)) for each in tasks)


def named(measure: Measure, k: int) -> str:
    """The measure with its number: ``pass^4``."""
    return measure.replace("k", str(k))


def _check(trials: int, passed: int, k: int) -> None:
    if k < 0:
        raise ConfigurationError(f"k is {k}; give 0 or more")
    if not 0 <= passed <= trials:
        raise ConfigurationError(
            f"{passed} of {trials} trials passed; give a number from 0 to {trials}"
        )
    if trials < k:
        # The words are those of tau2-bench v0.2.0.
        raise ConfigurationError(f"Number of trials {trials} is less than k {k}.")
