"""Contrasts between the cells of a grid: the value, its interval and its test.

Each task has a part in a contrast, and the contrast is the sum of all parts. Paired tasks are one
sample, tested by flipping signs, with the interval over tasks like these (``intervals``). Several
samples (domains, or the levels of a factor that have different tasks) are independent: their
intervals are combined by the distances of their ends (Zou & Donner 2008). Where the two sides have
different tasks the test is Welch's (1947), with an imagined task at either bound in each sample, as
Agresti & Caffo (2000) have it for shares.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations, product
from statistics import fmean, variance

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, Place, TaskKey
from maseval.stats.clusters import Pooled, places_of, pool, weighed
from maseval.stats.comparison import check_k, connected
from maseval.stats.intervals import OVER_TASKS, Interval, cluster_interval, mean_interval, student_p
from maseval.stats.sign_flip import cluster_flip_test, sign_flip_test
from maseval.stats.trials import by_task, fewest_trials, pass_hat_k

UNPAIRED = "Welch's test: the levels have different tasks"

Levels = tuple[str, ...]
"""One level of each factor, in the order of the factors."""


class Sample:
    """Tasks of one kind: each one's part in a contrast, between two bounds; their sum counts."""

    def __init__(self, parts: Sequence[Fraction], low: Fraction, high: Fraction) -> None:
        self.parts, self.bounds = parts, (float(low), float(high))
        self.sum = float(sum(parts))
        self._values = [float(each) for each in parts]

    def interval(self, level: float) -> Interval:
        n, (low, high) = len(self._values), self.bounds
        # The contrast is the sum of the parts, and so the mean of n times each part.
        return mean_interval([n * each for each in self._values], level, (n * low, n * high))

    def variance(self, imagined: bool = False) -> float | None:
        """Return the variance of the sum; None for a single task."""
        values = [*self._values, *(self.bounds if imagined else ())]
        # A sum of n values is n times their mean, whose variance is that of one over their number.
        scale = len(self._values) ** 2 / len(values)
        return scale * variance(values) if len(values) > 1 else None


class ClusterSample(Sample):
    """Clusters of one kind, each with its share of the sum; its score lies between two bounds."""

    def __init__(
        self, parts: Sequence[Fraction], shares: Sequence[Fraction], low: int, high: int
    ) -> None:
        whole = sum(shares, Fraction(0))
        unit = whole / len(parts)
        super().__init__(parts, unit * low, unit * high)
        scores = [part / share for part, share in zip(parts, shares, strict=True)]
        self._clusters, self._whole = weighed(map(Pooled, scores, shares)), float(whole)
        self._limits = float(low), float(high)
        mean, pairs = sum(parts) / whole, zip(shares, scores, strict=True)
        # Values of equal weight with the variance of the sum: that of a ratio estimate.
        self._values = [float(unit * mean + share * (each - mean)) for share, each in pairs]

    def interval(self, level: float) -> Interval:
        found = cluster_interval(self._clusters, level, self._limits)
        return replace(found, low=self._whole * found.low, high=self._whole * found.high)


@dataclass(frozen=True)
class SampleSum:
    """A contrast as the sum of its samples, of which one is enough if all is paired."""

    samples: list[Sample]
    combinations: int
    paired: bool

    @property
    def value(self) -> float:
        return math.fsum(each.sum for each in self.samples)

    @property
    def tasks(self) -> int:
        return sum(len(each.parts) for each in self.samples)

    def interval(self, level: float) -> Interval:
        spans = [(each.sum, each.interval(level)) for each in self.samples]
        # Distances to the ends of independent intervals add like standard errors (Zou & Donner
        # 2008).
        down = math.hypot(*(value - span.low for value, span in spans))
        up = math.hypot(*(span.high - value for value, span in spans))
        lowest, highest = (
            math.fsum(len(e.parts) * e.bounds[i] for e in self.samples) for i in (0, 1)
        )
        return Interval(
            max(lowest, self.value - down), min(highest, self.value + up), level, OVER_TASKS
        )

    @property
    def variance(self) -> float | None:
        found = [each.variance() for each in self.samples]
        return None if None in found else math.fsum(each or 0.0 for each in found)

    def test(self) -> tuple[float, str]:
        if self.paired:
            parts = [part for each in self.samples for part in each.parts]
            clustered = any(isinstance(each, ClusterSample) for each in self.samples)
            found = (cluster_flip_test if clustered else sign_flip_test)(parts)
            return found.p_value, found.method
        # An imagined task at either bound pulls each sum to the middle, and adds to its variance.
        value = spread = below = 0.0
        for each in self.samples:
            n, own = len(each.parts), each.variance(imagined=True) or 0.0
            value += (each.sum + sum(each.bounds)) * n / (n + 2)
            spread += own
            below += own * own / (n + 1)
        # Degrees of freedom after Welch; a sample of n tasks has two imagined ones, so n + 1.
        return student_p(value / math.sqrt(spread), spread * spread / below), UNPAIRED


