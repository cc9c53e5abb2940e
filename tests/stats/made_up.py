"""Runs for tests: outcomes from counts of passed trials."""

import random

from maseval.stats import Outcome


def run(
    counts: list[int], trials: int = 4, group: str = "shop", cost: float | None = None
) -> list[Outcome]:
    """Return the outcomes of a run in which task ``i`` passed ``counts[i]`` times."""
    return [
        Outcome(group, str(task), trial, trial < passed, cost)
        for task, passed in enumerate(counts)
        for trial in range(trials)
    ]


def rng(seed: int) -> random.Random:
    """Return random numbers that are the same in every run of the tests."""
    return random.Random(seed)
