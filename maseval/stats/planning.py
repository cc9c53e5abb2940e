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
from typing import Literal, NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.recorded import number
from maseval.core.words import count_of, p_is
from maseval.stats.clusters import PairedScores, Places, independent_tasks, mean_of, pool
from maseval.stats.intervals import (
    Interval,
    cluster_interval,
    mean_interval,
    two_sided_t,
    two_sided_z,
    weighted_interval,
)
from maseval.stats.result import Result
from maseval.stats.trial_noise import trial_noise
from maseval.stats.trials import Trials, fewest_trials, pass_hat_k

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
    """The trials of the tasks that two runs share, in the same order, and the pass^k compared.

    With the places of the tasks of each run, these are paired by cluster and may be others.
    """

    first: Sequence[Trials]
    second: Sequence[Trials]
    k: int = 1
    first_places: Places | None = None
    second_places: Places | None = None

    @property
    def by_cluster(self) -> PairedScores | None:
        """The scores of each cluster; None if each task is one of its own."""
        if self.first_places is None or self.second_places is None:
            return None
        sides = (self.first, self.first_places), (self.second, self.second_places)
        return PairedScores(
            *(pool((pass_hat_k(*each, self.k) for each in tasks), at) for tasks, at in sides)
        )

    @property
    def unit(self) -> str:
        """The unit that is drawn, and of which more are needed: tasks or clusters."""
        return "task" if self.first_places is None else "cluster"

    @property
    def differences(self) -> list[float]:
        """Second run - first run, task by task; of clusters, as if all weighed the same."""
        if (clusters := self.by_cluster) is not None:
            return clusters.spread_out()
        pairs = zip(self.first, self.second, strict=True)
        return [float(pass_hat_k(*b, self.k) - pass_hat_k(*a, self.k)) for a, b in pairs]

    def interval(self, level: float) -> Interval:
        if (clusters := self.by_cluster) is not None:
            return clusters.interval(level)
        return mean_interval(self.differences, level, (-1.0, 1.0))

    @property
    def differing(self) -> int:
        """The number of tasks, or clusters, that differ."""
        clusters = self.by_cluster
        return sum(map(bool, self.differences if clusters is None else clusters.differences))

    def noise(self, trials: int | None = None) -> float | None:
        """Return the part of the differences' variance that is trial noise.

        ``trials`` is the number per task, None the present one. None without repeated trials.
        """
        sides = (self.first, self.first_places), (self.second, self.second_places)
        parts = [noise_of_clusters(tasks, self.k, trials, places) for tasks, places in sides]
        return None if None in parts else math.fsum(part or 0.0 for part in parts)


def noise_of_clusters(
    tasks: Sequence[Trials], k: int, trials: int | None, places: Places | None
) -> float | None:
    """Return the trial noise of one cluster of average size, whose tasks' luck evens out."""
    if places is None:
        return trial_noise(tasks, k, trials)
    weights = [place.weight for place in places]
    noise = trial_noise(tasks, k, trials, weights)
    clusters = len({place.cluster for place in places})
    return None if noise is None else noise * clusters / independent_tasks(weights)


def reach(level: float, tasks: int | None = None) -> float:
    """Return the number of standard errors from zero at which a difference has 80% power.

    ``tasks`` are those whose scatter the error is found from; None if it is known.
    """
    quantile = two_sided_z(level) if tasks is None else two_sided_t(level, tasks - 1)
    return quantile + NormalDist().inv_cdf(POWER)


