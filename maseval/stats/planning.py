"""Sample sizes: the power of a comparison, and whether an agent reaches a required pass rate.

A true difference is found with 80% power if it is (t_97.5 + z_80) standard errors away from zero.
The variance of the tasks' differences has two parts: true variation between tasks, which only more
tasks average out, and the noise of the trials, which more trials reduce.

A requirement is one-sided: an agent misses a pass rate if the upper end of its interval lies below
it, and meets it if the lower end does not. In between, more trials or more tasks may decide. Trials
draw the tasks' scores together, as far as they are luck, but cannot stand in for tasks: few of them
leave a width even if all score the same.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, variance
from typing import Literal

from maseval.core.exceptions import ConfigurationError
from maseval.core.recorded import number
from maseval.core.words import count_of, p_is
from maseval.stats.intervals import (
    Interval,
    mean_interval,
    two_sided_t,
    two_sided_z,
    weighted_interval,
)
from maseval.stats.result import Result
from maseval.stats.trial_noise import trial_noise
from maseval.stats.trials import Trials, fewest_trials, mean_over_tasks, pass_hat_k

ALPHA = 0.05
POWER = 0.8

# If more trials of each task, or more tasks, than this are needed, they are not the answer.
MOST_TRIALS = 1_000
MOST_TASKS = 10_000

Decision = Literal["decided", "open", "undecidable"]
"""``undecidable``: with so few tasks, or so few that differ, the test shows nothing at all."""


@dataclass(frozen=True)
class SamplePlan(Result):
    """The sample size that decides a difference as large as the one found; in words, ``advice``.

    ``trials`` per task in each run would do, or ``tasks`` with the present number of trials; None
    where no number would, or none can be computed. ``simulations`` and ``cost`` are those of the
    additional trials in both runs together.
    """

    difference: float
    advice: str
    decision: Decision
    tasks: int | None = None
    trials: int | None = None
    simulations: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Pairs:
    """The trials of the tasks that two runs share, in the same order, and the pass^k compared."""

    first: Sequence[Trials]
    second: Sequence[Trials]
    k: int = 1

    @property
    def differences(self) -> list[float]:
        """Second run - first run, task by task."""
        pairs = zip(self.first, self.second, strict=True)
        return [float(pass_hat_k(*b, self.k) - pass_hat_k(*a, self.k)) for a, b in pairs]

    def noise(self, trials: int | None = None) -> float | None:
        """Return the part of the differences' variance that is trial noise.

        ``trials`` is the number per task, None the present one. None without repeated trials.
        """
        first, second = (trial_noise(each, self.k, trials) for each in (self.first, self.second))
        return None if first is None or second is None else first + second


def reach(level: float, tasks: int | None = None) -> float:
    """Return the number of standard errors from zero at which a difference has 80% power.

    ``tasks`` are those whose scatter the error is found from; None if it is known.
    """
    quantile = two_sided_z(level) if tasks is None else two_sided_t(level, tasks - 1)
    return quantile + NormalDist().inv_cdf(POWER)


def least_half_width(tasks: Sequence[Trials], level: float) -> float | None:
    """Return the half-width on tasks like these that unlimited trials of these would still leave.

    It is that of how the tasks differ; only more tasks make it smaller. None if no task has been
    tried twice, as one trial does not tell a difference of tasks from luck.
    """
    counted = [each for each in tasks if each.total]
    scores = _pass_rates(counted)
    if len(scores) < 2 or (noise := trial_noise(counted, 1)) is None:
        return None
    return mean_interval(_narrowed(scores, variance(scores) - noise), level).half_width


def _narrowed(scores: Sequence[float], spread: float) -> list[float]:
    """Return the scores drawn towards their mean, until their variance is at most ``spread``."""
    mean, now = fmean(scores), variance(scores)
    factor = math.sqrt(min(1.0, max(0.0, spread) / now)) if now else 1.0
    return [mean + factor * (score - mean) for score in scores]


def plan(
    pairs: Pairs,
    p_value: float,
    level: float,
    costs: tuple[float | None, float | None],
    margin: float = 0.0,
) -> SamplePlan:
    """Say whether a difference is decided, and else which trials or tasks would decide it.

    It is decided if the test says so, whose ``p_value`` this is, and its interval lies beyond the
    ``margin``, if there is one. ``costs`` are those of one simulation in each run.
    """
    differences = pairs.differences
    found, count = fmean(differences), len(differences)
    if few := too_few_tasks(count, level, margin):
        return SamplePlan(found, few, "undecidable")
    if abs(found) <= margin:
        seen = "the difference seen is within the margin" if found else "no difference seen"
        return SamplePlan(found, f"{seen}: nothing to plan for", "open")
    span = mean_interval(differences, level, (-1.0, 1.0))
    if p_value <= 1 - level and (not margin or max(span.low, -span.high) > margin):
        present = fewest_trials([*pairs.first, *pairs.second])
        why = f"decided ({p_is(p_value)}): no more trials needed"
        return SamplePlan(found, why, "decided", count, present, 0, 0.0)
    allowed = count * ((abs(found) - margin) / reach(level, count)) ** 2
    tasks = max(count, math.ceil(count * variance(differences) / allowed))
    differing, fewest = sum(map(bool, differences)), fewest_tasks(level)
    if differing < fewest:
        tasks = max(tasks, math.ceil(count * fewest / differing))
        why = (
            f"{differing} of {count_of(count, 'task')} differ, and it takes {fewest} that do to "
            f"decide anything: about {tasks} tasks like these would, or more trials if further "
            "tasks then differ"
        )
        return SamplePlan(found, why, "undecidable", tasks)
    trials = _trials_needed(pairs, variance(differences), allowed)
    if trials is None:
        why = "no number of trials would decide it: these tasks differ too much"
        if pairs.noise() is None:
            enough = count_of(2 * pairs.k, "trial")
            why = f"less than {enough} per task cannot separate luck from skill"
        others = f"about {tasks} tasks like these, with the present number of trials, would"
        return SamplePlan(found, f"{why}; {others} decide it", "open", tasks)
    further = [_missing_trials(run, trials) for run in (pairs.first, pairs.second)]
    advice = (
        f"{trials} trials per task in each run "
        f"({count_of(sum(further), 'more simulation')}) would decide a "
        "difference of this size with 80% power"
    )
    each = [
        None if number and cost is None else number * (cost or 0.0)
        for number, cost in zip(further, costs, strict=True)
    ]
    total = None if None in each else math.fsum(cost or 0.0 for cost in each)
    return SamplePlan(found, advice, "open", tasks, trials, sum(further), total)


def fewest_tasks(level: float, margin: float = 0.0) -> int:
    """Return the smallest number of tasks that show a change of all of them beyond a margin."""
    # If all change the same way, the sign-flip test gives p = 2 / 2**tasks, and the interval ends
    # at 2 * tail ** (1 / tasks) - 1.
    tail = (1 - level) / 2
    return max(2, math.ceil(math.log(tail) / math.log((1 + margin) / 2) - 1e-9))


def too_few_tasks(tasks: int, level: float, margin: float = 0.0) -> str | None:
    """Say that so few tasks show no change at all; None if they can show one."""
    fewest = fewest_tasks(level, margin)
    if tasks >= fewest:
        return None
    return f"{count_of(tasks, 'task')} cannot decide it, whatever comes out: it takes {fewest}"


def _trials_needed(pairs: Pairs, spread: float, allowed: float) -> int | None:
    now = pairs.noise()
    if now is None:
        return None
    real, fewest = max(0.0, spread - now), fewest_trials([*pairs.first, *pairs.second])
    if spread <= allowed:
        return fewest
    # Where there is noise now, there is with any number of trials.
    return smallest_above(fewest, MOST_TRIALS, lambda n: real + (pairs.noise(n) or 0.0) <= allowed)


def smallest_above(low: int, most: int, suffices: Callable[[int], bool]) -> int | None:
    """Find the smallest number above ``low``, and up to ``most``, that suffices, by bisection."""
    if not suffices(most):
        return None
    candidates = range(low + 1, most)
    position = bisect_left(candidates, True, key=suffices)
    return candidates[position] if position < len(candidates) else most


def _missing_trials(tasks: Sequence[Trials], trials: int) -> int:
    return sum(max(0, trials - each.total) for each in tasks)


@dataclass(frozen=True)
class Requirement(Result):
    """The verdict whether pass^1 reaches ``at_least``.

    ``interval`` errs on each side with chance ``alpha``. ``advice`` says what would decide an open
    question; it is empty if the question is decided.
    """

    at_least: float
    alpha: float
    value: float
    interval: Interval
    verdict: Literal["met", "missed", "undecided"]
    advice: str = ""


def requirement(tasks: Sequence[Trials], at_least: float, alpha: float = ALPHA) -> Requirement:
    """Compare pass^1 of ``tasks`` with ``at_least``.

    Tasks are what varies; if there is only one, its trials are. ``at_least`` 1 asks that every
    trial passes.
    """
    check_at_least(at_least)
    check_alpha(alpha)
    counted = [each for each in tasks if each.total]
    if not counted:
        raise ConfigurationError("no task has a trial that counts, so there is no pass rate")
    level = 1 - 2 * alpha
    value = mean_over_tasks(counted, 1)
    interval = mean_interval(_units(counted), level)
    if at_least == 1:  # not a question of chance: a single failure refutes it, and nothing else
        return Requirement(at_least, alpha, value, interval, "met" if value == 1 else "missed")
    if interval.high < at_least or interval.low >= at_least:
        verdict: Literal["met", "missed"] = "missed" if interval.high < at_least else "met"
        return Requirement(at_least, alpha, value, interval, verdict)
    advice = _advice(counted, at_least, level)
    return Requirement(at_least, alpha, value, interval, "undecided", advice)


def check_at_least(at_least: object) -> None:
    """Raise unless ``at_least`` is a pass rate."""
    share = number(at_least)
    if share is None or not 0 <= share <= 1:
        raise ConfigurationError(f"at_least is {at_least!r}; give a share from 0 to 1, like 0.8")


def check_alpha(alpha: object) -> None:
    """Raise unless ``alpha`` is a one-sided chance of error."""
    chance = number(alpha)
    if chance is None or not 0 < chance < 0.5:
        raise ConfigurationError(f"alpha is {alpha!r}; give a chance below 0.5, like {ALPHA}")


def _pass_rates(tasks: Sequence[Trials]) -> list[float]:
    return [each.passed / each.total for each in tasks]


def _units(tasks: Sequence[Trials]) -> list[float]:
    """Return the scores of what varies: tasks, or the trials of a single one."""
    if len(tasks) > 1:
        return _pass_rates(tasks)
    ((total, passed),) = tasks
    return [1.0] * passed + [0.0] * (total - passed)


def _advice(tasks: Sequence[Trials], at_least: float, level: float) -> str:
    """Say from which number of trials or tasks on an interval like this excludes ``at_least``."""
    scores = _units(tasks)

    def is_decided(scores: Sequence[float], number: int) -> bool:
        share = number / len(scores)
        counts = {score: share * count for score, count in Counter(scores).items()}
        interval = weighted_interval(counts, level)
        return interval.high < at_least or interval.low >= at_least

    if fmean(scores) == at_least:
        return "the score is exactly the rate asked for, which no number of trials can decide"
    if len(tasks) > 1 and (now := trial_noise(tasks, 1)) is not None:
        between = max(0.0, variance(scores) - now)

        def suffices(trials: int) -> bool:
            spread = between + (trial_noise(tasks, 1, trials) or 0.0)
            return is_decided(_narrowed(scores, spread), len(scores))

        trials = smallest_above(fewest_trials(tasks), MOST_TRIALS, suffices)
        if trials is not None:
            return _more_trials_advice(tasks, trials)
    enough = smallest_above(len(scores), MOST_TASKS, lambda number: is_decided(scores, number))
    if enough is None:
        return "the score is too close to the rate asked for; no affordable number decides it"
    if len(tasks) == 1:
        return _more_trials_advice(tasks, enough)
    return f"about {enough} tasks like these, with as many trials each, would decide it"


def _more_trials_advice(tasks: Sequence[Trials], trials: int) -> str:
    more = _missing_trials(tasks, trials)
    return (
        f"{count_of(trials, 'trial')} per task ({count_of(more, 'more simulation')}) would "
        "decide it at this rate"
    )
