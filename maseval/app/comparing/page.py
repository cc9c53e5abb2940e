"""Compared runs in the form that the page shows: one JSON document for all of its places."""

from collections.abc import Mapping
from dataclasses import asdict

from maseval.app.comparing.blocks import (
    contrasts_table,
    differences_table,
    factors_table,
    facts_table,
    interaction_lines,
    lines_on_two,
)
from maseval.app.comparing.cells import ComparedGrid
from maseval.app.comparing.compare import RunComparison
from maseval.app.comparing.compared_runs import some
from maseval.core.figures import duration, money
from maseval.core.outcome import TaskKey
from maseval.report.comparison import ComparedDocument, compared_document
from maseval.report.results import drawing
from maseval.runs.config import subset_of
from maseval.stats import cost_and_score, difference_plot, effects_plot, pass_curves


def document_of(
    found: RunComparison, notes: Mapping[TaskKey, str] | None = None
) -> ComparedDocument:
    """Return the document; ``notes`` say what tasks are about.

    What was not looked into, which is the reasons of failures and the use of tools, is None.
    """
    outcomes = {name: run.outcomes for name, run in found.runs.items()}
    *official, headline = found.headlines
    two = found.two
    return {
        **compared_document(outcomes, found.table, notes),
        "headline": headline,
        "cautions": [*official, *filter(None, [found.texts]), *found.notes, *found.cautions],
        "left_out": list(found.dropped),
        "differences": two and asdict(differences_table(found, two)),
        "notes": [
            *([f"Compared: {'; '.join(found.differing)}"] if found.differing else []),
            *(map(str.strip, lines_on_two(found, two)) if two else ()),
            *(two or found.table).notes,
            *_costs(found),
        ],
        "plots": [drawing(plot) for plot in comparison_plots(found)],
        "grid": found.grid and _grid(found.grid, list(found.runs)),
        **looked_into(found),
    }


def looked_into(found: RunComparison) -> dict[str, object]:
    """Return the reasons of failures and the use of tools, as far as they are known."""
    return {
        "reasons": _reasons(found) if found.why else None,
        "tools": _tools(found) if found.tools else None,
        "system_facts": [asdict(each) for each in facts_table(found.facts)],
    }


def _grid(grid: ComparedGrid, names: list[str]) -> dict[str, object]:
    """Return the cells by their levels, and the tables on factors and their levels."""
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
        "plot": drawing(effects_plot(effects)) if effects.contrasts else None,
        "tables": [asdict(factors_table(effects)), asdict(contrasts_table(effects))],
        "interactions": interaction_lines(effects),
        "notes": [*(f"Missing cell: {each}" for each in effects.missing), *effects.notes],
    }


def _reasons(found: RunComparison) -> dict[str, object]:
    return {
        "failed": [each.failed for each in found.why.values()],
        "verdicts": [each.verdicts for each in found.why.values()],
        "rows": [{"name": name, "counts": counts} for name, counts in found.reasons()],
        "unexplained": [
            f"{name}: {each.unexplained}" for name, each in found.why.items() if each.unexplained
        ],
    }


def _tools(found: RunComparison) -> list[dict[str, object]]:
    """Return each tool with its calls and errors in each run, the most used first."""
    known = [found.tools.get(name) for name in found.runs]
    names = dict.fromkeys(name for each in known if each for name in each.calls)
    rows: list[dict[str, object]] = [
        {
            "name": name,
            "calls": [None if each is None else each.calls.get(name, 0) for each in known],
            "errors": [None if each is None else each.errors.get(name, 0) for each in known],
        }
        for name in sorted(
            names, key=lambda n: (-sum(each.calls.get(n, 0) for each in known if each), n)
        )
    ]
    return rows


def _costs(found: RunComparison) -> list[str]:
    """Say of which runs no cost is known, so that none is taken for a run that cost nothing."""
    without = [n for n, each in found.summaries.items() if each.overall.mean_cost is None]
    return [f"no cost known for {some(without)}"] if without else []


def comparison_plots(found: RunComparison) -> list[str]:
    """Draw pass^k of all, the differences of two, and cost against score where costs are known."""
    marks = {name: subset_of(run.config) for name, run in found.runs.items()}
    named = {
        name if marks[name] is None else f"{name}, {marks[name]}": summary
        for name, summary in found.summaries.items()
    }
    drawn = [] if found.grid else [pass_curves(named)]
    if found.two is not None:
        drawn.append(difference_plot(found.two))
    if any(summary.overall.mean_cost for summary in found.summaries.values()):
        drawn.append(cost_and_score(named))
    return drawn
