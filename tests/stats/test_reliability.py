"""Measures of reliability: the published formulas, less bias than theirs, intervals that cover."""

import math
import random
from itertools import combinations
from statistics import fmean, pstdev
from typing import Any

import pytest

from maseval.core.outcome import Place, TaskKey
from maseval.stats.intervals import mean_interval
from maseval.stats.reliability import (
    Forecast,
    TaskValues,
    brier_parts,
    brier_score,
    discrimination,
    equal_counts,
    jackknife,
    order_alike,
    outcome_consistency,
    overconfidence,
    pairwise,
    published_calibration,
    published_outcome_consistency,
    resource_consistency,
    tools_alike,
)

TOOLS = ["find", "read", "book", "cancel"]


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-9)


def random_trials(chance: random.Random, tasks: int = 20) -> dict[int, Any]:
    return {
        at: [chance.choices(TOOLS, k=chance.randint(0, 8)) for _ in range(chance.randint(2, 5))]
        for at in range(tasks)
    }


def plain_jsd(one: list[str], other: list[str]) -> float:
    """The Jensen-Shannon divergence as the entropy of the mixture less the mean entropy."""

    def entropy(shares):
        return -sum(p * math.log2(p) for p in shares if p)

    p, q = ([each.count(name) / len(each) for name in TOOLS] for each in (one, other))
    return entropy([fmean(pair) for pair in zip(p, q, strict=True)]) - fmean(
        [entropy(p), entropy(q)]
    )


def plain_levenshtein(one: list[str], other: list[str]) -> int:
    if not one or not other:
        return len(one) + len(other)
    return min(
        plain_levenshtein(one[1:], other) + 1,
        plain_levenshtein(one, other[1:]) + 1,
        plain_levenshtein(one[1:], other[1:]) + (one[0] != other[0]),
    )


@pytest.mark.parametrize("seed", range(5))
def test_published_formulas_on_random_tables(seed):
    chance = random.Random(seed)
    passed = {at: [chance.random() < 0.6 for _ in range(4)] for at in range(30)}
    shares = [sum(each) / 4 for each in passed.values()]
    assert published_outcome_consistency(passed) == near(fmean((2 * p - 1) ** 2 for p in shares))

    trials = random_trials(chance)
    for each in trials.values():
        for one, other in combinations([x for x in each if x], 2):
            assert tools_alike(one, other) == near(1 - plain_jsd(one, other))
        for one, other in combinations([x[:5] for x in each], 2):
            longer = max(len(one), len(other), 1)
            assert order_alike(one, other) == near(1 - plain_levenshtein(one, other) / longer)
    values = pairwise(trials, order_alike)
    assert values.values[0] == near(fmean(order_alike(*p) for p in combinations(trials[0], 2)))

    used = {at: [[chance.random() + 0.1 for _ in range(3)] for _ in range(4)] for at in range(9)}
    expected = fmean(
        fmean(math.exp(-pstdev(column) / fmean(column)) for column in zip(*each, strict=True))
        for each in used.values()
    )
    assert resource_consistency(used, published=True).mean == near(expected)

    said = [Forecast(round(chance.random(), 2), chance.random() < 0.5) for _ in range(200)]
    bins = [[f for f in said if min(int(f.confidence * 10), 9) == at] for at in range(10)]
    gaps = (abs(fmean(f.confidence for f in b) - fmean(f.passed for f in b)) * len(b) for b in bins)
    assert published_calibration(said) == near(1 - sum(gaps) / 200)
    pairs = [(a.confidence, b.confidence) for a in said for b in said if a.passed and not b.passed]
    assert discrimination(said) == near(fmean((a > b) + (a == b) / 2 for a, b in pairs))
    assert brier_score({0: said}).mean == near(
        1 - fmean((f.confidence - f.passed) ** 2 for f in said)
    )


def test_the_parts_of_the_brier_score_add_up_to_it():
    chance = random.Random(1)
    said = [Forecast(chance.choice([0.2, 0.5, 0.9]), chance.random() < 0.5) for _ in range(90)]
    parts = brier_parts(said)
    brier = fmean((each.confidence - each.passed) ** 2 for each in said)
    assert parts.calibration - parts.resolution + parts.uncertainty == near(brier)
    assert parts.within == near(0)  # equal confidences share a bin


def test_bins_have_equal_counts_and_the_last_one_holds_1():
    said = [Forecast(at / 100, at % 2 == 0) for at in range(100)]
    assert {len(each) for each in equal_counts(said)} == {10}
    assert len(equal_counts([Forecast(0.9, True)] * 50)) == 1
    assert published_calibration([Forecast(1.0, True), Forecast(0.0, False)]) == 1
    assert published_calibration([*said[90:], Forecast(1.0, True)]) == near(1 - 4.45 / 11)


def coin(rate: float, trials: int, chance: random.Random) -> list[bool]:
    return [chance.random() < rate for _ in range(trials)]


