"""Runs that are the cells of one grid: found in a folder, and side by side in tables.

Each such run records in its configuration, under ``cell``, its level of every factor.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from maseval.app.benchmarks import RecordedOutcomes
from maseval.app.results.names import Files, each_of, is_results_folder
from maseval.core.exceptions import ConfigurationError
from maseval.runs import default_root, list_runs
from maseval.runs.config import cell_of
from maseval.runs.config_file import is_run_folder
from maseval.stats import Estimate, Summary
from maseval.stats.effects import Effects, find_effects
from maseval.stats.result import Result

# The factor whose levels are shown side by side by what they fail of; the first if none is it.
_SYSTEM = "system"


def expand_grids(runs: Files) -> tuple[list[str | os.PathLike[str]], list[str]]:
    """Put the cells of a grid in place of its folder; also say which have no verdict yet."""
    found: list[str | os.PathLike[str]] = []
    notes: list[str] = []
    for run in each_of(runs):
        folder = next((p for p in (Path(run), default_root() / run) if p.is_dir()), None)
        if folder is None or is_run_folder(folder) or is_results_folder(folder):
            found.append(run)
            continue
        cells = [each for each in list_runs(folder) if cell_of(each.config or {})]
        if not cells:
            raise ConfigurationError(
                f"{folder} is neither a run nor a grid: no run in it records its cell; name the "
                "runs to compare"
            )
        # In the order in which they ran, which is that of the file that lists them.
        for each in sorted(cells, key=lambda each: (each.started, each.name)):
            # A cell without a verdict cannot be compared, and must not be missing without a word.
            if each.done and each.verdicts != 0:
                found.append(each.path)
            else:
                notes.append(f"{each.name}: no verdict yet, left out")
    return found, notes


class GridCell(NamedTuple):
    """One cell: its run, its levels, and its numbers on the tasks that it shares with others."""

    run: str
    levels: Mapping[str, str]
    estimate: Estimate
    tasks: int
    passed: str
    mean_cost: float | None
    mean_seconds: float | None


@dataclass(frozen=True)
class ComparedGrid(Result):
    """The cells of a grid, the effects of its factors, and the names of the factors."""

    factors: Sequence[str]
    cells: Sequence[GridCell]
    effects: Effects

    @property
    def system(self) -> str:
        return _SYSTEM if _SYSTEM in self.factors else self.factors[0]


def compare_cells(
    runs: Mapping[str, RecordedOutcomes],
    summaries: Mapping[str, Summary],
    k: int,
    label: str | None = None,
) -> ComparedGrid | None:
    """Find the effects of a grid; None if the runs are not three cells or more of one."""
    levels = {name: cell_of(run.config) for name, run in runs.items()}
    factors = {tuple(sorted(each)) for each in levels.values()}
    # Two cells are two runs, of which a comparison says more.
    if len(runs) < 3 or len(factors) > 1 or factors == {()}:
        return None
    each = ((levels[name], run.outcomes) for name, run in runs.items())
    effects = find_effects(each, k=k, label=label)
    if not effects.factors:  # the same cell over and over
        return None
    cells = []
    for name, run in runs.items():
        overall = summaries[name].overall
        seconds = [each.seconds for each in run.outcomes if each.passed is not None]
        cells.append(
            GridCell(
                name,
                levels[name],
                overall.estimate(k),
                overall.tasks,
                f"{overall.passed}/{overall.done}",
                overall.mean_cost,
                # Outcomes that no report was read for have times of 0, which nobody measured.
                fmean(seconds) if any(seconds) else None,
            )
        )
    return ComparedGrid([*next(iter(levels.values()))], cells, effects)
