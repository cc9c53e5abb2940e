"""The time that statistics take on a full benchmark: ``python -m benchmarks.statistics``.

Two made-up runs of 278 tasks in three domains, four trials each: 1,112 simulations a run.
"""

import random
from collections.abc import Callable
from functools import partial

from benchmarks import coverage
from benchmarks.table import best, show
from maseval.stats import Outcome, compare, compare_all, pass_plot, summarise

TASKS = {"airline": 50, "retail": 114, "telecom": 114}
TRIALS = 4
ROUNDS = 3


def main() -> None:
    """Print the times, and then how often the statistics hold what they promise."""
    first, second, third = (
        made_up_run(seed, skill) for seed, skill in ((1, 1.0), (2, 1.3), (3, 1.1))
    )
    measured: dict[str, Callable[[], object]] = {
        "compare two runs": lambda: compare(first, second),
        "compare three runs": lambda: compare_all({"a": first, "b": second, "c": third}),
        "summarise": lambda: summarise(first),
        "draw pass^k": lambda: pass_plot({"a": summarise(first)}),
    }
    rows = [(name, f"{best(work, ROUNDS) * 1e3:.0f}") for name, work in measured.items()]
    show(f"Runs of {len(first):,} simulations", ["", "ms"], rows)
    show_growth()
    coverage.main()


def show_growth() -> None:
    """Print how the time of a summary grows with the trials; it should do so in proportion."""
    times = {}
    for trials in (100, 400, 1600):
        outcomes = [
            Outcome("shop", str(task), trial, (trial * (task + 1)) % 13 < task)
            for task in range(12)
            for trial in range(trials)
        ]
        work = partial(summarise, outcomes, planned=trials + 1)
        times[trials] = best(work, ROUNDS)
    rows = [
        (f"{trials:,} trials", f"{seconds * 1e3:.0f}", f"{seconds / times[100]:.1f}")
        for trials, seconds in times.items()
    ]
    show("Summaries of 12 tasks", ["", "ms", "times the first"], rows)


def made_up_run(seed: int, skill: float) -> list[Outcome]:
    """Return a run; each task has a chance of its own, the same in every run but for the skill."""
    tasks, luck = random.Random(0), random.Random(seed)
    outcomes = []
    for domain, count in TASKS.items():
        for task in range(count):
            chance = tasks.betavariate(0.8, 0.6) ** (1 / skill)
            outcomes += [
                Outcome(domain, str(task), trial, luck.random() < chance, luck.uniform(0.02, 0.2))
                for trial in range(TRIALS)
            ]
    return outcomes


if __name__ == "__main__":
    main()
