"""Shares that a judge counted, corrected by labels of people, with intervals.

A judge divides the conversations of a run into strata: flagged, not flagged, undecided. People
label a random sample inside each stratum, so the share of faults in a stratum is known up to
chance, and the corrected share is the mean of the strata's, weighted by their sizes (Cochran 1977,
chapter 5). How well the judge sorts decides only the width.

*For these conversations* each stratum has exact limits (hypergeometric: labels are drawn without
replacement; Clopper & Pearson's idea of 1934), joined by MOVER (Zou & Donner 2008). *For
conversations like these* the tasks are a sample, too. To that a part is added with Wilson's shape
(1927), whose variance is clustered by task. Nobody sees how true faults cluster, since few are
labelled; so the variance is at least that of tasks whose trials nearly repeat each other, and
Student's quantile has a degree less than there are tasks. ``benchmarks/corrected.py`` simulates
both.

Rates that were measured on other conversations cannot correct these: if a judge finds ten points
less here, such an interval holds hardly ever.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.stats.intervals import LEVEL, Interval, two_sided_t, two_sided_z
from maseval.stats.result import Result

HERE = "exact in each stratum, for these conversations"
LIKE_THESE = "clustered by task, for conversations like these"

# Trials of one task repeat each other less than fully: so many independent ones at least.
_TRIALS_WORTH = 1.1


@dataclass(frozen=True)
class Stratum(Result):
    """The conversations that a judge put into one class, and what the labels say of some.

    Of ``total`` conversations ``labelled`` were drawn and labelled: ``broken`` with yes, ``unsure``
    with neither yes nor no.
    """

    total: int
    labelled: int = 0
    broken: int = 0
    unsure: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.broken + self.unsure <= self.labelled <= self.total:
            raise ConfigurationError(
                f"of {self.total} conversations {self.labelled} labelled, {self.broken} broken and "
                f"{self.unsure} unsure cannot be right; count each conversation once"
            )

    @property
    def rate(self) -> float | None:
        """The share of faults among the decided labels; None without any."""
        decided = self.labelled - self.unsure
        return self.broken / decided if decided else None


@dataclass(frozen=True)
class CorrectedShare(Result):
    """The share of faults among the conversations of a run, by a judge and by labels.

    ``like_these`` is None where a run has a single task.
    """

    share: float
    here: Interval
    like_these: Interval | None


def corrected_share(
    strata: Sequence[Stratum],
    tasks: Sequence[Sequence[Hashable]],
    level: float = LEVEL,
) -> CorrectedShare | None:
    """Return the corrected share; None while a stratum has no label that decides.

    ``tasks`` has, for each stratum, the task of each of its conversations.
    """
    used = [(s, names) for s, names in zip(strata, tasks, strict=True) if s.total]
    total = sum(stratum.total for stratum, _ in used)
    rates = [stratum.rate for stratum, _ in used]
    if not used or any(len(names) != stratum.total for stratum, names in used):
        raise ConfigurationError("give the task of every conversation, and at least one")
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates):
        return None
    names = [each for _, each in used]
    # What is unsure may be either: the lower ends count all of it as no, the upper ones as yes.
    least = _limits([(s.total, s.labelled, s.broken) for s, _ in used], names, level)
    most = _limits([(s.total, s.labelled, s.broken + s.unsure) for s, _ in used], names, level)
    share = math.fsum(s.total * rate for (s, _), rate in zip(used, known, strict=True)) / total
    like_these = None
    if least.like_these is not None and most.like_these is not None:
        like_these = Interval(least.like_these[0], most.like_these[1], level, LIKE_THESE)
    here = Interval(least.here[0], most.here[1], level, HERE)
    return CorrectedShare(share, here, like_these)


class _Limits(NamedTuple):
    here: tuple[float, float]
    like_these: tuple[float, float] | None


def _limits(
    counts: Sequence[tuple[int, int, int]], tasks: Sequence[Sequence[Hashable]], level: float
) -> _Limits:
    """Return the limits if of each stratum so many were labelled, and so many of them broken."""
    total = sum(size for size, _, _ in counts)
    rates = [broken / labelled for _, labelled, broken in counts]
    share, below, above = 0.0, 0.0, 0.0
    for (size, labelled, broken), rate in zip(counts, rates, strict=True):
        fewest, most = hypergeometric_limits(size, labelled, broken, level)
        share += size * rate / total
        below = math.hypot(below, (size * rate - fewest) / total)
        above = math.hypot(above, (most - size * rate) / total)
    here = max(0.0, share - below), min(1.0, share + above)
    clusters = _cluster_sums(tasks, rates)
    if len(clusters) < 2:
        return _Limits(here, None)
    low, high = _share_limits(share, clusters, total, level)
    below, above = math.hypot(below, share - low), math.hypot(above, high - share)
    return _Limits(here, (max(0.0, share - below), min(1.0, share + above)))


def _cluster_sums(
    tasks: Sequence[Sequence[Hashable]], rates: Sequence[float]
) -> list[tuple[int, float]]:
    """Return for each task its conversations and the faults that are expected among them."""
    counts: Counter[Hashable] = Counter()
    faults: defaultdict[Hashable, float] = defaultdict(float)
    for names, rate in zip(tasks, rates, strict=True):
        counts.update(names)
        for name in names:
            faults[name] += rate
    return [(count, faults[name]) for name, count in counts.items()]


def _share_limits(
    share: float, clusters: Sequence[tuple[int, float]], total: int, level: float
) -> tuple[float, float]:
    """Return limits of the share of all tasks, if every conversation here were labelled."""
    number = len(clusters)
    squares = math.fsum((faults - count * share) ** 2 for count, faults in clusters)
    variance = squares * number / (number - 1) / total**2
    repeated = any(count > 1 for count, _ in clusters)
    size = number * (_TRIALS_WORTH if repeated else 1.0)
    if share * (1 - share) > 0:
        # As many independent tasks as would vary so much, but no more than there are.
        size = min(size, share * (1 - share) / variance) if variance else size
    t = two_sided_t(level, number - 1)
    middle = (share + t * t / (2 * size)) / (1 + t * t / size)
    half = t / (1 + t * t / size) * math.sqrt(share * (1 - share) / size + (t / size) ** 2 / 4)
    return min(share, middle - half), max(share, middle + half)


# Without unsure labels both ends of an interval ask for the same limits.
@lru_cache(maxsize=65536)
def hypergeometric_limits(total: int, drawn: int, found: int, level: float) -> tuple[int, int]:
    """Return exact limits for how many of ``total`` are faulty, if ``found`` of ``drawn`` are."""
    tail = (1 - level) / 2
    fewest, most = found, total - (drawn - found)

    def too_few(number: int) -> bool:
        return _chance_up_to(total, number, drawn, found - 1) >= 1 - tail

    def too_many(number: int) -> bool:
        return _chance_up_to(total, number, drawn, found) <= tail

    low = _first(lambda number: not too_few(number), fewest, most)
    high = _first(too_many, low, most + 1) - 1
    return low, max(low, high)


def _first(is_reached: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first number from ``low`` for which it is true; ``high`` if there is none."""
    while low < high:
        middle = (low + high) // 2
        if is_reached(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _chance_up_to(total: int, faulty: int, drawn: int, most: int) -> float:
    """Return the chance of at most so many faulty ones among those drawn."""
    first, last = max(0, drawn - (total - faulty)), min(drawn, faulty)
    if most >= last:
        return 1.0
    ways = [
        math.comb(faulty, k) * math.comb(total - faulty, drawn - k) for k in range(first, most + 1)
    ]
    return sum(ways) / math.comb(total, drawn)


# Before labels are made: how many, and how wide.


def share_labels(totals: Sequence[int], labels: int) -> list[int]:
    """Divide labels evenly among the strata, none getting more than it has conversations."""
    parts = [0] * len(totals)
    left = min(labels, sum(totals))
    # Evenly: nobody knows beforehand in which stratum a label tells most.
    while left:
        open_strata = [i for i, total in enumerate(totals) if parts[i] < total]
        for i in open_strata[:left]:
            parts[i] += 1
        left -= min(left, len(open_strata))
    return parts


@dataclass(frozen=True)
class LabelForecast(Result):
    """The widths to expect of an interval for these conversations from so many labels.

    ``with_judge`` is None where the judge leaves a stratum without labels.
    """

    labels: int
    with_judge: float | None
    alone: float

    @property
    def alone_is_better(self) -> bool:
        return self.with_judge is None or self.alone <= self.with_judge


def forecast_labels(
    totals: Sequence[int], rates: Sequence[float], labels: int, level: float = LEVEL
) -> LabelForecast:
    """Return the expected widths if ``rates`` are the shares of faults in the strata."""
    parts = share_labels(totals, labels)
    total = sum(totals)
    expected = [
        Stratum(number, part, _whole(rate, part, number))
        for number, part, rate in zip(totals, parts, rates, strict=True)
        if number
    ]
    stratified = corrected_share(
        expected, [[i] * stratum.total for i, stratum in enumerate(expected)], level
    )
    overall = math.fsum(n * rate for n, rate in zip(totals, rates, strict=True)) / total
    drawn = sum(parts)
    low, high = hypergeometric_limits(total, drawn, _whole(overall, drawn, total), level)
    width = None if stratified is None else stratified.here.high - stratified.here.low
    return LabelForecast(drawn, width, (high - low) / total)


def _whole(rate: float, labelled: int, total: int) -> int:
    return min(round(rate * labelled), round(rate * total), labelled)


# Two people who label the same conversations.


@dataclass(frozen=True)
class Agreement(Result):
    """The agreement of two labellers on ``both`` conversations, beyond chance.

    ``kappa`` and its interval are None where all labels are equal: chance would agree as well.
    """

    both: int
    equal: int
    kappa: float | None
    interval: Interval | None


def agreement(pairs: Sequence[tuple[bool, bool]], level: float = LEVEL) -> Agreement:
    """Return the kappa of two people with one rate of yes (Scott 1955).

    Its interval is that of Donner & Eliasziw (1992), which holds in small samples: all values that
    a test of fit does not reject.
    """
    number = len(pairs)
    equal = sum(a == b for a, b in pairs)
    yes = sum(a + b for a, b in pairs) / (2 * number) if number else 0.0
    # Where both always say the same, chance alone would have them agree.
    if not 0 < yes < 1:
        return Agreement(number, equal, None, None)
    kappa = 1 - (number - equal) / (2 * number * yes * (1 - yes))
    critical = two_sided_z(level) ** 2
    both_yes = sum(a and b for a, b in pairs)
    counts = (both_yes, number - equal, equal - both_yes)

    def is_rejected(value: float) -> bool:
        spread = yes * (1 - yes)
        chances = (
            yes**2 + value * spread,
            2 * spread * (1 - value),
            (1 - yes) ** 2 + value * spread,
        )
        misfit = 0.0
        for count, chance in zip(counts, chances, strict=True):
            if chance <= 0:
                if count:
                    return True
                continue
            misfit += (count - number * chance) ** 2 / (number * chance)
        return misfit > critical

    least = max(-yes / (1 - yes), -(1 - yes) / yes)
    low = _edge(is_rejected, kappa, least)
    high = _edge(is_rejected, kappa, 1.0)
    return Agreement(number, equal, kappa, Interval(low, high, level, "Donner & Eliasziw"))


def _edge(is_rejected: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return where between two values a test begins to reject."""
    if not is_rejected(outside):
        return outside
    for _ in range(60):
        middle = (inside + outside) / 2
        if is_rejected(middle):
            outside = middle
        else:
            inside = middle
    return inside
