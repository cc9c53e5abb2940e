"""Simulations of runs that stop when the question is answered: ``python -m benchmarks.sequential``.

Each cell draws many made-up evaluations whose truth is known, of a new system and a baseline on
tasks as hard as those of a domain, and lets ``maseval.stats.sequential`` decide after each trial.
It counts errors, what is found, how often the interval holds the truth, and what was run. A share
outside its limits ends the program with an error. ``--write`` draws 10,000 evaluations for each
cell and puts the tables into docs/cheaper.md; ``--rates FOLDER`` counts how often tasks pass in
recorded conversations anew. The tests run a few cells with fewer repetitions.
"""

import gzip
import json
import math
import os
import random
import sys
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, lru_cache
from itertools import accumulate, product
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

from benchmarks.table import show
from maseval.stats.intervals import weighted_quantile
from maseval.stats.paired_evidence import Evidence, PairedTask
from maseval.stats.sequential import (
    Claim,
    Decision,
    SequentialPlan,
    decide_difference,
    decide_precision,
)
from maseval.stats.trials import Trials

PAGE = Path(__file__).parents[1] / "docs" / "cheaper.md"
# The page has the fewest tasks and the most; the others are printed.
ON_PAGE, NOT_ON_PAGE = {"airline", "all"}, {"equal on average"}
RATES = Path(__file__).with_name("task_rates.json")
TASKS = {"airline": 50, "retail": 114, "telecom": 114}
TRIALS = 4
MARGIN = 0.05
WRITTEN, PRINTED = 10_000, 160
Patterns = tuple[float, ...]
Row = tuple[str, ...]
ERROR, POWER_LOST, COVERAGE = 0.055, 0.02, (0.93, 0.97)