RATES = {
    "alike": lambda chance: 0.7,
    "mixed": lambda chance: chance.betavariate(0.5, 0.3),
    "always the same": lambda chance: float(chance.random() < 0.8),
}


@pytest.mark.parametrize("agent", RATES)
def test_two_trials_give_outcome_consistency_without_bias(agent):
    chance = random.Random(2)
    rates = [RATES[agent](chance) for _ in range(40)]
    truth = fmean((2 * q - 1) ** 2 for q in rates)
    tables = [{at: coin(q, 2, chance) for at, q in enumerate(rates)} for _ in range(4000)]

    ours = fmean(outcome_consistency(table).mean for table in tables)
    theirs = fmean(published_outcome_consistency(table) for table in tables)

    assert ours == pytest.approx(truth, abs=0.005)
    bias = fmean(4 * q * (1 - q) / 2 for q in rates)
    assert theirs - truth == pytest.approx(bias, abs=0.005)


COVERED = 0.93
"""The least share of intervals that must hold the truth."""


@pytest.mark.parametrize("agent", RATES)
@pytest.mark.parametrize(("tasks", "trials"), [(20, 2), (20, 8), (50, 4), (114, 2), (114, 8)])
def test_intervals_of_outcome_consistency_hold_the_truth(agent, tasks, trials):
    chance, draw = random.Random(f"{agent}/{tasks}/{trials}"), RATES[agent]
    truth = fmean((2 * draw(chance) - 1) ** 2 for _ in range(100_000))
    held = 0
    for _ in range(400):
        table = {at: coin(draw(chance), trials, chance) for at in range(tasks)}
        span = outcome_consistency(table).interval()
        held += span.low - 1e-9 <= truth <= span.high + 1e-9
    assert held / 400 >= COVERED


def confident(tasks: int, trials: int, over: float, chance: random.Random) -> dict[int, Any]:
    """A system that knows its chances to a tenth, and adds some confidence."""
    found = {}
    for at in range(tasks):
        rate = chance.betavariate(1.2, 0.8)
        said = min(1.0, max(0.0, rate * (1 - over) + over + chance.gauss(0, 0.1)))
        found[at] = [Forecast(round(said, 1), chance.random() < rate) for _ in range(trials)]
    return found


@pytest.mark.parametrize("over", [0.0, 0.5])
def test_intervals_of_predictability_hold_the_truth(over):
    chance = random.Random(f"{over}")
    many = confident(60_000, 1, over, chance)
    truth = discrimination([each for some in many.values() for each in some])
    gap, brier = overconfidence(many).mean, brier_score(many).mean
    held = [0, 0, 0]
    for _ in range(200):
        table = confident(50, 2, over, chance)
        parts = (jackknife(table, discrimination), overconfidence(table), brier_score(table))
        for at, (values, wanted) in enumerate(zip(parts, (truth, gap, brier), strict=True)):
            held[at] += wanted in values.interval()
    assert min(held) / 200 >= COVERED


def test_differences_are_paired_by_task():
    first = TaskValues({"a": 0.2, "b": 0.9, "c": 1.0})
    second = TaskValues({"a": 0.3, "b": 1.0, "d": 0.0})
    found = second.minus(first)
    assert found.values == {"a": near(0.1), "b": near(0.1)}
    assert found.bounds == (-1.0, 1.0)
    assert found.mean in found.interval()


def test_tasks_of_clusters_have_an_interval_over_clusters_and_a_mean_by_weight():
    values = {TaskKey("", str(at)): float(at % 3 == 0) for at in range(12)}
    places = {key: Place(TaskKey("", str(int(key.task_id) % 3)), 2.0) for key in values}
    alone, clustered = TaskValues(values), TaskValues(values, places=places)
    free = TaskValues(values, None, places=places)

    assert clustered.mean == alone.mean == pytest.approx(1 / 3)
    three = mean_interval([1.0, 0.0, 0.0])
    assert clustered.interval().low == near(three.low) and clustered.interval().high == near(
        three.high
    )
    assert clustered.interval().half_width > 1.5 * alone.interval().half_width
    # Student's t for two degrees of freedom is 4.3027; the standard error of 1, 0, 0 is 1/3.
    assert free.interval().high == 1.0 and free.interval().method == "Student's t over clusters"
    assert clustered.minus(clustered).places == places
    heavy = {key: Place(key, 1.0 + (at == 0)) for at, key in enumerate(values)}
    assert TaskValues(values, places=heavy).mean == pytest.approx(5 / 13)


def test_what_says_nothing_has_no_interval():
    assert TaskValues({"a": 1.0, "b": 1.0}, None).interval() is None
    assert TaskValues({"a": 1.0}, None).interval() is None
    assert TaskValues({}).interval() is None
    assert TaskValues({}).mean is None
    assert jackknife({0: [Forecast(0.5, True)]}, discrimination).values == {}
    assert outcome_consistency({0: [True]}).values == {}
