"""Simulations of grids whose true effects are known: ``python -m benchmarks.effects``.

Each cell draws many made-up grids and lets ``maseval.stats.effects`` find their effects. It counts
how often something is called shown that is not there, how often intervals hold the truth, how
often a true effect is found, and how large a factor without any effect is said to be. A share
outside its limits ends the program with an error; ``--write`` draws 300 grids for each cell and
puts the table into docs/which-architecture.md.
"""

import os
import random
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from benchmarks.table import show
from maseval.core.outcome import Outcome
from maseval.stats.effects import Contrast, Effects, find_effects

PAGE = Path(__file__).parents[1] / "docs" / "which-architecture.md"
BEGIN, END = "<!-- effects: begin -->", "<!-- effects: end -->"
WRITTEN, PRINTED = 300, 40
TRIALS = 4
SHAPES = ((2, 2, 1), (3, 3, 1), (4, 4, 1), (2, 2, 2))
TASKS = (5, 10, 20, 50)
TRUTHS = ("no effect", "equal on average", "+10", "fails a tenth", "+20 with one model")
ERROR, COVERAGE = 0.05, 0.95
# The base chances of tasks, so that every truth adds to them without reaching 0 or 1.
LOWEST, HIGHEST = 0.15, 0.65
STILL_PASSED, LOST = 0.05, 0.1


class Case(NamedTuple):
    """A made-up grid: systems, models and domains, the tasks of each domain, and the truth.

    All is about the last system: it is as good as the others, or as good on average, or better by
    ten points, or nearly always fails a tenth of the tasks, or is better with the last model only.
    """

    shape: tuple[int, int, int]
    tasks: int
    truth: str

    @property
    def name(self) -> str:
        systems, models, domains = self.shape
        return f"{systems} \u00d7 {models}" + (f" \u00d7 {domains} domains" if domains > 1 else "")

    def gain(self, system: int, model: int) -> float:
        """Return the mean gain of a cell over its tasks' base chances."""
        systems, models, _ = self.shape
        if system < systems - 1:
            return 0.0
        if self.truth == "fails a tenth":
            return LOST * (STILL_PASSED - (LOWEST + HIGHEST) / 2)
        if self.truth == "+20 with one model":
            return 0.2 * (model == models - 1)
        return 0.1 * (self.truth == "+10")

    def difference(self, contrast: Contrast) -> float:
        """Return the true value of a contrast."""
        systems, models, _ = self.shape
        fixed = dict(zip(contrast.factors, contrast.levels, strict=True))
        total, cells = 0.0, 0
        for system, model in product(range(systems), range(models)):
            place = {"system": f"s{system}", "model": f"m{model}"}
            signs = [
                1 if level == fixed[name][1] else -1
                for name, level in place.items()
                if name in fixed and level in fixed[name]
            ]
            wanted = [name for name in fixed if name in place]
            if len(signs) == len(wanted) and wanted:
                sign = -1 if signs.count(-1) % 2 else 1
                total, cells = total + sign * self.gain(system, model), cells + 1
        if "domain" in fixed or not cells:
            return 0.0
        return total / (cells / 2 ** len(fixed))

    def draw(self, rng: random.Random) -> Effects:
        systems, models, domains = self.shape
        every = product(range(systems), range(models), range(domains))
        cells: dict[tuple[int, int, int], list[Outcome]] = {each: [] for each in every}
        for domain, task in product(range(domains), range(self.tasks)):
            base, fails = rng.uniform(LOWEST, HIGHEST), rng.random() < LOST
            own = rng.choice((-0.15, 0.15)) if self.truth == "equal on average" else 0.0
            for system, model in product(range(systems), range(models)):
                chance = base + (own if system == systems - 1 else 0.0)
                if self.truth != "fails a tenth":
                    chance += self.gain(system, model)
                elif fails and system == systems - 1:
                    chance = STILL_PASSED
                cells[system, model, domain] += [
                    Outcome(f"d{domain}", str(task), trial, rng.random() < chance)
                    for trial in range(TRIALS)
                ]
        names = ("system", "model", "domain")[: 2 + (domains > 1)]
        return find_effects(
            (dict(zip(names, (f"s{a}", f"m{b}", f"d{c}"), strict=False)), outcomes)
            for (a, b, c), outcomes in cells.items()
        )


class Found(NamedTuple):
    """The shares of grids of a case.

    In ``false`` some contrast is called shown whose true value is 0, in ``crossed`` some
    interaction; ``held`` intervals of contrasts hold the truth, and ``range`` those of factors. A
    true effect is ``found`` in so many. A factor without an effect is said to be as large as
    ``size``, in points.
    """

    false: float
    crossed: float
    held: float
    range: float
    found: float | None
    size: float