class Draws(NamedTuple):
    """The scores of what varies, each with its weight: tasks, clusters, or one task's trials."""

    scores: Sequence[float]
    weights: Sequence[float] | None = None

    @classmethod
    def of(cls, tasks: Sequence[Trials], places: Places | None) -> "Draws":
        if len(tasks) == 1:
            ((total, passed),) = tasks
            return cls([1.0] * passed + [0.0] * (total - passed))
        rates = [each.passed / each.total for each in tasks]
        if places is None:
            return cls(rates)
        clusters = pool(rates, places).values()
        return cls(*zip(*((float(e.score), float(e.weight)) for e in clusters), strict=True))

    @property
    def mean(self) -> float:
        return fmean(self.scores, self.weights)

    @property
    def variance(self) -> float:
        """The variance of one draw, as if all weighed the same."""
        if self.weights is None:
            return variance(self.scores)
        scale, mean = len(self.scores) / math.fsum(self.weights), self.mean
        pairs = zip(self.weights, self.scores, strict=True)
        return variance([scale * weight * (score - mean) for weight, score in pairs], 0.0)

    def narrowed(self, spread: float) -> "Draws":
        """Return the scores drawn to their mean, until their variance is at most ``spread``."""
        mean, now = self.mean, self.variance
        factor = math.sqrt(min(1.0, max(0.0, spread) / now)) if now else 1.0
        return self._replace(scores=[mean + factor * (score - mean) for score in self.scores])

    def interval(self, level: float, number: float | None = None) -> Interval:
        """Return the interval of so many draws like these, by default of as many."""
        share = 1.0 if number is None else number / len(self.scores)
        if self.weights is None:
            counts = {score: share * count for score, count in Counter(self.scores).items()}
            return weighted_interval(counts, level)
        pairs = Counter(zip(self.scores, self.weights, strict=True))
        return cluster_interval({pair: share * count for pair, count in pairs.items()}, level)


def least_half_width(
    tasks: Sequence[Trials], level: float, places: Places | None = None
) -> float | None:
    """Return the half-width on tasks like these that unlimited trials of these would still leave.

    It is that of how the tasks differ; only more tasks make it smaller. None if no task has been
    tried twice, as one trial does not tell a difference of tasks from luck.
    """
    counted, places = with_trials(tasks, places)
    draws = Draws.of(counted, places) if len(counted) > 1 else Draws([])
    if len(draws.scores) < 2 or (noise := noise_of_clusters(counted, 1, None, places)) is None:
        return None
    return draws.narrowed(draws.variance - noise).interval(level).half_width


def with_trials(
    tasks: Sequence[Trials], places: Places | None
) -> tuple[list[Trials], Places | None]:
    """Leave out the tasks without a trial that counts."""
    if places is not None:
        places = [place for each, place in zip(tasks, places, strict=True) if each.total]
    return [each for each in tasks if each.total], places


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
    unit = pairs.unit
    if few := too_few_tasks(count, level, margin, unit):
        return SamplePlan(found, few, "undecidable")
    # Power is for a difference as large as the one seen; none, or a negligible one, needs no plan.
    if abs(found) <= margin:
        seen = "the difference seen is within the margin" if found else "no difference seen"
        return SamplePlan(found, f"{seen}: nothing to plan for", "open")
    span = pairs.interval(level)
    if p_value <= 1 - level and (not margin or max(span.low, -span.high) > margin):
        present = fewest_trials([*pairs.first, *pairs.second])
        why = f"decided ({p_is(p_value)}): no more trials needed"
        return SamplePlan(found, why, "decided", count, present, 0, 0.0)
    allowed = count * ((abs(found) - margin) / reach(level, count)) ** 2
    tasks = max(count, math.ceil(count * variance(differences) / allowed))
    differing, fewest = pairs.differing, fewest_tasks(level)
    # However large they are, so few differences have a p-value above the level.
    if differing < fewest:
        tasks = max(tasks, math.ceil(count * fewest / differing))
        why = (
            f"{differing} of {count_of(count, unit)} differ; at least {fewest} must differ: run "
            f"about {tasks} {unit}s like these, or more trials if further {unit}s then differ"
        )
        return SamplePlan(found, why, "undecidable", tasks)
    trials = _trials_needed(pairs, variance(differences), allowed)
    if trials is None:
        why = f"no number of trials would decide it: these {unit}s differ too much"
        if pairs.noise() is None:
            enough = count_of(2 * pairs.k, "trial")
            why = f"less than {enough} per task cannot separate luck from skill"
        others = f"about {tasks} {unit}s like these, with the present number of trials, would"
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


