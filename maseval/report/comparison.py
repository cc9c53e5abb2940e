"""Several runs on one page: one JSON document, which the page draws live, in a file or on a site.

It has the ``names`` of the runs, their ``results`` as a table, every pair of them in ``pairs`` with
its difference, its interval and whether it is sure, and the ``tasks`` that all of them have, each
with a cell for each run. ``differences`` is a table of every pass^k of two runs, by domain.
``reasons`` and ``tools`` count why simulations failed and what tools were used, with a number for
each run; they are None while they are not known. ``grid`` has the cells of a grid, the effects of
its factors as a plot and as tables, and ``system_facts`` what each system does wrong. The page adds
nothing to these numbers.
"""

from collections.abc import Iterable, Mapping, Sequence

from maseval.core.exceptions import ConfigurationError
from maseval.core.figures import between, in_points, money, p_value
from maseval.core.outcome import Outcome, TaskKey
from maseval.report.results import summary_table
from maseval.stats.comparison import UP_TO, ComparisonTable, Pair, compare_all, runs_by_tasks
from maseval.stats.summary import GroupSummary

ComparedDocument = dict[str, object]
"""The comparison as the page reads it."""

Cell = tuple[str] | tuple[str, list[int]]
"""The trials of a task in one run: a letter for each, ``p`` passed, ``f`` failed, ``x`` without a
verdict; then their numbers, unless these are 0, 1, 2 and so on."""


def compared_document(
    runs: Mapping[str, Sequence[Outcome]],
    table: ComparisonTable,
    notes: Mapping[TaskKey, str] | None = None,
) -> ComparedDocument:
    """Return what the outcomes of runs tell; ``notes`` say what tasks are about."""
    rows = [
        {"name": name, **_result_cells(summary.overall)} for name, summary in table.runs.items()
    ]
    return {
        "names": list(runs),
        "results": summary_table({"rows": rows}),
        "pairs": [_pair(each, list(runs)) for each in table.pairs],
        "tasks": _tasks(runs, compared_keys(runs, table), notes or {}),
        "headline": None,
        "cautions": table.cautions,
        "notes": table.notes,
        "left_out": table.dropped,
        "differences": None,
        "plots": [],
        "grid": None,
        "system_facts": [],
        "reasons": None,
        "tools": None,
    }


def compare_verdicts(runs: Mapping[str, Sequence[Outcome]]) -> ComparedDocument | None:
    """Compare runs of which no more is known than their verdicts; None if they share no task."""
    try:
        table = compare_all(runs)
    except ConfigurationError:
        return None
    return {**compared_document(runs, table), "cautions": []}


def compared_keys(
    runs: Mapping[str, Sequence[Outcome]], table: ComparisonTable
) -> dict[TaskKey, None]:
    """Return the tasks that a table of runs counts: in each, with a verdict, on the same data.

    Runs that have no task in common, as cells of different domains, count their own.
    """
    groups = {each.group for summary in table.runs.values() for each in summary.groups}
    found: dict[TaskKey, None] = {}
    for names in runs_by_tasks(runs):
        judged = [{e.key for e in runs[name] if e.passed is not None} for name in names]
        shared = {key for key in set.intersection(*judged) if key.domain in groups}
        found |= {each.key: None for each in runs[names[0]] if each.key in shared}
    return found


def _result_cells(overall: GroupSummary) -> dict[str, object]:
    return {
        "tasks": overall.tasks,
        "simulations": overall.planned,
        "verdicts": overall.done,
        **{
            each.name: each.in_brief()
            for each in overall.estimates
            if each.measure == "pass^k" and each.k <= UP_TO
        },
        "mean cost": money(overall.mean_cost),
    }


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
        "p_value": found.test.p_value,
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
    marks = "".join(_LETTERS[each.passed] for each in ordered)
    numbers = [each.trial for each in ordered]
    return (marks,) if numbers == [*range(len(numbers))] else (marks, numbers)


def _spread(cells: Iterable[Sequence[Outcome]]) -> float:
    """Return the highest pass rate of a task minus the lowest."""
    judged = ([each.passed for each in cell if each.passed is not None] for cell in cells)
    rates = [sum(cell) / len(cell) for cell in judged if cell]
    return max(rates) - min(rates) if rates else 0.0