def simulate(case: Case, repetitions: int, seed: int = 0) -> Found:
    """Return what becomes of made-up grids."""
    rng = random.Random(f"{case} {seed}")
    false, crossed, found, held, ranges, sizes = [], [], [], [], [], []
    for _ in range(repetitions):
        effects = case.draw(rng)
        every = [*effects.contrasts, *effects.interactions]
        truths = [round(case.difference(each), 12) for each in every]
        wrong = [
            each for each, truth in zip(every, truths, strict=True) if not truth and _shown(each)
        ]
        false.append(any(len(each.factors) == 1 for each in wrong))
        crossed.append(any(len(each.factors) > 1 for each in wrong))
        main = truths[: len(effects.contrasts)]
        held += [t in each.interval for each, t in zip(effects.contrasts, main, strict=True)]
        for factor in effects.factors:
            own = [
                abs(truth)
                for each, truth in zip(effects.contrasts, main, strict=True)
                if each.factors == (factor.name,)
            ]
            assert factor.interval is not None and factor.size is not None
            ranges.append(max(own) in factor.interval)
            sizes += [] if max(own) else [factor.size]
        wanted = 2 if "model" in case.truth else 1
        found.append(
            any(
                truth and _shown(each) and len(each.factors) == wanted
                for each, truth in zip(every, truths, strict=True)
            )
        )
    has_effect = case.truth not in TRUTHS[:2]
    return Found(
        fmean(false),
        fmean(crossed),
        fmean(held),
        fmean(ranges),
        fmean(found) if has_effect else None,
        100 * fmean(sizes or [0.0]),
    )


def _shown(contrast: Contrast) -> bool:
    return contrast.grade == "shown"


CASES = [Case(shape, tasks, truth) for shape, truth, tasks in product(SHAPES, TRUTHS, TASKS)]


def _simulate(job: tuple[Case, int]) -> Found:
    return simulate(*job)


def simulate_all(repetitions: int) -> dict[Case, Found]:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [(case, repetitions) for case in CASES]
        return dict(zip(CASES, pool.map(_simulate, jobs), strict=True))


COLUMNS = (
    *("grid", "truth", "tasks", "grids", "false effect", "false interaction"),
    *("interval holds", "range holds", "found", "size of no effect"),
)
# On the page, the worst grid of each truth and number of tasks: the most false, the least true.
WORST = (*COLUMNS[1:6], "intervals hold", *COLUMNS[8:])


def row_of(case: Case, found: Found, repetitions: int) -> tuple[str, ...]:
    return (
        case.name,
        case.truth,
        str(case.tasks),
        str(repetitions),
        *(f"{100 * share:.1f}" for share in found[:4]),
        "" if found.found is None else f"{100 * found.found:.0f}",
        f"{found.size:.1f}",
    )


def worst_of(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the worst over all shapes of grids, for each truth and number of tasks."""
    alike: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for row in sorted(rows, key=lambda row: (TRUTHS.index(row[1]), int(row[2]))):
        alike.setdefault(row[1:3], []).append(row)
    return [
        (
            *key,
            min((row[3] for row in same), key=int),
            max((row[4] for row in same), key=float),
            max((row[5] for row in same), key=float),
            min((share for row in same for share in row[6:8]), key=float),
            min((row[8] for row in same), key=lambda share: float(share or 0)),
            max((row[9] for row in same), key=float),
        )
        for key, same in alike.items()
    ]


def write(rows: Sequence[tuple[str, ...]]) -> None:
    """Put the table between its marks in docs/which-architecture.md."""
    lines = [WORST, ["---"] * len(WORST), *worst_of(rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", encoding="utf-8")


def broken(found: Mapping[Case, Found], repetitions: int) -> list[str]:
    """Return the cases whose errors or intervals are outside their limits, beyond luck."""
    luck = 3 * (ERROR * (1 - ERROR) / repetitions) ** 0.5
    return [
        f"{case}: {each}"
        for case, each in found.items()
        if max(each.false, each.crossed) > ERROR + luck
        or min(each.held, each.range) < COVERAGE - luck
    ]


def main() -> None:
    """Print a row for each case; exit with an error if one is outside its limits."""
    writes = "--write" in sys.argv[1:]
    repetitions = WRITTEN if writes else PRINTED
    found = simulate_all(repetitions)
    rows = [row_of(case, each, repetitions) for case, each in found.items()]
    if writes:
        write(rows)
    show("Effects of grids, in percent", COLUMNS, rows)
    if wrong := broken(found, repetitions):
        sys.exit("outside the limits: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
