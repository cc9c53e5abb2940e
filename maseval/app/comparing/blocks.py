"""The tables and lines about compared runs; a terminal and Markdown draw them."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from maseval.app.comparing.cells import ComparedGrid
from maseval.app.comparing.compare import RunComparison, side_by_side
from maseval.core.words import (
    between,
    duration,
    in_percent,
    in_points,
    money,
    p_is,
    p_value,
    percent,
)
from maseval.stats import Comparison, Difference, Flip
from maseval.stats.comparison import UP_TO
from maseval.stats.effects import Contrast, Effects
from maseval.stats.measures import quantity

MOST_ROWS = 12


@dataclass(frozen=True)
class TableBlock:
    """A table: the first ``names`` columns hold words, and all others numbers.

    Rows whose numbers are in ``bold`` matter most. So many ``more`` rows are left out.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    names: int = 1
    bold: Collection[int] = ()
    more: int = 0


@dataclass(frozen=True)
class LinesBlock:
    """Lines, by what they are: warnings and notes come before what they are about."""

    lines: Sequence[str]
    style: Literal["warning", "note", "headline", "plain", "aside"] = "plain"
    more: int = 0


Block = TableBlock | LinesBlock


def comparison_blocks(found: RunComparison) -> list[Block]:
    """Return first what else may explain a difference, then two runs or a table of several."""
    left_out = [f"Left out: {line}" for line in found.dropped]
    blocks = [
        LinesBlock([*filter(None, [found.texts])], "warning"),
        _first(found.notes, "note"),
        _first(found.cautions, "note"),
        LinesBlock([found.headline], "headline"),
        LinesBlock([f"Compared: {'; '.join(found.differing)}"] if found.differing else [], "aside"),
        *(
            _of_grid(found, found.grid)
            if found.grid
            else _of_many(found.table)
            if found.two is None
            else _of_two(found.two)
        ),
        *beside_table(found),
        *(() if found.grid else reasons_table(found)),
        _first(left_out, "plain"),
    ]
    return [each for each in blocks if isinstance(each, TableBlock) or each.lines]


def _first(lines: Sequence[str], style: Literal["note", "plain"]) -> LinesBlock:
    return LinesBlock(lines[:MOST_ROWS], style, max(0, len(lines) - MOST_ROWS))


def _of_two(two: Comparison) -> list[Block]:
    return [
        differences_table(two),
        LinesBlock(lines_on_two(two)),
        *flips_table("tasks that changed", two.flipped, two.names),
    ]


def beside_table(found: RunComparison) -> list[Block]:
    """Return what two runs differ by in the other measures of their benchmark."""
    rows = [
        [
            each.name,
            str(each.tasks),
            *(
                percent(value) if each.unit is None else quantity(value, None, each.unit)
                for value in (each.first, each.second)
            ),
            difference_in_words(each)
            if each.unit is None
            else quantity(each.difference, each.interval, sign="+"),
            p_value(each.test.p_value),
        ]
        for each in found.beside
    ]
    columns = ["", "tasks", *found.runs, "difference", "p"]
    title = "other measures, not corrected for their number"
    return [TableBlock(columns, rows, title)] if rows else []


def lines_on_two(two: Comparison) -> list[str]:
    """Return the difference, the test, and what would decide it."""
    assert two.plan is not None  # two runs are compared
    main, (first, second) = two.main, two.names
    cost = f", for {money(two.plan.cost)}" if two.plan.cost else ""
    return [
        f"{main.name}: {second} \u2212 {first} = {difference_in_words(main)} "
        f"percentage points, {p_is(main.test.p_value)}",
        f"  {main.test.method}; {main.test.discordant} of {main.units[0]} {main.units[1]}s differ",
        f"  {two.plan.advice}{cost}",
    ]


def differences_table(two: Comparison) -> TableBlock:
    shown = two.differences
    rows = [
        [
            f"{each.group or 'all'} {each.name}",
            str(each.tasks),
            percent(each.first),
            percent(each.second),
            difference_in_words(each),
            p_value(each.test.p_value),
        ]
        for each in shown
    ]
    columns = ["", "tasks", *two.names, "difference", "p"]
    return TableBlock(columns, rows, bold=[at for at, e in enumerate(shown) if e == two.main])


def difference_in_words(found: Difference | Contrast) -> str:
    span = found.interval
    return f"{in_points(found.difference)} {between(span.low, span.high)}"


def flips_table(
    title: str, flips: Sequence[Flip], names: Sequence[str], most: int = MOST_ROWS
) -> list[Block]:
    """Return the tasks that pass more or less often; nothing if there are none."""
    if not flips:
        return []
    rows = [
        [
            flip.group,
            flip.task,
            str(flip.first),
            str(flip.second),
        ]
        for flip in flips[:most]
    ]
    bold = [at for at, flip in enumerate(flips[:most]) if flip.fully]
    more = max(0, len(flips) - most)
    return [TableBlock(["domain", "task", *names], rows, title, 2, bold, more)]


def reasons_table(found: RunComparison, most: int = MOST_ROWS) -> list[Block]:
    """Return why simulations failed in each run: causes, and checks that were not met."""
    rows = [[name, *map(str, counts)] for name, counts in found.reasons(most)]
    names = [f"{name} ({each.failed} of {each.verdicts})" for name, each in found.why.items()]
    return [TableBlock(["", *names], rows, "why simulations failed")] if rows else []