def too_few_tasks(tasks: int, level: float, margin: float = 0.0, unit: str = "task") -> str | None:
    """Say that so few tasks show no change at all; None if they can show one."""
    fewest = fewest_tasks(level, margin)
    if tasks >= fewest:
        return None
    return f"{count_of(tasks, unit)} can never decide it, as at least {fewest} are needed"


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


def requirement(
    tasks: Sequence[Trials],
    at_least: float,
    alpha: float = ALPHA,
    places: Places | None = None,
) -> Requirement:
    """Compare pass^1 of ``tasks`` with ``at_least``.

    Tasks are what varies, or their clusters; if there is only one task, its trials are.
    ``at_least`` 1 asks that every trial passes.
    """
    check_at_least(at_least)
    check_alpha(alpha)
    counted, places = with_trials(tasks, places)
    if not counted:
        raise ConfigurationError("no task has a trial that counts, so there is no pass rate")
    # Each end errs with this chance, and the interval with both.
    level = 1 - 2 * alpha
    draws = Draws.of(counted, places)
    value = mean_of([each.passed / each.total for each in counted], places)
    interval = draws.interval(level)
    if at_least == 1:  # not a question of chance: a single failure refutes it, and nothing else
        return Requirement(at_least, alpha, value, interval, "met" if value == 1 else "missed")
    if interval.high < at_least or interval.low >= at_least:
        verdict: Literal["met", "missed"] = "missed" if interval.high < at_least else "met"
        return Requirement(at_least, alpha, value, interval, verdict)
    advice = _advice(counted, places, draws, at_least, level)
    return Requirement(at_least, alpha, value, interval, "undecided", advice)


def check_at_least(at_least: object) -> None:
    share = number(at_least)
    if share is None or not 0 <= share <= 1:
        raise ConfigurationError(f"at_least is {at_least!r}; give a share from 0 to 1, like 0.8")


def check_alpha(alpha: object) -> None:
    chance = number(alpha)
    if chance is None or not 0 < chance < 0.5:
        raise ConfigurationError(f"alpha is {alpha!r}; give a chance below 0.5, like {ALPHA}")


def _advice(
    tasks: Sequence[Trials], places: Places | None, draws: Draws, at_least: float, level: float
) -> str:
    """Say from which number of trials or tasks on an interval like this excludes ``at_least``."""

    def is_decided(draws: Draws, number: float | None = None) -> bool:
        interval = draws.interval(level, number)
        return interval.high < at_least or interval.low >= at_least

    if draws.mean == at_least:
        return "the score is exactly the rate asked for, which no number of trials can decide"
    # Of a single task the trials are what varies, so more of them are simply more draws.
    several = len(tasks) > 1 and len(draws.scores) > 1
    if several and (now := noise_of_clusters(tasks, 1, None, places)) is not None:
        between = max(0.0, draws.variance - now)

        def suffices(trials: int) -> bool:
            luck = noise_of_clusters(tasks, 1, trials, places) or 0.0
            return is_decided(draws.narrowed(between + luck))

        trials = smallest_above(fewest_trials(tasks), MOST_TRIALS, suffices)
        if trials is not None:
            return _more_trials_advice(tasks, trials)
    enough = smallest_above(len(draws.scores), MOST_TASKS, lambda n: is_decided(draws, n))
    if enough is None:
        return "the score is too close to the rate asked for; no affordable number decides it"
    if len(tasks) == 1:
        return _more_trials_advice(tasks, enough)
    unit = "tasks" if places is None else "clusters"
    return f"about {enough} {unit} like these, with as many trials each, would decide it"


def _more_trials_advice(tasks: Sequence[Trials], trials: int) -> str:
    more = _missing_trials(tasks, trials)
    return (
        f"{count_of(trials, 'trial')} per task ({count_of(more, 'more simulation')}) would "
        "decide it at this rate"
    )
