"""Measures of reliability, each as one value per task, so that every interval is clustered by task.

Where tasks are of clusters, the mean is by their weights and the interval over clusters.

The published definitions are those of Rabanser et al. 2026, arXiv:2602.16666. Where ours differs,
the docstring says why; ``published_...`` computes theirs, so that numbers can be compared.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, pstdev, stdev
from typing import Generic, NamedTuple, TypeVar

from maseval.core.outcome import Place, TaskKey
from maseval.stats.clusters import (
    STUDENT,
    Places,
    interval_over,
    mean_of,
    pool,
    student_interval,
)
from maseval.stats.intervals import LEVEL, OVER_TASKS, Interval

KeyT = TypeVar("KeyT", bound=Hashable)
BINS = 10


class Forecast(NamedTuple):
    """A stated confidence from 0 to 1, and whether the simulation passed."""

    confidence: float
    passed: bool


@dataclass(frozen=True)
class TaskValues(Generic[KeyT]):
    """A measure as the mean over tasks of one value each.

    ``bounds`` are those of a single value, None if it has none: then the interval is Student's.
    ``limits`` are those of the true value, which no interval leaves but to hold the estimate.
    ``places`` are those of the tasks; None if each is a cluster of its own.
    """

    values: Mapping[KeyT, float]
    bounds: tuple[float, float] | None = (0.0, 1.0)
    limits: tuple[float, float] = (0.0, 1.0)
    places: Mapping[KeyT, Place] | None = None

    @property
    def _in_order(self) -> Places | None:
        return [self.places[key] for key in self.values] if self.places else None

    @property
    def mean(self) -> float | None:
        return mean_of([*self.values.values()], self._in_order) if self.values else None

    def interval(self, level: float = LEVEL) -> Interval | None:
        """Return the interval for tasks like these; None if they are too few to have one."""
        values = [*self.values.values()]
        if not values:
            return None
        places, mean = self._in_order, mean_of(values, self._in_order)
        if self.bounds is not None:
            found = interval_over(values, places, level, self.bounds)
        elif len(set(values)) > 1 and (student := self._student(values, places, level)):
            found = student
        else:
            return None
        least, most = self.limits
        low, high = max(found.low, min(least, mean)), min(found.high, most)
        return Interval(low, high, found.level, found.method)

    @staticmethod
    def _student(values: Sequence[float], places: Places | None, level: float) -> Interval | None:
        own = [Place(TaskKey("", str(number))) for number in range(len(values))]
        clusters = pool(values, places or own).values()
        return student_interval(clusters, level, STUDENT if places else OVER_TASKS)

    def minus(self, other: "TaskValues[KeyT]") -> "TaskValues[KeyT]":
        """Return the differences on the tasks that both have: paired, task by task."""
        shared = {
            key: each - other.values[key]
            for key, each in self.values.items()
            if key in other.values
        }
        bounds = None
        if self.bounds is not None and other.bounds is not None:
            bounds = (self.bounds[0] - other.bounds[1], self.bounds[1] - other.bounds[0])
        limits = (self.limits[0] - other.limits[1], self.limits[1] - other.limits[0])
        return TaskValues(shared, bounds, limits, self.places or other.places)


# Consistency: the trials of a task, compared with each other.


def outcome_consistency(trials: Mapping[KeyT, Sequence[bool]]) -> TaskValues[KeyT]:
    """Return the agreement of the trials of a task: 1 if all end alike, 0 if it is a coin.

    The published (2p - 1)^2 is too high for few trials, by 4 q (1 - q) / K. This is unbiased, so a
    task may be below 0.
    """
    several = {key: each for key, each in trials.items() if len(each) > 1}
    fewest = min(map(len, several.values()), default=2)
    found = {
        key: 1 - 4 * len(each) / (len(each) - 1) * fmean(each) * (1 - fmean(each))
        for key, each in several.items()
    }
    # Least where half of the trials pass: -1 / (K - 1), and -1 / K for an odd number K of trials.
    return TaskValues(found, (-1 / (fewest - 1 + fewest % 2), 1.0))


def published_outcome_consistency(trials: Mapping[KeyT, Sequence[bool]]) -> float | None:
    return TaskValues(
        {key: (2 * fmean(each) - 1) ** 2 for key, each in trials.items() if each}
    ).mean


def tools_alike(one: Sequence[str], other: Sequence[str]) -> float:
    """Return 1 - the Jensen-Shannon divergence of the tools used, in bits."""
    # Without a call there are no shares to compare.
    if not one or not other:
        return float(not one and not other)
    shares = [Counter(one), Counter(other)]
    divergence = 0.0
    for name in {*one, *other}:
        each = [share[name] / share.total() for share in shares]
        divergence += sum(p * math.log2(p / fmean(each)) for p in each if p) / 2
    return min(1.0, max(0.0, 1 - divergence))


def order_alike(one: Sequence[str], other: Sequence[str]) -> float:
    """Return 1 - the Levenshtein distance of two sequences over the longer one's length."""
    if not one and not other:
        return 1.0
    row = list(range(len(other) + 1))
    for number, mine in enumerate(one, 1):
        before, row[0] = row[0], number
        for at, theirs in enumerate(other, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (mine != theirs))
    return 1 - row[-1] / max(len(one), len(other))


