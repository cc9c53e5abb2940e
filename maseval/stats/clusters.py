"""Clusters of tasks: the mean is over cases, but what it can be sure of is counted in clusters.

Cases of one user task, document or customer succeed and fail together. Counted as independent, they
make intervals too narrow and p-values too small: 20 lost cases of 4 user tasks are 4 pieces of
evidence. So the value is the weighted mean over all tasks, and everything that says how sure it is
takes a cluster as one draw, with the mean of its tasks and their weight together (a ratio estimate:
Cochran, Sampling Techniques, 1977, chapter 9). Where every task is a cluster of its own and weighs
the same, all of it is the mean over tasks.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import starmap
from statistics import fmean
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, Place, TaskKey
from maseval.stats.intervals import (
    LEVEL,
    Interval,
    cluster_interval,
    mean_interval,
    two_sided_t,
)
from maseval.stats.trials import Trials, by_task

Places = Sequence[Place]

STUDENT = "Student's t over clusters"

# Weights such as 1/9 are written in decimals: the fraction that was meant keeps tests exact.
_LARGEST_DENOMINATOR = 1_000_000
_ROUNDING = 1e-9


def places_of(outcomes: Iterable[Outcome]) -> dict[TaskKey, Place]:
    """Return the place of each task; empty if all are alike and clusters of their own.

    Raise ConfigurationError if trials of a task name different ones; one that names none, as of an
    earlier run, has that of the others.
    """
    run = list(outcomes)
    special = [each for each in run if each.cluster is not None or each.weight != 1]
    named: dict[TaskKey, Place] = {}
    for each in special:
        key = each.key
        if named.setdefault(key, each.place) != each.place:
            one, other = named[key], each.place
            raise ConfigurationError(
                f"the trials of task {str(key)!r} name different clusters or weights "
                f"({one.cluster}, {one.weight:g} and {other.cluster}, {other.weight:g}); give "
                "each task one of either"
            )
    keys = dict.fromkeys(each.key for each in run) if named else {}
    return {key: named.get(key) or Place(key) for key in keys}


def counted_tasks(outcomes: Iterable[Outcome]) -> tuple[list[Trials], Places | None]:
    """Return the trials of each task, and its place; None if all are alike."""
    run = list(outcomes)
    tasks = by_task(run)
    return [*tasks.values()], in_order(places_of(run), tasks)


def in_order(places: Mapping[TaskKey, Place], keys: Iterable[TaskKey]) -> tuple[Place, ...] | None:
    """Return the places of these tasks; None if all are alike and clusters of their own."""
    return tuple(places[key] for key in keys) if places else None


class Pooled(NamedTuple):
    """The tasks of one cluster: their mean score, and their weight together."""

    score: Fraction
    weight: Fraction


def pool(scores: Iterable[Fraction | float], places: Places) -> dict[TaskKey, Pooled]:
    """Put the scores of tasks together by cluster."""
    sums: dict[TaskKey, Fraction] = {}
    weights: dict[TaskKey, Fraction] = {}
    for score, (cluster, weight) in zip(scores, places, strict=True):
        exact = _exact(weight)
        sums[cluster] = sums.get(cluster, Fraction(0)) + exact * Fraction(score)
        weights[cluster] = weights.get(cluster, Fraction(0)) + exact
    return {name: Pooled(sums[name] / weights[name], weights[name]) for name in sums}


class PairedScores:
    """The scores of two runs, cluster by cluster, in the order of the first.

    Where the runs have different tasks of a cluster, it weighs as much as in the run that has more
    of it, on both sides: what is left out of a mix would otherwise count as a difference.
    """

    def __init__(self, first: Mapping[TaskKey, Pooled], second: Mapping[TaskKey, Pooled]) -> None:
        both = [(first[name], second[name]) for name in first if name in second]
        # The runs may have different numbers of tasks in a cluster; the larger number sets its
        # weight.
        weights = [max(a.weight, b.weight) for a, b in both]
        whole = sum(weights)
        self.shares = [weight / whole for weight in weights]
        self.differences = [b.score - a.score for a, b in both]
        self.parts = [share * d for share, d in zip(self.shares, self.differences, strict=True)]
        self.means = tuple(
            float(
                sum(share * pair[at].score for share, pair in zip(self.shares, both, strict=True))
            )
            for at in (0, 1)
        )
        """The mean of either run."""

    @property
    def difference(self) -> float:
        """Second - first."""
        return float(sum(self.parts))

    def interval(self, level: float) -> Interval:
        pairs = zip(self.differences, self.shares, strict=True)
        return cluster_interval(weighed(starmap(Pooled, pairs)), level, (-1.0, 1.0))

    def spread_out(self) -> list[float]:
        """Return values of equal weight with the mean and the variance of the difference."""
        mean, number = sum(self.parts), len(self.parts)
        pairs = zip(self.shares, self.differences, strict=True)
        return [float(mean + number * share * (each - mean)) for share, each in pairs]

    def student_interval(self) -> Interval | None:
        """Return the interval of a difference without bounds, as that of a quantity."""
        return student_interval([*map(Pooled, self.differences, self.shares)])


def _exact(weight: float) -> Fraction:
    near = Fraction(weight).limit_denominator(_LARGEST_DENOMINATOR)
    # Such a small weight would become 0, and its tasks would not count.
    return near or Fraction(weight)


def mean_of(scores: Sequence[float], places: Places | None) -> float:
    """Return the mean over tasks, by their weights."""
    if places is None:
        return fmean(scores)
    return fmean(scores, [place.weight for place in places])


def interval_over(
    scores: Sequence[float],
    places: Places | None,
    level: float = LEVEL,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """Return the interval for the mean over tasks like these, of clusters like these."""
    if places is None:
        return mean_interval(scores, level, bounds)
    return cluster_interval(weighed(pool(scores, places).values()), level, bounds)


def weighed(clusters: Iterable[Pooled]) -> Counter[tuple[float, float]]:
    """Return how many clusters have each score and weight."""
    return Counter((float(each.score), float(each.weight)) for each in clusters)


def student_interval(
    clusters: Collection[Pooled], level: float = LEVEL, method: str = STUDENT
) -> Interval | None:
    """Return Student's interval for the mean of values without bounds.

    None where the clusters weigh less than two equal ones, which say nothing of others.
    """
    whole = math.fsum(float(each.weight) for each in clusters)
    shares = [float(each.weight) / whole for each in clusters]
    number = independent_tasks(shares)
    # A single cluster, or one that dominates the others, does not show how clusters vary.
    if number < 2 - _ROUNDING:
        return None
    scores = [float(each.score) for each in clusters]
    mean = math.fsum(share * score for share, score in zip(shares, scores, strict=True))
    # A heavy cluster pulls the mean to itself, so that its own deviation is too small by the share
    # of its weight (MacKinnon & White 1985, HC2). Of equal weights it is the usual variance.
    variance = math.fsum(
        (share * (score - mean)) ** 2 / (1 - share)
        for share, score in zip(shares, scores, strict=True)
    )
    # Rounding must not leave less than one degree of freedom.
    half = two_sided_t(level, max(1.0, number - 1)) * math.sqrt(variance)
    return Interval(mean - half, mean + half, level, method)


def independent_tasks(weights: Sequence[float]) -> float:
    """Return the number of tasks of equal weight whose mean has the variance of this one.

    Source: Kish, Survey Sampling, 1965.
    """
    return math.fsum(weights) ** 2 / math.fsum(weight * weight for weight in weights)
