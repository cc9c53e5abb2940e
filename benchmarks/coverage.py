"""Simulations of whether the statistics hold what they promise, printed as tables.

Each draws many made-up benchmarks whose truth is known and counts how often an interval holds it,
or a test finds a difference. A share outside its limits ends the program with an error.
``python -m benchmarks.coverage``; with ``--write`` the table of intervals is put into
docs/statistics.md. The tests run a few of these with fewer repetitions.
"""

import os
import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import NormalDist, fmean, variance
from typing import NamedTuple

from benchmarks.table import show
from maseval.core.outcome import Outcome
from maseval.stats.comparison import compare
from maseval.stats.intervals import Interval, mean_interval
from maseval.stats.planning import Pairs, detectable_difference, plan, reach
from maseval.stats.sign_flip import sign_flip_test
from maseval.stats.trial_noise import rerun_interval
from maseval.stats.trials import Trials, mean_over_tasks, task_scores

Shape = tuple[float, float]

PAGE = Path(__file__).parents[1] / "docs" / "statistics.md"
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
TASKS, TRIALS, MOST_K = (20, 50, 114), (2, 4, 8), 4
REPETITIONS = 2000


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
    "all 0.1": mixture((0.1, 1.0)),
    "all 0.5": mixture((0.5, 1.0)),
    "all 0.9": mixture((0.9, 1.0)),
}


class Coverage(NamedTuple):
    """How often each interval holds its truth: the one over tasks, and that of a rerun."""

    tasks: float
    rerun: float


def coverage_of(
    population: Population, tasks: int, trials: int, repetitions: int
) -> dict[int, Coverage]:
    """Return how often the intervals of each pass^k hold, over made-up runs of as many tasks."""
    rng = random.Random(1000 * tasks + trials)
    ks = range(1, min(trials, MOST_K) + 1)
    held = {k: [0, 0] for k in ks}
    known: dict[tuple[int, ...], dict[int, tuple[Interval | None, Interval | None]]] = {}
    for _ in range(repetitions):
        chances = [population.draw(rng) for _ in range(tasks)]
        counts = sorted(draw_trials(chances, trials, rng))
        found = known.setdefault(tuple(each.passed for each in counts), {})
        for k in ks:
            if k not in found:
                value = mean_over_tasks(counts, "pass^k", k)
                found[k] = (
                    mean_interval(task_scores(counts, "pass^k", k)),
                    rerun_interval(counts, "pass^k", k, value, 0.95),
                )
            over_tasks, rerun = found[k]
            held[k][0] += _holds(over_tasks, population.truth(k))
            held[k][1] += _holds(rerun, fmean(p**k for p in chances))
    return {k: Coverage(*(count / repetitions for count in counts)) for k, counts in held.items()}


Grid = dict[tuple[str, int, int], dict[int, Coverage]]


def coverage_grid() -> Grid:
    """Return the coverage of each population, number of trials and of tasks, on all processors."""
    cells = list(product(POPULATIONS, TRIALS, TASKS))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(cells, pool.map(_coverage_in, cells), strict=True))


def _coverage_in(cell: tuple[str, int, int]) -> dict[int, Coverage]:
    name, trials, tasks = cell
    return coverage_of(POPULATIONS[name], tasks, trials, REPETITIONS)


def rendered(grid: Grid) -> str:
    """Return the grid as a Markdown table: of all k, the least and the largest coverage."""
    head = [f"{kind}, {tasks} tasks" for kind in ("`interval`", "`rerun`") for tasks in TASKS]
    lines = [
        f"| chances to pass | trials | {' | '.join(head)} |",
        "|---|---|" + "---|" * len(head),
    ]
    for name, trials in product(POPULATIONS, TRIALS):
        cells = []
        for kind, tasks in product(Coverage._fields, TASKS):
            shares = [getattr(each, kind) for each in grid[name, trials, tasks].values()]
            cells.append(f"{100 * min(shares):.0f}-{100 * max(shares):.0f}")
        lines.append(f"| {name} | {trials} | {' | '.join(cells)} |")
    return "\n".join(lines)


def write(table: str) -> None:
    """Put the table between its marks in docs/statistics.md."""
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
            # Never less than 93 %, but for the luck of so many repetitions.
            yield Simulation("interval holds the mean", case, found.tasks, 0.92, 1.0)
            yield Simulation("rerun interval holds the true score", case, found.rerun, 0.92, 1.0)


def _simulations() -> Iterator[Simulation]:
    sizes = [(1, 1), (4, 1), (4, 4)]
    for tasks, (trials, k) in product([10, 50, 114], sizes):
        share = difference_coverage(tasks, trials, k, repetitions=200)
        case = f"{tasks} tasks, {trials} trials, k={k}"
        yield Simulation("interval holds the difference", case, share, 0.90, 1.0)
    alarms = false_alarms(repetitions=1000)
    yield Simulation("equal agents called different", "30 tasks", alarms, 0.025, 0.065)
    found, expected = detection(repetitions=400)
    yield Simulation(
        "difference found", "80 tasks, 4 trials", found, expected - 0.06, expected + 0.06
    )
    for seed in (1, 2, 3):
        share, overcautious = planned_power(seed, repetitions=200)
        high = 1.0 if overcautious else 0.9
        yield Simulation("planned trials decide", f"100 tasks, seed {seed}", share, 0.7, high)


def difference_coverage(tasks: int, trials: int, k: int, repetitions: int) -> float:
    """Return how often the interval of a comparison holds the true difference of two agents."""
    rng = random.Random(tasks + k)
    truth = fmean((0.9 * p) ** k - p**k for p in draw_chances(40_000, 2, 0.5, rng))
    hits = 0
    for _ in range(repetitions):
        fixed = draw_chances(tasks, 2, 0.5, rng)
        first, second = (
            outcomes_of_counts(draw_trials([p * skill for p in fixed], trials, rng))
            for skill in (1.0, 0.9)
        )
        hits += _holds(compare(first, second, k=k, up_to=0).main.interval, truth)
    return hits / repetitions


def false_alarms(repetitions: int) -> float:
    """Return how often two equal agents are called different at the 5% level."""
    rng = random.Random(7)
    pairs = []
    for _ in range(repetitions):
        fixed = draw_chances(30, 1, 1, rng)
        pairs.append(Pairs(draw_trials(fixed, 4, rng), draw_trials(fixed, 4, rng)))
    return fmean(is_decided(each) for each in pairs)


def detection(repetitions: int) -> tuple[float, float]:
    """Return how often a difference is found, and how often its detectable size says it is."""
    rng, shift, detectable, found = random.Random(4), 0.08, [], 0
    for _ in range(repetitions):
        fixed = [0.2 + 0.4 * p for p in draw_chances(80, 1, 1, rng)]
        pairs = Pairs(*(draw_trials([p + s for p in fixed], 4, rng) for s in (0.0, shift)))
        detectable.append(detectable_difference(pairs.differences, 0.95) or 0.0)
        found += is_decided(pairs)
    standard_errors_away = shift / fmean(detectable) * reach(0.95)
    return found / repetitions, 1 - NormalDist().cdf(1.96 - standard_errors_away)


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


def _holds(interval: Interval | None, truth: float) -> bool:
    return interval is not None and truth in interval


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


def outcomes_of_counts(counts: list[Trials]) -> list[Outcome]:
    """Return the outcomes of a run in which the tasks passed so often."""
    return [
        Outcome("shop", str(task), trial, trial < each.passed)
        for task, each in enumerate(counts)
        for trial in range(each.total)
    ]


if __name__ == "__main__":
    main()