def _of_grid(found: RunComparison, grid: ComparedGrid) -> list[Block]:
    effects = grid.effects
    tested = [*effects.contrasts, *effects.interactions]
    return [
        cells_table(grid),
        factors_table(effects),
        contrasts_table(effects),
        LinesBlock(interaction_lines(effects)),
        # A column of reasons for each cell would not fit, so a grid counts facts by system.
        *facts_table(found),
        LinesBlock([f"Missing cell: {each}" for each in effects.missing]),
        # Contrasts share their methods, each of which is named once.
        LinesBlock([*effects.notes, *dict.fromkeys(each.method for each in tested)], "aside"),
    ]


def interaction_lines(effects: Effects) -> list[str]:
    return [f"{one.sentence}: {one.grade}, {p_is(one.adjusted)}" for one in effects.interactions]


def cells_table(grid: ComparedGrid) -> TableBlock:
    priced = any(each.mean_cost for each in grid.cells)
    timed = any(each.mean_seconds for each in grid.cells)
    rows = [
        [
            *(each.levels[name] for name in grid.factors),
            str(each.tasks),
            each.passed,
            " ".join(each.estimate.parts),
            *([money(each.mean_cost)] if priced else []),
            *([duration(each.mean_seconds)] if timed else []),
        ]
        for each in grid.cells
    ]
    columns = [*grid.factors, "tasks", "passed", grid.effects.measure]
    columns += [*(["mean cost"] if priced else []), *(["mean time"] if timed else [])]
    return TableBlock(columns, rows, "cells", len(grid.factors))


def factors_table(effects: Effects) -> TableBlock:
    """Return how far each factor moves the score, and the mean of each of its levels."""
    rows = [
        [
            each.name,
            ", ".join(
                f"{name} {'no verdict' if score is None else percent(score)}"
                for name, score in each.levels.items()
            ),
            "not known"
            if each.size is None or each.interval is None
            else f"{in_percent(each.size)} {between(each.interval.low, each.interval.high)}",
            "" if each.share is None else percent(each.share, 0),
            each.grade if each.paired else f"{each.grade}, not paired",
        ]
        for each in effects.factors
    ]
    columns = ["factor", "mean of each level", "moves the score by", "of the spread", "effect"]
    if effects.together is not None and len(effects.factors) > 1:
        rows.append(["combinations", "", "", percent(effects.together, 0), ""])
    bold = [at for at, each in enumerate(effects.factors) if each.grade == "shown"]
    return TableBlock(columns, rows, "what each factor does, in points", 2, bold)


def contrasts_table(effects: Effects) -> TableBlock:
    rows = [
        [
            each.factors[0],
            f"{each.levels[0][1]} \u2212 {each.levels[0][0]}",
            difference_in_words(each),
            p_value(each.p_value),
            p_value(each.adjusted),
            each.grade,
        ]
        for each in effects.contrasts
    ]
    bold = [at for at, each in enumerate(effects.contrasts) if each.grade == "shown"]
    columns = ["factor", "levels", "difference", "p", "p, corrected", "effect"]
    return TableBlock(columns, rows, "differences between levels, paired by task", 2, bold)


def facts_table(found: RunComparison) -> list[Block]:
    """Return in how many simulations of each system of a grid something is known to be wrong.

    That is what is recomputed of failures, and refused and repeated calls.
    """
    if found.grid is None or not found.why:
        return []
    system, counts = found.grid.system, dict[str, Counter[str]]()
    failed, verdicts = Counter[str](), Counter[str]()
    for each in found.grid.cells:
        name, reasons = each.levels[system], found.why[each.run]
        failed[name] += reasons.failed
        verdicts[name] += reasons.verdicts
        counts.setdefault(name, Counter()).update(reasons.proven)
    heads = [f"{name} ({failed[name]} of {verdicts[name]} failed)" for name in counts]
    # The same facts in every column, those first in which systems differ most.
    found_facts = side_by_side(counts.values())
    rows = [[name, *map(str, each)] for name, each in found_facts if any(each)]
    title = f"what each {system} does wrong: simulations, by recomputed facts"
    return [TableBlock(["", *heads], rows[:MOST_ROWS], title)] if rows else []


def _of_many(table: Comparison) -> list[Block]:
    pairs = [
        [
            f"{pair.names[1]} \u2212 {pair.names[0]}",
            pair.main.name,
            difference_in_words(pair.main),
            p_value(pair.main.test.p_value),
            p_value(pair.adjusted),
        ]
        for pair in table.pairs
    ]
    sure = [at for at, pair in enumerate(table.pairs) if pair.sure]
    columns = ["runs", "measure", "difference", "p", "p, corrected"]
    return [
        _scores(table),
        TableBlock(columns, pairs, names=2, bold=sure),
        LinesBlock(table.notes, "aside"),
    ]


def _scores(table: Comparison) -> TableBlock:
    runs = {name: summary.overall for name, summary in table.runs.items()}
    counted = {k: e.name for r in runs.values() for k, e in r.pass_hat.items() if k <= UP_TO}
    priced = any(run.mean_cost for run in runs.values())
    rows = [
        [
            name,
            str(run.tasks),
            f"{run.passed}/{run.done}",
            *(" ".join(run.pass_hat[k].parts) if k in run.pass_hat else "" for k in counted),
            *([money(run.mean_cost)] if priced else []),
        ]
        for name, run in runs.items()
    ]
    columns = ["run", "tasks", "passed", *counted.values()]
    return TableBlock([*columns, *(["mean cost"] if priced else [])], rows)
