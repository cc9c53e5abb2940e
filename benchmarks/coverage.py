"""Simulations of whether the statistics hold what they promise, printed as tables.

Each draws many made-up benchmarks whose truth is known and counts how often an interval holds it,
or a test finds a difference. A share outside its limits ends the program with an error.
``python -m benchmarks.coverage``; with ``--write`` the tables of intervals are put into
docs/how-we-know.md.
"""

import os
import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import fmean, variance
from typing import NamedTuple

from benchmarks.table import show
from maseval.stats.intervals import Interval, mean_interval
from maseval.stats.planning import Pairs, plan
from maseval.stats.sign_flip import sign_flip_test
from maseval.stats.trial_noise import rerun_interval
from maseval.stats.trials import Trials, mean_over_tasks, task_scores

Shape = tuple[float, float]

PAGE = Path(__file__).parents[1] / "docs" / "how-we-know.md"
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
TASKS, TRIALS, KS = (2, 5, 10, 20, 50, 114), (2, 8), (1, 2, 4)
REPETITIONS = 1000

# The second agent of a difference nearly always fails so large a share of the tasks that the first
# passes as often as it passes any: differences of the most skewed kind.
LOST, STILL_PASSED = 0.1, 0.05


class Population(NamedTuple):
    """Tasks that an agent passes with different chances: how one is drawn, and the true pass^k."""

    draw: Callable[[random.Random], float]
    truth: Callable[[int], float]


def mixture(*parts: tuple[float, float]) -> Population:
    """Return tasks of which so large a share, the second number, has the first as its chance."""
    chances, shares = zip(*parts, strict=True)
    return Population(
        lambda rng: rng.choices(chances, shares)[0],
        lambda k: sum(share * p**k for p, share in parts),
    )


def beta(a: float, b: float) -> Population:
    """Return tasks whose chances follow Beta(a, b)."""
    return Population(lambda rng: rng.betavariate(a, b), lambda k: true_mean(a, b, k))


POPULATIONS = {
    "0.05 or 0.95": mixture((0.05, 0.5), (0.95, 0.5)),
    "never or 0.8": mixture((0.0, 0.4), (0.8, 0.6)),
    "always, never, a fifth 0.5": mixture((0.0, 0.4), (1.0, 0.4), (0.5, 0.2)),
    "all kinds, Beta(0.6, 0.6)": beta(0.6, 0.6),
    "low, Beta(1, 9)": beta(1, 9),
    "high, Beta(9, 1)": beta(9, 1),
    "0.95, a tenth 0.05": mixture((0.95, 0.9), (0.05, 0.1)),
    "0.95, a twentieth 0.05": mixture((0.95, 0.95), (0.05, 0.05)),
    "all 0.1": mixture((0.1, 1.0)),
    "all 0.5": mixture((0.5, 1.0)),
    "all 0.9": mixture((0.9, 1.0)),
}


class Coverage(NamedTuple):
    """How often each interval holds its truth; None if there is none."""

    interval: float
    difference: float
    rerun: float | None


_Spans = tuple[Interval, Interval, Interval | None]


def coverage_of(
    population: Population, tasks: int, trials: int, repetitions: int
) -> dict[int, Coverage]:
    """Return how often the intervals of each pass^k hold, over made-up runs of as many tasks."""
    rng = random.Random(1000 * tasks + trials)
    ks = [k for k in KS if k <= trials]
    held = {k: [0, 0, 0] for k in ks}
    for _ in range(repetitions):
        chances = [population.draw(rng) for _ in range(tasks)]
        others = [STILL_PASSED if rng.random() < LOST else p for p in chances]
        first, second = draw_trials(chances, trials, rng), draw_trials(others, trials, rng)
        for k in ks:
            truth = population.truth(k)
            change = LOST * (STILL_PASSED**k - truth)
            truths = truth, change, fmean(p**k for p in chances)
            for place, span in enumerate(_spans(first, second, k)):
                held[k][place] += span is not None and truths[place] in span
    return {
        k: Coverage(a / repetitions, b / repetitions, c / repetitions if trials >= 2 * k else None)
        for k, (a, b, c) in held.items()
    }


def _spans(first: list[Trials], second: list[Trials], k: int) -> _Spans:
    value = mean_over_tasks(first, k)
    return (
        mean_interval(task_scores(first, k)),
        mean_interval(Pairs(first, second, k).differences, bounds=(-1.0, 1.0)),
        rerun_interval(first, k, value, 0.95),
    )


Grid = dict[tuple[str, int, int], dict[int, Coverage]]


def coverage_grid() -> Grid:
    """Return the coverage of each population, number of trials and of tasks, on all processors."""
    cells = list(product(POPULATIONS, TRIALS, TASKS))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(cells, pool.map(coverage_in, cells), strict=True))


def coverage_in(cell: tuple[str, int, int]) -> dict[int, Coverage]:
    name, trials, tasks = cell
    return coverage_of(POPULATIONS[name], tasks, trials, REPETITIONS)


