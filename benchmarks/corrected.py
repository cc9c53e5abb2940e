"""Simulations of shares that labels correct: how often their intervals hold the truth.

Runs of made-up tasks whose faults cluster by task, a judge that finds some and flags others, and
labels of a random sample. ``python -m benchmarks.corrected``; a cell below its limit ends the
program with an error.
"""

import os
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product, repeat
from statistics import fmean
from typing import NamedTuple

from benchmarks.table import show
from maseval.stats.corrected import Stratum, corrected_share, share_labels

SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
JUDGES = {"95/2": (0.95, 0.02), "80/5": (0.8, 0.05), "60/10": (0.6, 0.1)}
LABELS = (30, 60, 100)
TASKS = (20, 50, 114)
TRIALS = (1, 2, 3, 4)
CORRELATIONS = (0.3, 0.6)
"""How alike the trials of a task are."""

HEADINGS = [
    *("judge", "labels", "cells", "here, worst", "mean", "like these, worst", "mean"),
    *("width here", "raw share inside"),
]
REPETITIONS, REPEATED = 500, 5000
"""Runs of each cell, and of a cell that seems to be below the limit: of hundreds of cells some are,
by chance."""
LIMIT = 0.93


class Cell(NamedTuple):
    share: float
    judge: str
    labels: int
    tasks: int
    trials: int
    correlation: float


class Coverage(NamedTuple):
    here: float
    like_these: float
    width: float
    naive: float
    """How often the judge's raw share is within the interval: what goes uncorrected."""


def cells() -> list[Cell]:
    """Return all cells in which there are as many conversations as labels."""
    every = product(SHARES, JUDGES, LABELS, TASKS, TRIALS, CORRELATIONS)
    return [cell for cell in map(Cell._make, every) if cell.labels <= cell.tasks * cell.trials]


def coverage_of(cell: Cell, repetitions: int = REPETITIONS) -> Coverage:
    """Return how often the intervals hold in a cell."""
    rng = random.Random(f"{cell} {repetitions}")
    here = like_these = width = naive = 0.0
    for _ in range(repetitions):
        strata = draw_run(cell, rng)
        totals = [len(stratum) for stratum in strata]
        known = []
        for stratum, part in zip(strata, share_labels(totals, cell.labels), strict=True):
            drawn = rng.sample(stratum, part)
            known.append(Stratum(len(stratum), part, sum(broken for _, broken in drawn)))
        found = corrected_share(known, [[task for task, _ in stratum] for stratum in strata])
        assert found is not None
        assert found.like_these is not None
        truth = sum(broken for stratum in strata for _, broken in stratum) / sum(totals)
        low, high = found.here.low - 1e-9, found.here.high + 1e-9
        here += low <= truth <= high
        like_these += cell.share in found.like_these
        width += high - low
        naive += low <= totals[0] / sum(totals) <= high
    return Coverage(*(total / repetitions for total in (here, like_these, width, naive)))


def draw_run(cell: Cell, rng: random.Random) -> list[list[tuple[int, bool]]]:
    """Return the flagged and the other conversations: the task of each, and if it is broken."""
    finds, flags_falsely = JUDGES[cell.judge]
    size = 1 / cell.correlation - 1
    strata: list[list[tuple[int, bool]]] = [[], []]
    for task in range(cell.tasks):
        chance = rng.betavariate(cell.share * size, (1 - cell.share) * size)
        for _ in range(cell.trials):
            broken = rng.random() < chance
            flagged = rng.random() < (finds if broken else flags_falsely)
            strata[not flagged].append((task, broken))
    return strata


def main() -> None:
    """Print the worst and mean coverage by judge and labels; exit with an error below the limit."""
    every = cells()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(every, pool.map(coverage_of, every, chunksize=4), strict=True))
        low = [cell for cell, coverage in found.items() if is_low(coverage)]
        again = dict(zip(low, pool.map(coverage_of, low, repeat(REPEATED)), strict=True))
    rows = []
    for judge, labels in product(JUDGES, LABELS):
        group = [c for cell, c in found.items() if (cell.judge, cell.labels) == (judge, labels)]
        rows.append(
            (
                judge,
                str(labels),
                str(len(group)),
                *(
                    f"{pick(getattr(c, kind) for c in group):.3f}"
                    for kind in ("here", "like_these")
                    for pick in (min, fmean)
                ),
                f"{fmean(c.width for c in group):.3f}",
                f"{fmean(c.naive for c in group):.2f}",
            )
        )
    show(
        "Corrected shares: how often their intervals hold the truth",
        HEADINGS,
        rows,
    )
    print(f"{len(found)} cells of {REPETITIONS} runs; below {LIMIT}: {len(low)}")
    for cell, c in again.items():
        print(f"with {REPEATED} runs: {c.here:.3f} and {c.like_these:.3f} for {cell}")
    if any(map(is_low, again.values())):
        sys.exit(f"below {LIMIT}")


def is_low(coverage: Coverage) -> bool:
    """Return True if an interval holds less often than it should."""
    return min(coverage.here, coverage.like_these) < LIMIT


if __name__ == "__main__":
    main()
