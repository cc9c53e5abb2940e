"""Runs for tests: outcomes from counts of passed trials."""

import random

from maseval.stats import Outcome


def run(counts, trials=4, group="shop", cost=None):
    """Return the outcomes of a run in which task ``i`` passed ``counts[i]`` times."""
    return [
        Outcome(group, str(task), trial, trial < passed, cost)
        for task, passed in enumerate(counts)
        for trial in range(trials)
    ]


def rng(seed):
    """Return random numbers that are the same in every run of the tests."""
    return random.Random(seed)