class Grid:
    """The cells by their levels, with the scores of their tasks as whole numbers over ``scale``."""

    def __init__(self, cells: Sequence[tuple[dict[str, str], list[Outcome]]], k: int) -> None:
        self.k, self.names = k, [*cells[0][0]] if cells else []
        trials = {}
        for levels, outcomes in cells:
            if [*levels] != self.names and {*levels} != {*self.names}:
                raise ConfigurationError(
                    f"a cell has the factors {', '.join(levels)}, another {', '.join(self.names)}; "
                    "give the cells of one grid"
                )
            place = tuple(levels[name] for name in self.names)
            if place in trials:
                raise ConfigurationError(
                    f"two runs are the cell {cell_name(place)}; give each cell of the grid once"
                )
            trials[place] = {key: each for key, each in by_task(outcomes).items() if each.total}
        self.levels = [
            [*dict.fromkeys(place[at] for place in trials)] for at in range(len(self.names))
        ]
        trials = {place: tasks for place, tasks in trials.items() if tasks}
        if len(trials) < 2:
            raise ConfigurationError(
                f"effects need two cells or more with a verdict; there are {len(trials)}"
            )
        check_k(k, fewest_trials(one for each in trials.values() for one in each.values()))
        self.trials = trials
        # Thousands of tasks have a few counts: each is made a fraction once.
        kinds = {one for each in trials.values() for one in each.values()}
        exact = {one: pass_hat_k(*one, k) for one in kinds}
        scores = {
            place: {key: exact[one] for key, one in each.items()} for place, each in trials.items()
        }
        places = places_of(chain.from_iterable(outcomes for _, outcomes in cells))
        self.clustered = bool(places)
        self.weights: Mapping[TaskKey, int] = {}
        if places:
            scores, self.weights = _by_cluster(scores, places)
        found = (one for each in scores.values() for one in each.values())
        # Sums of whole numbers over one denominator are quick; sums of fractions are not.
        self.scale = math.lcm(*{one.denominator for one in found})
        self.scores = {
            place: {key: int(one * self.scale) for key, one in each.items()}
            for place, each in scores.items()
        }
        self.unpaired = [at for at in range(len(self.names)) if not self._shares_tasks(at)]

    def _shares_tasks(self, at: int) -> bool:
        """Return True if some task is run with two levels of a factor; one level has nobody to."""
        seen: dict[TaskKey, str] = {}
        for place, tasks in self.scores.items():
            if any(seen.setdefault(key, place[at]) != place[at] for key in tasks):
                return True
        return len(self.levels[at]) < 2

    def _kind(self, place: Levels) -> Levels:
        """Return the levels that choose the tasks of a cell."""
        return tuple(place[at] for at in self.unpaired)

    def _all_but(self, ats: Sequence[int]) -> Iterable[Levels]:
        """Return every combination of the other factors; these have an empty level in it."""
        return product(*([""] if at in ats else each for at, each in enumerate(self.levels)))

    def sum(self, ats: Sequence[int], pairs: Sequence[tuple[str, str]]) -> SampleSum | None:
        """Return the contrast of pairs of levels of these factors, over all others."""
        return self._sum_of(_pair_blocks(ats, pairs, self._all_but(ats)))

    def _sum_of(self, blocks: Iterable[Sequence[tuple[Levels, int]]]) -> SampleSum | None:
        """Return the mean over blocks of the signed means of their cells; None if none is whole.

        Within a block, cells that can have tasks in common are taken over those that they all have.
        """
        whole = []
        for block in blocks:
            groups: dict[Levels, list[tuple[Levels, int]]] = {}
            for place, sign in block:
                groups.setdefault(self._kind(place), []).append((place, sign))
            shared = {
                kind: set.intersection(*({*self.scores.get(place, ())} for place, _ in group))
                for kind, group in groups.items()
            }
            # Without a common task, cells of one kind have nothing to be averaged over.
            if all(shared.values()):
                whole.append((groups, shared))
        if not whole:
            return None
        parts: dict[Levels, Counter[TaskKey]] = {}
        weights: dict[Levels, Counter[TaskKey]] = {}
        signs: dict[Levels, list[int]] = {}
        # Blocks of different sizes count the same, so all are brought to one size.
        sizes = math.lcm(*(self._size(keys) for _, shared in whole for keys in shared.values()))
        for groups, shared in whole:
            for kind, group in groups.items():
                signs[kind] = [sign for _, sign in group]
                share = sizes // self._size(shared[kind])
                # A set has no order, and signs that are drawn at random go by it.
                for key in sorted(shared[kind]):
                    each = share * self.weights.get(key, 1)
                    total = sum(sign * self.scores[place][key] for place, sign in group)
                    parts.setdefault(kind, Counter())[key] += each * total
                    weights.setdefault(kind, Counter())[key] += each
        unit = self.scale * sizes * len(whole)
        samples: list[Sample] = []
        for kind, mine in parts.items():
            shares = [Fraction(each, sizes * len(whole)) for each in weights[kind].values()]
            exact = [Fraction(each, unit) for each in mine.values()]
            # A part is lowest where every cell with a minus passes, and none with a plus.
            below, above = (signs[kind].count(sign) for sign in (-1, 1))
            if self.clustered:
                samples.append(ClusterSample(exact, shares, -below, above))
            else:
                samples.append(Sample(exact, -max(shares) * below, max(shares) * above))
        return SampleSum(samples, len(whole), all(len(groups) == 1 for groups, _ in whole))

    def _size(self, keys: Collection[TaskKey]) -> int:
        """Return what tasks weigh together: each the same, clusters as many as their cases."""
        return sum(self.weights[key] for key in keys) if self.weights else len(keys)

    def simple(self, at: int, pair: tuple[str, str], other: int, level: str) -> float:
        """Return the difference between two levels of a factor at one level of another."""
        there = [place for place in self._all_but([at]) if place[other] == level]
        found = self._sum_of(_pair_blocks([at], [pair], there))
        return 0.0 if found is None else found.value

    def mean(self, at: int, level: str) -> float | None:
        cells = [tasks for place, tasks in self.scores.items() if place[at] == level]
        means = [
            Fraction(
                sum(self.weights.get(key, 1) * score for key, score in tasks.items()),
                self._size(tasks) * self.scale,
            )
            for tasks in cells
        ]
        return fmean(means) if means else None

    def spread(self) -> float:
        """Return the variance between all cells, less that of noise."""
        pairs = combinations(self.scores, 2)
        found = [self._sum_of([[(one, -1), (other, 1)]]) for one, other in pairs]
        return variance_between(found, len(self.scores))

    def tasks_with_gaps(self) -> int:
        """Count the tasks that some cell lacks and another one of the same kind has."""
        kinds: dict[Levels, list[set[TaskKey]]] = {}
        for place, tasks in self.scores.items():
            kinds.setdefault(self._kind(place), []).append({*tasks})
        return sum(len(set.union(*e)) - len(set.intersection(*e)) for e in kinds.values())


