"""Effects of the factors of a grid: which choice moves the score, by how much, and how sure it is.

A grid has factors, such as the system and the model, each with levels; a cell is a run with one
level of each. Two levels are compared where everything else is equal: in every combination of the
other factors in which both have a cell, task by task, over the tasks with a verdict on both sides.
Every combination counts the same, and within it every task.

A factor whose levels have no task in common, such as the domain, is not paired: the tasks of its
levels are independent samples (``contrasts``), and a difference may be that of the tasks.

All contrasts of two levels are one family, and all interactions another; p-values are corrected in
each after Holm (1979), so that a family calls anything shown by mistake in at most 5% of grids.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal, NamedTuple

from maseval.core.outcome import Outcome
from maseval.core.words import between, count_of, in_percent, in_points
from maseval.stats.comparison import SURE, holm
from maseval.stats.contrasts import UNPAIRED, Grid, SampleSum, cell_name, variance_between
from maseval.stats.intervals import LEVEL, OVER_TASKS, Interval
from maseval.stats.result import Result
from maseval.stats.trials import measure_name

Levels = tuple[str, ...]
Strength = Literal["shown", "likely", "undecided"]
"""Shown: beyond chance among all differences of the grid. Likely: only if looked at alone."""
_GRADES: tuple[Strength, ...] = ("shown", "likely", "undecided")


@dataclass(frozen=True)
class Contrast(Result):
    """Two levels of a factor, second - first; of two factors, how far the second changes that.

    ``levels`` has a pair for each factor. An interaction's ``within`` are the differences between
    the levels of the first factor at either level of the second. ``tasks`` is the number of tasks
    it is computed from, ``combinations`` that of levels of the other factors. ``adjusted`` is the
    p-value after Holm's correction: the difference is shown by that one, and likely by the other
    alone.
    """

    factors: tuple[str, ...]
    levels: tuple[tuple[str, str], ...]
    difference: float
    interval: Interval
    p_value: float
    tasks: int
    combinations: int
    method: str
    adjusted: float
    grade: Strength
    within: tuple[float, ...] = ()

    @property
    def sentence(self) -> str:
        """Say which level is better, and of an interaction, with which level of the other one."""
        first, second = self.levels[0]
        if not self.within:
            span = between(self.interval.low, self.interval.high)
            return f"{second} \u2212 {first} = {in_points(self.difference)} points {span}"
        (low, worse), (high, better) = sorted(zip(self.within, self.levels[1], strict=True))
        if low < 0 < high:
            return (
                f"{second} instead of {first} helps {better} by {in_percent(high, 0)} points "
                f"and costs {worse} {in_percent(-low, 0)}"
            )
        return (
            f"{second} instead of {first} changes {better} by {in_points(high, 0)} points "
            f"and {worse} by {in_points(low, 0)}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "sentence": self.sentence}


@dataclass(frozen=True)
class Factor(Result):
    """A factor, the mean score of each of its levels, and how far it moves the score.

    ``size`` is the largest difference between two levels, less what noise adds to it: without any
    effect, the square of the range of L levels is on average at most L - 1 times the variance of
    one difference. ``interval`` holds the true range: the levels' intervals hold all at once.
    Both are None if no two cells differ in this factor alone. ``share`` is the part of the spread
    between cells that the factor explains, noise aside; None if cells are missing, or if there is
    no spread beyond noise.
    """

    name: str
    levels: dict[str, float | None]
    size: float | None
    interval: Interval | None
    grade: Strength
    paired: bool
    share: float | None = None


@dataclass(frozen=True)
class Effects(Result):
    """The factors of a grid, largest first, every contrast of two levels, and all interactions.

    ``together`` is the share of the spread that is due to combinations of levels, not to single
    ones. ``missing`` names the cells that are not there, ``notes`` say what was left out.
    """

    measure: str
    factors: list[Factor]
    contrasts: list[Contrast]
    interactions: list[Contrast]
    together: float | None
    missing: list[str]
    notes: list[str]

    @property
    def too_few(self) -> bool:
        """True if not even a difference in every task would be shown."""
        return all(
            each.method != UNPAIRED and 2.0 ** (1 - each.tasks) * len(self.contrasts) > SURE
            for each in self.contrasts
        )

    @property
    def headline(self) -> str:
        """Say what moves the score, then what is not shown to, then an interaction if shown."""
        if self.too_few:
            tasks = max((each.tasks for each in self.contrasts), default=0)
            return (
                f"too few tasks: with {count_of(tasks, 'task')} and "
                f"{count_of(len(self.contrasts), 'contrast')} no effect can be shown"
            )
        parts: list[str] = []
        for grade, verb in (("shown", "moves"), ("likely", "probably moves")):
            mine = [each for each in self.factors if each.grade == grade]
            words = [f"{verb} the score ({self.measure}) by", "by"]
            parts += [
                f"{each.name} {words[parts != [] or at > 0]} {_size_in_words(each)}"
                for at, each in enumerate(mine)
            ]
        rest = [each for each in self.factors if each.grade == "undecided"]
        parts += [f"no effect of {each.name} is shown{_at_most(each)}" for each in rest]
        shown = [each for each in self.interactions if each.grade == "shown"]
        if shown:
            parts.append(max(shown, key=lambda each: abs(each.difference)).sentence)
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "headline": self.headline}


def _size_in_words(factor: Factor) -> str:
    assert factor.size is not None and factor.interval is not None  # it has a grade
    span = between(factor.interval.low, factor.interval.high, 0)
    return f"{in_percent(factor.size, 0)} points {span}"


def _at_most(factor: Factor) -> str:
    span = factor.interval
    if span is None:
        return " (no two cells differ in it alone)"
    return f" (at most {in_percent(span.high, 0)} points)"


_Key = tuple[tuple[int, ...], tuple[tuple[str, str], ...]]
"""The factors of a contrast, and two levels of each."""


def find_effects(
    cells: Iterable[tuple[Mapping[str, str], Iterable[Outcome]]],
    *,
    k: int = 1,
    label: str | None = None,
) -> Effects:
    """Find the effects of the factors of a grid on pass^k, or on the measure of the label.

    Each cell has its levels by the names of the factors, and its outcomes.
    """
    grid = Grid([(dict(levels), list(outcomes)) for levels, outcomes in cells], k)
    ats = [at for at, levels in enumerate(grid.levels) if len(levels) > 1]
    pairs = {at: [*combinations(grid.levels[at], 2)] for at in ats}
    single = _test_family(grid, [((at,), (pair,)) for at in ats for pair in pairs[at]])
    crossed = _test_family(
        grid,
        [((a, b), each) for a, b in combinations(ats, 2) for each in product(pairs[a], pairs[b])],
    )
    contrasts = [_contrast(grid, each) for each in single]
    missing = [cell_name(each) for each in product(*grid.levels) if each not in grid.scores]
    known = {at: [each for each in single if each.key[0] == (at,)] for at in ats}
    # Where cells are missing, levels are compared in different combinations, and the variances of
    # factors do not add up.
    parts = {
        at: 0.0
        if missing
        else variance_between((each.sum for each in known[at]), len(grid.levels[at]))
        for at in ats
    }
    # Noise can make the whole smaller than its parts.
    spread = 0.0 if missing else max(grid.spread(), math.fsum(parts.values()))
    factors = [_factor(grid, at, known[at], parts[at] / spread if spread else None) for at in ats]
    return Effects(
        measure=measure_name(k, label),
        factors=sorted(factors, key=lambda each: -(each.size or 0.0)),
        contrasts=contrasts,
        # A large grid has hundreds of them: those that are not even likely are not listed.
        interactions=[_contrast(grid, each) for each in crossed if each.p_value <= SURE],
        together=1 - math.fsum(parts.values()) / spread if spread else None,
        missing=missing,
        notes=_notes(grid, contrasts, len(crossed)),
    )


class _Tested(NamedTuple):
    key: _Key
    sum: SampleSum
    p_value: float
    method: str
    adjusted: float

    @property
    def grade(self) -> Strength:
        if self.adjusted <= SURE:
            return "shown"
        return "likely" if self.p_value <= SURE else "undecided"


def _test_family(grid: Grid, keys: Iterable[_Key]) -> list[_Tested]:
    """Return the contrasts of a family that the cells allow, each with its corrected p-value."""
    sums = [(key, found) for key in keys if (found := grid.sum(*key)) is not None]
    tests = [found.test() for _, found in sums]
    adjusted = holm([p_value for p_value, _ in tests])
    return [_Tested(*each, *test, p) for each, test, p in zip(sums, tests, adjusted, strict=True)]


def _contrast(grid: Grid, tested: _Tested) -> Contrast:
    (ats, pairs), found, p_value, method, adjusted = tested
    within = [grid.simple(ats[0], pairs[0], ats[1], each) for at in ats[1:] for each in pairs[1]]
    return Contrast(
        factors=tuple(grid.names[at] for at in ats),
        levels=pairs,
        difference=found.value,
        interval=found.interval(LEVEL),
        p_value=p_value,
        tasks=found.tasks,
        combinations=found.combinations,
        method=method,
        adjusted=adjusted,
        grade=tested.grade,
        within=tuple(within),
    )


def _factor(grid: Grid, at: int, known: Sequence[_Tested], share: float | None) -> Factor:
    size, span = None, None
    if known:
        # The range of the levels is the largest difference between any two.
        largest = max((each.sum for each in known), key=lambda each: abs(each.value))
        noise = (len(grid.levels[at]) - 1) * (largest.variance or 0.0)
        size = math.sqrt(max(0.0, largest.value**2 - noise))
        # All intervals hold at once, so the largest of their ends hold for the largest difference.
        spans = [each.sum.interval(1 - (1 - LEVEL) / len(known)) for each in known]
        low = max(0.0, *(max(each.low, -each.high) for each in spans))
        high = max(max(-each.low, each.high) for each in spans)
        span = Interval(low, high, LEVEL, f"{OVER_TASKS}, all levels at once")
    return Factor(
        name=grid.names[at],
        levels={name: grid.mean(at, name) for name in grid.levels[at]},
        size=size,
        interval=span,
        grade=min((each.grade for each in known), key=_GRADES.index, default="undecided"),
        paired=at not in grid.unpaired,
        share=share,
    )


def _notes(grid: Grid, contrasts: Sequence[Contrast], interactions: int) -> list[str]:
    """Say what the numbers rest on, and what was left out."""
    notes = [
        "each difference is averaged over the other factors, every combination counting the same, "
        "and paired by task",
        f"shown: p \u2264 {SURE}, Holm-corrected over {count_of(len(contrasts), 'contrast')} of "
        f"two levels, and apart from them over {count_of(interactions, 'interaction')}; likely: "
        f"p \u2264 {SURE} for this one alone",
        '"shown" and "likely" hold for these tasks; intervals also cover other tasks like these, '
        "so they are wider and may include 0",
    ]
    if grid.clustered:
        notes.append(
            "paired by cluster: numbers of tasks are numbers of clusters here; each has the weight "
            "that it has in the cell with most of its tasks"
        )
    notes += [
        f"{grid.names[at]} is not paired: its levels have different tasks, so a difference may be "
        "the tasks' own"
        for at in grid.unpaired
    ]
    known = {each.factors[0] for each in contrasts}
    notes += [
        f"{name}: no two cells differ in it alone, so its effect is not known"
        for name, levels in zip(grid.names, grid.levels, strict=True)
        if len(levels) > 1 and name not in known
    ]
    missing = math.prod(map(len, grid.levels)) - len(grid.scores)
    if missing:
        notes.append(
            f"{count_of(missing, 'cell')} of the grid missing: levels are compared in the "
            "combinations that both have, and no share of the spread is given"
        )
    if len({one.total for each in grid.trials.values() for one in each.values()}) > 1:
        notes.append("tasks have different numbers of trials; each task counts once")
    if gaps := grid.tasks_with_gaps():
        notes.append(
            f"{count_of(gaps, 'task')} without a verdict in some cell: counted where both sides "
            "have one"
        )
    return notes
