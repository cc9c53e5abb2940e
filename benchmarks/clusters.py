"""Simulations of clusters: do intervals hold, and how often do tests err, whatever their sizes?

``python -m benchmarks.clusters`` draws designs of 10 to 100 clusters of 1 to 30 cases, alike and
unlike, and compares what is promised with what comes out. A share outside its limits ends the
program with an error; ``--write`` puts the table into docs/how-we-know.md.
"""

import os
import random
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import NamedTuple

from benchmarks.table import show
from maseval.stats.intervals import cluster_interval, mean_interval
from maseval.stats.sign_flip import sign_flip_test

PAGE = Path(__file__).parents[1] / "docs" / "how-we-know.md"
BEGIN, END = "<!-- clusters: begin -->", "<!-- clusters: end -->"
CLUSTERS = (10, 20, 50, 100)
REPETITIONS = 400
LEAST_COVERAGE, MOST_ERRORS = 0.93, 0.055

# In the second system a tenth of the clusters nearly always fails.
LOST, STILL_PASSED = 0.1, 0.05

Draw = Callable[[random.Random], float]

CHANCES: dict[str, tuple[Draw, float]] = {
    "0.05 or 0.95": (lambda rng: rng.choice((0.05, 0.95)), 0.5),
    "all kinds, Beta(0.6, 0.6)": (lambda rng: rng.betavariate(0.6, 0.6), 0.5),
    "0.95, a tenth 0.05": (lambda rng: 0.05 if rng.random() < 0.1 else 0.95, 0.86),
    "alike, all 0.9": (lambda rng: 0.9, 0.9),
    "high, Beta(9, 1)": (lambda rng: rng.betavariate(9, 1), 0.9),
}
SIZES: dict[str, Draw] = {
    "all 5": lambda rng: 5,
    "1 to 30": lambda rng: rng.randint(1, 30),
    "1 or 30": lambda rng: rng.choice((1, 30)),
    "few of 30": lambda rng: 30 if rng.random() < 0.15 else rng.randint(1, 3),
}


class Design(NamedTuple):
    clusters: int
    sizes: str
    chances: str


class Kept(NamedTuple):
    """The shares of repetitions in which intervals held their truth, and in which tests erred.

    ``by_case`` is what an interval that takes cases for independent would have held.
    """

    interval: float
    difference: float
    erred: float
    by_case: float


def simulate(design: Design, repetitions: int = REPETITIONS) -> Kept:
    """Draw a design again and again: two equal systems, and one that loses a tenth of clusters."""
    rng = random.Random(repr(design))
    draw, mean = CHANCES[design.chances]
    counts = [0] * 4
    for _ in range(repetitions):
        sizes = [int(SIZES[design.sizes](rng)) for _ in range(design.clusters)]
        chances = [draw(rng) for _ in sizes]
        worse = [STILL_PASSED if rng.random() < LOST else p for p in chances]
        first, same, other = (_passed(each, sizes, rng) for each in (chances, chances, worse))
        rates = Counter((a / n, float(n)) for a, n in zip(first, sizes, strict=True))
        changes = Counter(
            ((b - a) / n, float(n)) for a, b, n in zip(first, other, sizes, strict=True)
        )
        total, passed = sum(sizes), sum(first)
        by_case = mean_interval([1.0] * passed + [0.0] * (total - passed))
        parts = [Fraction(b - a) for a, b in zip(first, same, strict=True)]
        counts[0] += mean in cluster_interval(rates)
        counts[1] += LOST * (STILL_PASSED - mean) in cluster_interval(changes, bounds=(-1.0, 1.0))
        counts[2] += sign_flip_test(parts).p_value <= 0.05
        counts[3] += mean in by_case
    return Kept(*(count / repetitions for count in counts))


def _passed(chances: list[float], sizes: list[int], rng: random.Random) -> list[int]:
    """Draw how many cases of each cluster pass."""
    return [sum(rng.random() < p for _ in range(n)) for p, n in zip(chances, sizes, strict=True)]


def rendered(found: dict[Design, Kept]) -> str:
    """Return the worst of each number of clusters as a Markdown table."""
    lines = [
        "| clusters | interval holds | difference holds | test errs |",
        "|---:|---:|---:|---:|",
    ]
    for number in CLUSTERS:
        mine = [kept for design, kept in found.items() if design.clusters == number]
        least = (min(each.interval for each in mine), min(each.difference for each in mine))
        most = max(each.erred for each in mine)
        cells = [f"{100 * each:.1f}" for each in (*least, most)]
        lines.append(f"| {number} | {' | '.join(cells)} |")
    return "\n".join(lines)


def write(table: str) -> None:
    """Put the table between its marks in docs/how-we-know.md."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    """Print a row for each design; exit with an error if one breaks its promise."""
    designs = [Design(*each) for each in product(CLUSTERS, SIZES, CHANCES)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(designs, pool.map(simulate, designs), strict=True))
    if "--write" in sys.argv[1:]:
        write(rendered(found))
    rows = [
        (*map(str, design), *(f"{share:.3f}" for share in kept)) for design, kept in found.items()
    ]
    columns = ["clusters", "cases in each", "chances", "interval", "difference", "test errs"]
    show("Clusters", [*columns, "interval over cases"], rows)
    broken = [
        " ".join(map(str, design))
        for design, kept in found.items()
        if min(kept.interval, kept.difference) < LEAST_COVERAGE or kept.erred > MOST_ERRORS
    ]
    if broken:
        sys.exit(f"outside the limits: {'; '.join(broken)}")


if __name__ == "__main__":
    main()