def rendered(grid: Grid) -> str:
    """Return the grid as Markdown: over all agents, trials and k, the least and most coverage."""
    lowest = []
    lines = [
        f"| 95% interval | {' | '.join(f'{each} tasks' for each in TASKS)} |",
        "|---|" + "---|" * len(TASKS),
    ]
    for kind in Coverage._fields:
        shares = {
            (name, tasks): [
                getattr(each, kind)
                for trials in TRIALS
                for each in grid[name, trials, tasks].values()
                if getattr(each, kind) is not None
            ]
            for name, tasks in product(POPULATIONS, TASKS)
        }
        (name, tasks), found = min(shares.items(), key=lambda each: min(each[1]))
        number = sum(map(len, shares.values()))
        lowest.append(f"`{kind}` {100 * min(found):.1f} % ({name}, {tasks} tasks; {number} tried)")
        cells = [[s for name in POPULATIONS for s in shares[name, each]] for each in TASKS]
        words = [f"{100 * min(each):.0f}-{100 * max(each):.0f}" for each in cells]
        lines.append(f"| `{kind}` | {' | '.join(words)} |")
    table = "\n".join(lines)
    return f"The lowest shares found: {'; '.join(lowest)}.\n\n{table}"


def write(table: str) -> None:
    """Put the tables between their marks in docs/how-we-know.md."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", encoding="utf-8")


class Simulation(NamedTuple):
    """The share of repetitions in which a promise was kept, and the limits it must lie within."""

    promise: str
    case: str
    share: float
    low: float
    high: float


def main() -> None:
    """Print a row for each simulation; exit with an error if one is outside its limits."""
    grid = coverage_grid()
    if "--write" in sys.argv[1:]:
        write(rendered(grid))
    rows = [*_grid_simulations(grid), *_simulations()]
    show(
        "How often the statistics hold what they promise",
        ["promise", "case", "share", "limits"],
        [(r.promise, r.case, f"{r.share:.3f}", f"{r.low:.3f} to {r.high:.3f}") for r in rows],
    )
    broken = [f"{row.promise}, {row.case}" for row in rows if not row.low <= row.share <= row.high]
    if broken:
        sys.exit(f"outside the limits: {'; '.join(broken)}")


def _grid_simulations(grid: Grid) -> Iterator[Simulation]:
    for (name, trials, tasks), by_k in grid.items():
        for k, found in by_k.items():
            case = f"{tasks} tasks, {name}, {trials} trials, k={k}"
            for kind, share in found._asdict().items():
                if share is not None:
                    yield Simulation(f"{kind} holds the truth", case, share, 0.92, 1.0)


def _simulations() -> Iterator[Simulation]:
    alarms = false_alarms(repetitions=1000)
    yield Simulation("equal agents called different", "30 tasks", alarms, 0.025, 0.065)
    for seed in (1, 2, 3):
        share, overcautious = planned_power(seed, repetitions=200)
        high = 1.0 if overcautious else 0.9
        yield Simulation("planned trials decide", f"100 tasks, seed {seed}", share, 0.7, high)


def false_alarms(repetitions: int) -> float:
    """Return how often two equal agents are called different at the 5% level."""
    rng = random.Random(7)
    pairs = []
    for _ in range(repetitions):
        fixed = draw_chances(30, 1, 1, rng)
        pairs.append(Pairs(draw_trials(fixed, 4, rng), draw_trials(fixed, 4, rng)))
    return fmean(is_decided(each) for each in pairs)


def planned_power(seed: int, repetitions: int) -> tuple[float, bool]:
    """Return how often the planned trials decide, and whether the plan allows for too much.

    Here tasks do not differ in the difference; where they seem to, the plan allows for it.
    """
    rng = random.Random(seed)
    fixed = [0.3 + 0.3 * p for p in draw_chances(100, 1, 1, rng)]
    known = Pairs(*(draw_trials([p + s for p in fixed], 4, rng) for s in (0.0, 0.05)))
    found = plan(known, 1.0, 0.95, (None, None))
    trials = found.trials or 0
    decided = sum(
        is_decided(Pairs(*(draw_trials([p + s for p in fixed], trials, rng) for s in shifts)))
        for shifts in [(0.0, found.difference)] * repetitions
    )
    overcautious = variance(known.differences) >= (known.noise() or 0.0)
    return decided / repetitions if trials > 4 else 0.0, overcautious


def is_decided(pairs: Pairs) -> bool:
    """Return whether the test of two runs is significant at the 5% level."""
    differences = [
        Fraction(b.passed - a.passed, a.total)
        for a, b in zip(pairs.first, pairs.second, strict=True)
    ]
    return sign_flip_test(differences).p_value <= 0.05


def draw_trials(chances: list[float], trials: int, rng: random.Random) -> list[Trials]:
    """Draw how often each task passes, given its chance."""
    return [Trials(trials, sum(rng.random() < p for _ in range(trials))) for p in chances]


def draw_chances(count: int, a: float, b: float, rng: random.Random) -> list[float]:
    """Draw the chances of so many tasks from Beta(a, b)."""
    return [rng.betavariate(a, b) for _ in range(count)]


def true_mean(a: float, b: float, k: int) -> float:
    """Return the mean of the k-th power of a chance that follows Beta(a, b)."""
    product_of_moments = 1.0
    for i in range(k):
        product_of_moments *= (a + i) / (a + b + i)
    return product_of_moments


if __name__ == "__main__":
    main()
