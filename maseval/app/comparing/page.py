"""Compared runs in the form that the page shows, live, in a file or on a site: one JSON document.

It has the ``names`` of the runs, their ``results`` as a table, every pair of them in ``pairs`` with
its difference, its interval and whether it is sure, and the ``tasks`` that all of them have, each
with a cell for each run. ``differences`` is a table of every pass^k of two runs, by domain, and
``beside`` has that of their other measures. ``reasons`` count why simulations failed, with a number
for each run; they are None while they are not known. ``grid`` has the cells of a grid, the effects
of its factors as a plot and as tables, and ``system_facts`` what each system does wrong. The page
adds nothing to these numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from maseval.app.comparing.blocks import (
    beside_table,
    contrasts_table,
    differences_table,
    factors_table,
    facts_table,
    interaction_lines,
    lines_on_two,
)
from maseval.app.comparing.cells import ComparedGrid
from maseval.app.comparing.compare import RunComparison
from maseval.app.comparing.compared_runs import compared_keys
from maseval.core.outcome import Outcome, TaskKey
from maseval.core.words import between, duration, in_points, money, p_value
from maseval.report.index import ComparedDocument
from maseval.report.results import page_row, summary_table
from maseval.runs.config import subset_of
from maseval.stats import GroupSummary, Pair, difference_plot, effects_plot, pass_plot
from maseval.stats.comparison import UP_TO
from maseval.stats.plots import Drawing

Cell = tuple[str] | tuple[str, list[int]] | tuple[str, list[int], list[float | None]]
"""The trials of a task in one run: a letter for each, ``p`` passed, ``f`` failed, ``x`` without a
verdict, ``s`` a share that is neither; then their numbers, unless these are 0, 1, 2 and so on, and
of shares the value of each."""


def document_of(
    found: RunComparison, notes: Mapping[TaskKey, str] | None = None
) -> ComparedDocument:
    """Return the document; ``notes`` say what tasks are about.

    The reasons of failures are None if they were not looked into.
    """
    outcomes = {name: run.outcomes for name, run in found.runs.items()}
    two, names = found.two, list(outcomes)
    rows = [_result_row(name, each.overall) for name, each in found.summaries.items()]
    return {
        "names": names,
        "results": summary_table({"rows": rows}),
        "pairs": [_pair(each, names) for each in found.table.pairs],
        "tasks": _tasks(outcomes, compared_keys(outcomes, found.table), notes or {}),
        "headline": found.headline,
        "cautions": [*filter(None, [found.texts]), *found.notes, *found.cautions],
        "left_out": list(found.dropped),
        "differences": two and asdict(differences_table(two)),
        "beside": [asdict(each) for each in beside_table(found)],
        "notes": [
            *([f"Compared: {'; '.join(found.differing)}"] if found.differing else []),
            # These lines are indented for the terminal.
            *(map(str.strip, lines_on_two(two)) if two else ()),
            *found.table.notes,
        ],
        "plots": comparison_plots(found),
        "grid": found.grid and _grid(found.grid, list(found.runs)),
        **looked_into(found),
    }


def _result_row(name: str, overall: GroupSummary) -> dict[str, object]:
    numbers = {each.name: each.in_brief() for each in overall.estimates if each.k <= UP_TO}
    return page_row(name, overall, **numbers, **{"mean cost": money(overall.mean_cost)})


def _pair(pair: Pair, names: Sequence[str]) -> dict[str, object]:
    """Return a difference, and in words as every command prints it: points, interval, p-value."""
    first, second = map(names.index, pair.names)
    found = pair.main
    return {
        "first": first,
        "second": second,
        "measure": found.name,
        "difference": found.difference,
        "points": in_points(found.difference),
        "interval": between(found.interval.low, found.interval.high),
        "p": p_value(found.test.p_value),
        "adjusted": p_value(pair.adjusted),
        "sure": pair.sure,
    }


def _tasks(
    runs: Mapping[str, Sequence[Outcome]], keys: Iterable[TaskKey], notes: Mapping[TaskKey, str]
) -> list[dict[str, object]]:
    """Return the tasks, those first whose pass rates differ most between the runs."""
    trials: dict[TaskKey, list[list[Outcome]]] = {key: [[] for _ in runs] for key in keys}
    for at, run in enumerate(runs.values()):
        for each in run:
            if each.key in trials:
                trials[each.key][at].append(each)
    # The sort is stable: tasks of the same spread keep their order.
    ranked = sorted(trials.items(), key=lambda item: -_spread(item[1]))
    return [
        {
            "domain": key.domain,
            "id": key.task_id,
            "note": notes.get(key, ""),
            "cells": [*map(_cell, each)],
        }
        for key, each in ranked
    ]


_LETTERS = {True: "p", False: "f", None: "x"}


def _cell(outcomes: Sequence[Outcome]) -> Cell:
    ordered = sorted(outcomes, key=lambda each: each.trial)
    marks = "".join(_LETTERS.get(each.passed, "s") for each in ordered)
    numbers = [each.trial for each in ordered]
    if "s" in marks:
        return marks, numbers, [None if e.passed is None else float(e.passed) for e in ordered]
    # Most runs have their trials from 0 on, and the numbers would take half of the page.
    return (marks,) if numbers == [*range(len(numbers))] else (marks, numbers)


def _spread(cells: Iterable[Sequence[Outcome]]) -> float:
    """Return the highest pass rate of a task minus the lowest."""
    judged = ([each.passed for each in cell if each.passed is not None] for cell in cells)
    rates = [sum(cell) / len(cell) for cell in judged if cell]
    return max(rates) - min(rates) if rates else 0.0


def looked_into(found: RunComparison) -> dict[str, object]:
    """Return the reasons of failures, as far as they are known."""
    return {
        "reasons": _reasons(found) if found.why else None,
        "system_facts": [asdict(each) for each in facts_table(found)],
    }


def _grid(grid: ComparedGrid, names: list[str]) -> dict[str, object]:
    effects = grid.effects
    return {
        "factors": list(grid.factors),
        "cells": [
            {
                "run": names.index(each.run),
                "levels": [each.levels[name] for name in grid.factors],
                **each.estimate.in_brief(),
                "cost": each.mean_cost and money(each.mean_cost),
                "time": each.mean_seconds and duration(each.mean_seconds),
            }
            for each in grid.cells
        ],
        "plot": effects_plot(effects) if effects.contrasts else None,
        "tables": [asdict(factors_table(effects)), asdict(contrasts_table(effects))],
        "interactions": interaction_lines(effects),
        "notes": [*(f"Missing cell: {each}" for each in effects.missing), *effects.notes],
    }


def _reasons(found: RunComparison) -> dict[str, object]:
    return {
        "failed": [each.failed for each in found.why.values()],
        "verdicts": [each.verdicts for each in found.why.values()],
        "rows": [{"name": name, "counts": counts} for name, counts in found.reasons()],
    }


def comparison_plots(found: RunComparison) -> list[Drawing]:
    # A number over chosen tasks has its mark wherever it is drawn.
    marks = {name: subset_of(run.config) for name, run in found.runs.items()}
    named = {
        name if marks[name] is None else f"{name}, {marks[name]}": summary
        for name, summary in found.summaries.items()
    }
    drawn = [] if found.grid else [pass_plot(named)]
    if found.two is not None:
        drawn.append(difference_plot(found.two))
    return drawn
