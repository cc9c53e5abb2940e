"""Runs for tests: outcomes from counts of passed trials, and counts drawn at random."""

import random

from maseval.stats import Outcome
from maseval.stats.trials import Trials


def run(counts, trials=4, group="shop", cost=None):
    """The outcomes of a run in which task ``i`` passed ``counts[i]`` times."""
    return [
        Outcome(group, str(task), trial, trial < passed, cost)
        for task, passed in enumerate(counts)
        for trial in range(trials)
    ]


def drawn(chances, trials, rng):
    """How often each task passed, given its chance."""
    return [Trials(trials, sum(rng.random() < p for _ in range(trials))) for p in chances]


def chances(count, a, b, rng):
    """The chances of so many tasks."""
    return [rng.betavariate(a, b) for _ in range(count)]


def true_mean(a, b, k):
    """The mean of the k-th power of a chance that follows Beta(a, b)."""
    product = 1.0
    for i in range(k):
        product *= (a + i) / (a + b + i)
    return product


def rng(seed):
    """Random numbers that are the same in every run of the tests."""
    return random.Random(seed)