def _by_cluster(
    scores: Mapping[Levels, Mapping[TaskKey, Fraction]], places: Mapping[TaskKey, Place]
) -> tuple[dict[Levels, dict[TaskKey, Fraction]], dict[TaskKey, int]]:
    """Return the mean score of each cluster in each cell, and what clusters weigh.

    Cells that can have tasks in common are taken over those that they all have. Where others have
    different tasks, a cluster weighs as in the cell that has most of it.
    """
    pools: dict[Levels, dict[TaskKey, Pooled]] = {}
    for group in connected({place: {*tasks} for place, tasks in scores.items()}):
        common = set.intersection(*({*scores[place]} for place in group))
        for place in group:
            mine = {key: one for key, one in scores[place].items() if key in common}
            pools[place] = pool(mine.values(), [places[key] for key in mine])
    weights: dict[TaskKey, Fraction] = {}
    for each in pools.values():
        for name, pooled in each.items():
            weights[name] = max(pooled.weight, weights.get(name, pooled.weight))
    unit = math.lcm(*(weight.denominator for weight in weights.values()))
    found = {
        place: {name: pooled.score for name, pooled in each.items()}
        for place, each in pools.items()
    }
    return found, {name: int(weight * unit) for name, weight in weights.items()}


def _pair_blocks(
    ats: Sequence[int], pairs: Sequence[tuple[str, str]], others: Iterable[Levels]
) -> Iterable[list[tuple[Levels, int]]]:
    """Yield for each combination of the other factors its cells, with the signs of a contrast."""
    for rest in others:
        block = []
        for choice in product((0, 1), repeat=len(ats)):
            place = list(rest)
            for at, pair, which in zip(ats, pairs, choice, strict=True):
                place[at] = pair[which]
            block.append((tuple(place), (-1) ** (len(ats) - sum(choice))))
        yield block


def variance_between(sums: Iterable[SampleSum | None], number: int) -> float:
    """Return the variance of so many means from all pairs of them, less that of noise."""
    squares = [each.value**2 - (each.variance or 0.0) for each in sums if each is not None]
    return max(0.0, math.fsum(squares) / number**2)


def cell_name(place: Levels) -> str:
    return " \u00b7 ".join(place)
