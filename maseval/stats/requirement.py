"""Does an agent reach a pass rate that was asked for, and what would decide it?

The question is one-sided: an agent misses the rate if the upper end of its interval lies below it.
Everything between the two ends is open, and more trials or more tasks may decide it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import variance
from typing import Literal

from maseval.core.exceptions import ConfigurationError
from maseval.core.shapes import number
from maseval.stats.distributions import two_sided_t
from maseval.stats.intervals import OVER_TASKS, Interval, mean_interval, shaped, wilson
from maseval.stats.pass_k import mean_over_tasks
from maseval.stats.planning import MOST_TRIALS
from maseval.stats.result import Result
from maseval.stats.trial_noise import TaskModel
from maseval.stats.trials import Trials, fewest_trials

ALPHA = 0.05

_MOST_TASKS = 10_000


@dataclass(frozen=True)
class Requirement(Result):
    """Whether pass^1 reaches ``at_least``; ``interval`` errs on each side with chance ``alpha``.

    ``advice`` says what would decide it; empty if it is decided.
    """

    at_least: float
    alpha: float
    value: float
    interval: Interval
    verdict: Literal["met", "missed", "undecided"]
    advice: str = ""


def requirement(tasks: Sequence[Trials], at_least: float, alpha: float = ALPHA) -> Requirement:
    """Compare pass^1 of ``tasks`` with ``at_least``.

    Tasks are what varies; if there is only one, its trials are.
    """
    check_at_least(at_least)
    check_alpha(alpha)
    counted = [each for each in tasks if each.total]
    if not counted:
        raise ConfigurationError("no task has a trial that counts, so there is no pass rate")
    value, interval = mean_over_tasks(counted, "pass^k", 1), _interval(counted, 1 - 2 * alpha)
    if interval.high < at_least:
        return Requirement(at_least, alpha, value, interval, "missed")
    if interval.low >= at_least:
        return Requirement(at_least, alpha, value, interval, "met")
    advice = _advice(counted, value, at_least, interval.level)
    return Requirement(at_least, alpha, value, interval, "undecided", advice)


def check_at_least(at_least: object) -> None:
    """Raise unless it is a pass rate that can be asked for."""
    share = number(at_least)
    if share is None or not 0 <= share <= 1:
        raise ConfigurationError(f"at_least is {at_least!r}; give a share from 0 to 1, like 0.8")


def check_alpha(alpha: object) -> None:
    """Raise unless it is a chance to err that one can accept."""
    chance = number(alpha)
    if chance is None or not 0 < chance < 0.5:
        raise ConfigurationError(f"alpha is {alpha!r}; give a chance below 0.5, like {ALPHA}")


def _interval(tasks: Sequence[Trials], level: float) -> Interval:
    found = mean_interval([each.passed / each.total for each in tasks], level)
    return wilson(tasks[0].passed, tasks[0].total, level) if found is None else found


def _advice(tasks: Sequence[Trials], value: float, at_least: float, level: float) -> str:
    if value == at_least:
        return "the score is exactly the rate asked for, which no number of trials can decide"
    deciding = _Deciding(value, at_least, level)
    if len(tasks) == 1:
        trials = _smallest(tasks[0].total, MOST_TRIALS, deciding.by_trials)
        return "" if trials is None else _more_trials(tasks, trials)
    spread = variance([each.passed / each.total for each in tasks])
    if (trials := _trials(tasks, spread, deciding)) is not None:
        return _more_trials(tasks, trials)
    enough = _smallest(len(tasks), _MOST_TASKS, lambda count: deciding.by(spread, count))
    if enough is None:
        return "the score is too close to the rate asked for; no affordable number decides it"
    return f"about {enough} tasks like these, with as many trials each, would decide it"


def _more_trials(tasks: Sequence[Trials], trials: int) -> str:
    more = sum(max(0, trials - each.total) for each in tasks)
    return f"{trials} trials per task ({more} more simulations) would decide it at this rate"


def _trials(tasks: Sequence[Trials], spread: float, deciding: "_Deciding") -> int | None:
    """How many trials per task would decide it; None if the tasks differ too much for that."""
    model = TaskModel.fitted(tasks)
    if model is None:
        return None
    between = max(0.0, spread - model.noise(tasks, 1))

    def suffices(trials: int) -> bool:
        return deciding.by(between + model.noise(tasks, 1, trials), len(tasks))

    return _smallest(fewest_trials(tasks), MOST_TRIALS, suffices)


@dataclass(frozen=True)
class _Deciding:
    """Whether an interval around ``value`` would no longer hold ``at_least``."""

    value: float
    at_least: float
    level: float

    def by(self, spread: float, tasks: int) -> bool:
        frame = Interval(0.0, 1.0, self.level, OVER_TASKS)
        t = two_sided_t(self.level, tasks - 1)
        return self._excluded(shaped(self.value, spread / tasks, t, frame, tasks))

    def by_trials(self, trials: int) -> bool:
        return self._excluded(wilson(round(self.value * trials), trials, self.level))

    def _excluded(self, interval: Interval) -> bool:
        return interval.high < self.at_least or interval.low >= self.at_least


def _smallest(low: int, most: int, suffices: Callable[[int], bool]) -> int | None:
    """The smallest number above ``low`` that suffices, found by bisection."""
    if not suffices(most):
        return None
    high = most
    while high - low > 1:
        middle = math.ceil((low + high) / 2)
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high