def count_rates(folder: Path) -> dict[str, list[list[int]]]:
    """Return passed and all recorded trials of each task, by domain, over all agents."""
    found = {}
    for domain in TASKS:
        tasks: dict[str, list[int]] = {}
        with gzip.open(folder / f"{domain}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                if record["reward_info"]:
                    counts = tasks.setdefault(record["task_id"], [0, 0])
                    counts[0] += record["reward_info"]["reward"] == 1
                    counts[1] += 1
        found[domain] = sorted(tasks.values())
    return found


@lru_cache
def chances_of(domain: str) -> list[float]:
    """Return a chance to pass for each task of a domain: those of the Beta law fitted to it.

    Mean and spread of the chances are estimated from tasks with two trials or more, without the
    luck of the trials.
    """
    counts = [each for each in json.loads(RATES.read_text())[domain] if each[1] > 1]
    mean = fmean(passed / n for passed, n in counts)
    square = fmean(passed * (passed - 1) / (n * (n - 1)) for passed, n in counts)
    size = mean * (1 - mean) / (square - mean * mean) - 1
    a, b, tasks = mean * size, (1 - mean) * size, TASKS[domain]
    return [weighted_quantile([(1.0, a), (0.0, b)], (i + 0.5) / tasks) for i in range(tasks)]


def _bisect(rising: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


def shift(chances: Sequence[float], gain: float, unequal: float = 0.0) -> list[float]:
    """Return chances that are higher by ``gain`` on average, with a scatter in logits."""
    rng = random.Random(7)
    logits = [
        math.log(p / (1 - p)) + unequal * rng.gauss(0, 1)
        for p in (min(1 - 1e-9, max(1e-9, each)) for each in chances)
    ]

    def moved(by: float) -> list[float]:
        return [1 / (1 + math.exp(-each - by)) for each in logits]

    wanted = fmean(chances) + gain
    return moved(_bisect(lambda by: fmean(moved(by)) - wanted, -30.0, 30.0))


class Cell(NamedTuple):
    """A made-up comparison with a finished baseline: the tasks, the truth and the question."""

    tasks: str
    truth: str
    question: Literal["better", "not worse"] = "better"

    @property
    def chances(self) -> tuple[list[float], list[float]]:
        """The chances to pass of each task: the baseline's and the new system's."""
        domains = TASKS if self.tasks == "all" else (self.tasks,)
        old = [p for domain in domains for p in chances_of(domain)]
        if self.truth == "equal":
            return old, old
        if self.truth == "equal on average":
            return old, shift(old, 0.0, unequal=1.0)
        return old, shift(old, int(self.truth) / 100)

    def plan(self, looks: tuple[int, ...]) -> SequentialPlan:
        return SequentialPlan(
            self.question,
            looks,
            baseline_trials=TRIALS,
            margin=MARGIN if self.question == "not worse" else 0.0,
        )


class Found(NamedTuple):
    """The shares of evaluations in a cell.

    ``high`` and ``low`` are decided above and below the question's value, ``fixed_high`` and
    ``fixed_low`` by all trials and one look; ``held`` intervals hold the truth, and ``run`` is the
    share of the simulations that were run.
    """

    high: float
    low: float
    fixed_high: float
    fixed_low: float
    held: float
    run: float


def simulate(cell: Cell, repetitions: int, seed: int = 0) -> Found:
    """Return what becomes of made-up evaluations."""
    old, new = cell.chances
    truth = fmean(new) - fmean(old)
    rng = random.Random(f"{cell} {seed}")
    looks = tuple(range(1, TRIALS + 1))
    before, after = list(map(patterns, old)), list(map(patterns, new))
    plan, fixed = cell.plan(looks), cell.plan((TRIALS,))
    rows = []
    for _ in range(repetitions):
        rounds = draw_rounds(before, after, rng)
        stopped = stop(plan, rounds)
        whole = decide_difference(fixed, rounds[-1:])
        assert stopped.interval is not None
        rows.append(
            (
                stopped.outcome in ("better", "not worse"),
                stopped.outcome == "worse",
                whole.outcome in ("better", "not worse"),
                whole.outcome == "worse",
                truth in stopped.interval,
                stopped.looks[-1].trials / TRIALS,
            )
        )
    return Found(*(fmean(column) for column in zip(*rows, strict=True)))


def is_null(cell: Cell) -> bool:
    """Return whether neither system is better."""
    return cell.question == "better" and cell.truth.startswith("equal")


def repeated_test_row(cell: Cell, repetitions: int) -> Row:
    """Return how often a test at 5 %, repeated after each trial, finds what is not there."""
    old, new = (list(map(patterns, each)) for each in cell.chances)
    rng, errors = random.Random(str(cell)), 0
    for _ in range(repetitions):
        rounds = draw_rounds(old, new, rng)
        errors += any(
            decide_difference(cell.plan((look,)), [each]).outcome != "undecided"
            for look, each in enumerate(rounds, start=1)
        )
    return cell.tasks, cell.truth, _percent(errors / repetitions)


def stop(plan: SequentialPlan, rounds: Sequence[Evidence]) -> Decision:
    """Return the decision with which an evaluation ends."""
    for look in range(1, len(rounds) + 1):
        found = decide_difference(plan, rounds[:look])
        if found.stops:
            return found
    raise AssertionError("the last look always ends a run")


def draw_rounds(
    old: Sequence[Patterns], new: Sequence[Patterns], rng: random.Random
) -> list[Evidence]:
    """Return the evidence after each trial."""
    draw = rng.random
    drawn = Counter(
        (bisect(theirs, draw()), bisect(mine, draw()))
        for theirs, mine in zip(old, new, strict=True)
    )
    rounds: list[Counter[PairedTask]] = [Counter() for _ in range(TRIALS)]
    for (theirs, mine), count in drawn.items():
        for look, task in enumerate(count_pattern(theirs, mine)):
            rounds[look][task] += count
    return list(map(Evidence, rounds))


def patterns(chance: float) -> Patterns:
    """Return the chances, added up, of the ways a task's trials can come out; all but the last."""
    ways = [
        math.prod(chance if way >> trial & 1 else 1 - chance for trial in range(TRIALS))
        for way in range(2**TRIALS)
    ]
    return tuple(accumulate(ways))[:-1]


@cache
def count_pattern(theirs: int, mine: int) -> list[PairedTask]:
    """Return the counts of a task after each trial; a bit is set for each that passed."""
    found = []
    for trials in range(1, TRIALS + 1):
        first = 2**trials - 1
        new = Trials(trials, (mine & first).bit_count())
        found.append(PairedTask(new, Trials(TRIALS, theirs.bit_count())))
    return found


DIFFERENCES = [
    Cell(tasks, truth)
    for tasks, truth in product((*TASKS, "all"), ("equal", "equal on average", "+5", "+10"))
]
OTHERS = [
    Cell(tasks, truth, question="not worse")
    for tasks, truth in product((*TASKS, "all"), ("-5", "equal"))
]


def _part(task: tuple[Cell, int, int]) -> tuple[Cell, Found]:
    cell, repetitions, seed = task
    return cell, simulate(cell, repetitions, seed)


def simulate_all(cells: Iterable[Cell], repetitions: int, parts: int = 4) -> dict[Cell, Found]:
    """Return what becomes of each cell, on all processors."""
    found: dict[Cell, list[Found]] = {}
    tasks = [(cell, repetitions // parts, part) for cell in cells for part in range(parts)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for cell, each in pool.map(_part, tasks):
            found.setdefault(cell, []).append(each)
    return {
        cell: Found(*(fmean(column) for column in zip(*several, strict=True)))
        for cell, several in found.items()
    }


def faults(cell: Cell, found: Found, repetitions: int) -> list[str]:
    """Return the promises that a cell breaks by more than the luck of the draws."""
    luck = 3 / math.sqrt(repetitions)
    wrong = found.high + found.low if is_null(cell) else found.low
    limit = ERROR
    if cell.truth == f"-{100 * MARGIN:.0f}":
        wrong, limit = found.high, ERROR / 2
    broken = []
    if wrong > limit + luck * math.sqrt(limit * (1 - limit)):
        broken.append(f"error {wrong:.3f}")
    if found.high < found.fixed_high - POWER_LOST - luck * 0.15:
        broken.append(f"power {found.high:.3f} of {found.fixed_high:.3f}")
    spread = luck * math.sqrt(COVERAGE[0] * (1 - COVERAGE[0]))
    if not COVERAGE[0] - spread <= found.held <= COVERAGE[1] + spread:
        broken.append(f"coverage {found.held:.3f}")
    return broken


HEAD: Row = (
    *("tasks", "truth", "better", "worse", "better or worse, all trials"),
    *("coverage", "simulations run"),
)


def rows_of(found: Mapping[Cell, Found]) -> list[Row]:
    """Return a row in percent for each cell."""
    return [
        (
            cell.tasks,
            cell.truth,
            _percent(each.high),
            _percent(each.low),
            f"{_percent(each.fixed_high)} / {_percent(each.fixed_low)}",
            _percent(each.held),
            f"{100 * each.run:.0f}",
        )
        for cell, each in found.items()
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


class Width(NamedTuple):
    """A made-up run that stops when its interval is narrow enough."""

    tasks: str
    claim: Claim
    half_width: float


WIDTHS = [
    Width("airline", "on these tasks", 0.05),
    Width("retail", "on these tasks", 0.03),
    Width("all", "on these tasks", 0.02),
    Width("airline", "on tasks like these", 0.11),
    Width("retail", "on tasks like these", 0.05),
]
MOST_TRIALS = 8


def simulate_width(width: Width, repetitions: int) -> Row:
    """Return how often the interval holds, how often it is narrow enough, and the trials run."""
    chances = Cell(width.tasks, "equal").chances[0]
    looks = tuple(range(1, MOST_TRIALS + 1))
    plan = SequentialPlan("precision", looks, half_width=width.half_width, claim=width.claim)
    rng, rows = random.Random(str(width)), []
    for _ in range(repetitions):
        drawn = chances if width.claim == "on these tasks" else rng.choices(chances, k=len(chances))
        passed, rounds = [0] * len(drawn), []
        for trials in looks:
            passed = [n + (rng.random() < p) for n, p in zip(passed, drawn, strict=True)]
            rounds.append([Trials(trials, n) for n in passed])
            found = decide_precision(plan, rounds)
            if found.stops:
                break
        assert found.interval is not None
        rows.append(
            (fmean(chances) in found.interval, found.outcome == "precise", found.looks[-1].trials)
        )
    held, precise, run = (fmean(column) for column in zip(*rows, strict=True))
    reach = f"\u00b1{100 * width.half_width:.0f}"
    return width.tasks, width.claim, reach, _percent(held), _percent(precise), f"{run:.1f}"


TABLES: dict[str, Row] = {
    "differences": HEAD,
    "others": ("question", *HEAD),
    "widths": ("tasks", "claim", "wanted", "coverage", "reached", "trials run"),
    "repeated tests": ("tasks", "truth", "called better or worse"),
}


def main() -> None:
    """Print the tables; exit with an error if a promise is broken."""
    if "--rates" in sys.argv:
        counted = count_rates(Path(sys.argv[sys.argv.index("--rates") + 1]))
        RATES.write_text(json.dumps(counted) + "\n", encoding="utf-8")
    writes = "--write" in sys.argv
    many = WRITTEN if writes else PRINTED
    few = many // 4
    found = simulate_all(DIFFERENCES, many)
    others = simulate_all(OTHERS, few)
    names = [cell.question for cell in OTHERS]
    tables: dict[str, list[Row]] = {
        "differences": rows_of(found),
        "others": [(name, *row) for name, row in zip(names, rows_of(others), strict=True)],
        "widths": [simulate_width(width, few) for width in WIDTHS],
        "repeated tests": [repeated_test_row(cell, few) for cell in DIFFERENCES if is_null(cell)],
    }
    for title, rows in tables.items():
        show(f"{title}, in percent", TABLES[title], rows)
        if writes:
            write(title, [row for row in rows if ON_PAGE & set(row) and not NOT_ON_PAGE & set(row)])
    wrong = [(cell, faults(cell, each, many)) for cell, each in found.items()]
    wrong += [(cell, faults(cell, each, few)) for cell, each in others.items()]
    if broken := [f"{cell}: {', '.join(why)}" for cell, why in wrong if why]:
        sys.exit("\n".join(broken))


def write(title: str, rows: Sequence[Row]) -> None:
    """Put a table between its marks in docs/cheaper.md, if they are there."""
    begin, end = f"<!-- {title}: begin -->", f"<!-- {title}: end -->"
    head = TABLES[title]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    before, mark, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    table = "\n".join(lines)
    if mark:
        PAGE.write_text(f"{before}{begin}\n\n{table}\n\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