def pairwise(
    trials: Mapping[KeyT, Sequence[Sequence[str]]],
    alike: Callable[[Sequence[str], Sequence[str]], float],
) -> TaskValues[KeyT]:
    """Return the mean over all pairs of trials of each task that has two."""
    return TaskValues(
        {
            key: fmean(alike(*pair) for pair in combinations(each, 2))
            for key, each in trials.items()
            if len(each) > 1
        }
    )


def resource_consistency(
    trials: Mapping[KeyT, Sequence[Sequence[float]]], *, published: bool = False
) -> TaskValues[KeyT]:
    """Return exp(-CV) over the trials of a task, mean over the resources of which each has some.

    ``published`` takes the standard deviation of the trials themselves, which is too small for few.
    """
    spread = pstdev if published else stdev
    found = {}
    for key, each in trials.items():
        # Where nobody knows the cost, or no tool is called, there is nothing to vary.
        used = [amounts for amounts in zip(*each, strict=True) if fmean(amounts) > 0]
        if len(each) > 1 and used:
            found[key] = fmean(math.exp(-spread(amounts) / fmean(amounts)) for amounts in used)
    return TaskValues(found)


# Predictability: what the system said of itself, against the verdicts.


def brier_score(trials: Mapping[KeyT, Sequence[Forecast]]) -> TaskValues[KeyT]:
    """Return 1 - the mean squared distance of confidence and outcome."""
    return TaskValues(
        {
            key: 1 - fmean((each.confidence - each.passed) ** 2 for each in some)
            for key, some in trials.items()
            if some
        }
    )


class BrierParts(NamedTuple):
    """Murphy's decomposition (1973) over bins: Brier = calibration - resolution + uncertainty.

    ``within`` is what is left over, because confidences differ within a bin.
    """

    calibration: float
    resolution: float
    uncertainty: float
    within: float


def brier_parts(forecasts: Sequence[Forecast]) -> BrierParts:
    """Split the Brier score of forecasts, over bins of equal counts."""
    rate, total = fmean(each.passed for each in forecasts), len(forecasts)
    bins = equal_counts(forecasts)
    means = [
        (len(b) / total, fmean(e.confidence for e in b), fmean(e.passed for e in b)) for b in bins
    ]
    calibration = sum(weight * (said - passed) ** 2 for weight, said, passed in means)
    resolution = sum(weight * (passed - rate) ** 2 for weight, _, passed in means)
    uncertainty = rate * (1 - rate)
    brier = fmean((each.confidence - each.passed) ** 2 for each in forecasts)
    return BrierParts(
        calibration, resolution, uncertainty, brier - calibration + resolution - uncertainty
    )


def equal_counts(forecasts: Sequence[Forecast], bins: int = BINS) -> list[list[Forecast]]:
    """Put forecasts into bins of about equal counts; equal confidences stay together."""
    every = sorted(forecasts)
    found: list[list[Forecast]] = [[]]
    for number, each in enumerate(every):
        is_full = number >= len(every) * len(found) / bins
        if found[-1] and is_full and found[-1][-1].confidence != each.confidence:
            found.append([])
        found[-1].append(each)
    return found


def overconfidence(trials: Mapping[KeyT, Sequence[Forecast]]) -> TaskValues[KeyT]:
    """Return the mean confidence less the pass rate.

    The published calibration error is too high for few trials, and no interval for it covers a
    system that is calibrated. This is unbiased; ``brier_parts`` has what it cannot see, errors that
    cancel.
    """
    found = {
        key: fmean(each.confidence - each.passed for each in some)
        for key, some in trials.items()
        if some
    }
    return TaskValues(found, (-1.0, 1.0), (-1.0, 1.0))


def published_calibration(forecasts: Sequence[Forecast]) -> float | None:
    """Return 1 - the mean distance of confidence and pass rate, over ten bins of equal widths."""
    bins: dict[int, list[Forecast]] = {}
    for each in forecasts:
        bins.setdefault(min(int(each.confidence * BINS), BINS - 1), []).append(each)
    gaps = (abs(math.fsum(e.confidence - e.passed for e in some)) for some in bins.values())
    return 1 - math.fsum(gaps) / len(forecasts) if forecasts else None


def discrimination(forecasts: Sequence[Forecast]) -> float | None:
    """Return the chance that a pass has more confidence than a failure; ties count half (AUROC)."""
    passed = Counter(each.confidence for each in forecasts if each.passed)
    failed = Counter(each.confidence for each in forecasts if not each.passed)
    if not passed or not failed:
        return None
    below = wins = 0.0
    for confidence in sorted({*passed, *failed}):
        wins += passed[confidence] * (below + failed[confidence] / 2)
        below += failed[confidence]
    return wins / (passed.total() * failed.total())


def jackknife(
    trials: Mapping[KeyT, Sequence[Forecast]],
    measure: Callable[[Sequence[Forecast]], float | None],
) -> TaskValues[KeyT]:
    """Return each task's part in a measure that is no mean over tasks (after Tukey 1958).

    The parts differ as the measure without each task does, and their mean is the measure itself:
    Tukey's own, with less bias, may lie beyond 1.
    """
    every = [each for some in trials.values() for each in some]
    whole = measure(every)
    if whole is None:
        return TaskValues({}, None)
    without = {}
    for key in trials:
        rest = measure([each for other, some in trials.items() if other != key for each in some])
        without[key] = whole if rest is None else rest
    center, others = fmean(without.values()), len(trials) - 1
    return TaskValues({k: whole + others * (center - rest) for k, rest in without.items()}, None)
