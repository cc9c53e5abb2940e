"""Clusters: the value is over tasks, and what it can be sure of is over clusters of them."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Place, TaskKey
from maseval.stats import (
    Outcome,
    SequentialPlan,
    compare,
    compare_all,
    decide,
    find_effects,
    requirement,
    summarise,
)
from maseval.stats.clusters import counted_tasks, independent_tasks, interval_over, places_of, pool
from maseval.stats.forecast import TaskSet, observed_tasks
from maseval.stats.intervals import cluster_interval, mean_interval
from maseval.stats.planning import noise_of_clusters
from maseval.stats.sign_flip import sign_flip_test
from maseval.stats.summary import Estimate
from maseval.stats.trials import Trials, by_task
from tests.stats.made_up import rng

# Two suites of user tasks, each of which is attacked in 9 or in 5 ways; the cases lost are those of
# four user tasks.
SIZES = [9] * 16 + [5] * 21
LOST = {0: 9, 1: 9, 16: 1, 17: 1}


def attacked(
    lost: dict[int, int], *, clustered: bool = True, weigh: Callable[..., Any] | None = None
) -> list[Outcome]:
    """Return a run of all cases, of which some are lost."""
    return [
        Outcome(
            "suite",
            f"user_task_{user}-injection_{case}",
            0,
            passed=case >= lost.get(user, 0),
            cluster=f"user_task_{user}" if clustered else None,
            weight=1.0 if weigh is None else weigh(size),
        )
        for user, size in enumerate(SIZES)
        for case in range(size)
    ]


def in_figures(estimate: Estimate) -> list[float]:
    return [round(100 * each, 1) for each in (estimate.value, estimate.low, estimate.high)]


def test_cases_of_one_user_task_are_one_piece_of_evidence():
    by_case = summarise(attacked(LOST, clustered=False)).overall
    by_user_task = summarise(attacked(LOST, weigh=lambda size: 1 / size)).overall
    over_cases = summarise(attacked(LOST)).overall

    assert in_figures(by_case.estimate(1)) == [92.0, 87.9, 95.0]
    assert in_figures(by_user_task.estimate(1)) == [93.5, 80.8, 98.5]
    assert over_cases.estimate(1).value == by_case.estimate(1).value
    assert in_figures(over_cases.estimate(1)) == [92.0, 77.0, 98.4]
    assert (over_cases.tasks, over_cases.clusters, by_case.clusters) == (249, 37, None)


def test_a_difference_in_four_user_tasks_is_not_sure_however_many_cases_they_have():
    by_case = compare(attacked({}, clustered=False), attacked(LOST, clustered=False))
    by_user_task = compare(attacked({}), attacked(LOST))

    assert by_case.main.test.p_value == pytest.approx(0.000002, rel=0.05)
    assert by_user_task.main.test.p_value == 0.125
    assert by_user_task.main.difference == by_case.main.difference
    assert by_user_task.main.test.method == "exact sign-flip test over clusters of tasks"
    assert by_user_task.main.units == (37, "cluster")
    assert by_user_task.plan.decision == "undecidable"
    assert by_user_task.plan.advice.startswith("4 of 37 clusters differ; at least 6 must differ")


def test_a_run_without_attacks_is_paired_with_one_under_attack_by_user_task():
    benign = [Outcome("suite", f"user_task_{user}", 0, passed=user != 36) for user in range(37)]

    found = compare(benign, attacked(LOST), names=("benign", "attacked"))

    main = found.main
    # Each user task counts as often as it is attacked, so the attacked run has its own number.
    assert main.second == pytest.approx(229 / 249)
    assert main.first == pytest.approx((249 - 5) / 249)
    assert main.difference == pytest.approx(main.second - main.first)
    assert main.clusters == 37 and main.test.discordant == 5
    assert found.dropped == []
    assert [flip.task for flip in found.flipped[:2]] == ["user_task_0", "user_task_1"]
    assert "paired by cluster" in found.notes[0]


def test_runs_that_share_neither_tasks_nor_clusters_are_refused():
    with pytest.raises(ConfigurationError, match="have no task in common"):
        compare(attacked({}), [Outcome("suite", "other", 0, True, cluster="elsewhere")])


def test_several_runs_of_other_tasks_are_compared_by_cluster():
    benign = [Outcome("suite", f"user_task_{user}", 0, passed=True) for user in range(37)]
    runs = {"none": attacked(LOST), "benign": benign, "filter": attacked({})}

    found = compare_all(runs)

    by_names = {pair.names: pair.main for pair in found.pairs}
    assert by_names["none", "filter"].test.p_value == 0.125
    assert by_names["none", "benign"].test.p_value == 0.125
    assert by_names["benign", "filter"].difference == 0


def test_equal_clusters_have_the_interval_of_as_many_tasks():
    scores = [1.0, 0.5, 0.5, 0.0, 1.0, 1.0]

    clusters = cluster_interval(Counter((score, 3.0) for score in scores))
    tasks = mean_interval(scores)

    assert (clusters.low, clusters.high) == pytest.approx((tasks.low, tasks.high))
    assert clusters.method == "over clusters of tasks"


def test_the_quantile_with_unequal_weights_is_that_of_the_random_weights():
    random = rng(3)
    points = [(1.0, 9.0), (0.4, 1.0), (0.0, 5.0), (0.8, 2.0)]
    usual = sum(w * w for _, w in points) / sum(w for _, w in points)

    def draw():
        drawn = [(score, w * random.expovariate(1)) for score, w in [*points, (0.0, usual)]]
        return sum(score * w for score, w in drawn) / sum(w for _, w in drawn)

    means = sorted(draw() for _ in range(40_000))

    assert cluster_interval(Counter(points)).low == pytest.approx(means[1000], abs=0.005)


def test_weights_count_in_the_value():
    run = [
        Outcome("shop", "1", 0, True, weight=3.0),
        Outcome("shop", "2", 0, False),
        Outcome("shop", "3", 0, False),
    ]

    found = summarise(run).overall

    assert found.estimate(1).value == pytest.approx(0.6)
    assert found.clusters == 3


def test_a_missing_trial_is_one_of_the_same_case():
    run = [Outcome("shop", "1", 0, True, weight=3.0), Outcome("shop", "2", 0, False)]

    worst, best = summarise(run, planned=2).overall.estimate(1).bounds

    assert (worst, best) == pytest.approx((3 * 0.5 / 4, (3 + 0.5) / 4))


def test_trials_that_name_different_clusters_are_refused():
    run = [Outcome("shop", "1", 0, True, cluster="a"), Outcome("shop", "1", 1, True, cluster="b")]

    with pytest.raises(ConfigurationError, match="'shop/1' name different clusters"):
        summarise(run)


def test_an_earlier_run_without_clusters_has_those_of_the_other():
    old, new = attacked({}, clustered=False), attacked(LOST)

    assert compare(old, new).main.test.p_value == 0.125
    assert places_of([*old, *new])[TaskKey("suite", "user_task_3-injection_0")] == Place(
        TaskKey("suite", "user_task_3")
    )


def test_a_required_rate_is_held_against_clusters():
    outcomes = attacked(LOST)
    places = places_of(outcomes)
    trials = by_task(outcomes)
    by_case = requirement([*trials.values()], 0.85)
    by_cluster = requirement([*trials.values()], 0.85, places=[places[key] for key in trials])

    assert by_case.verdict == "met"
    assert by_cluster.verdict == "undecided"
    assert "clusters like these" in by_cluster.advice


# A small version of benchmarks/clusters.py, which tries many more kinds of them.


def draw_clusters(random: random.Random, number: int) -> tuple[list[int], list[int], list[int]]:
    """Return the size of each cluster, and how often cases of it pass for two equal agents."""
    sizes = [random.randint(1, 30) for _ in range(number)]
    chances = [random.choice((0.05, 0.5, 0.95)) for _ in range(number)]
    runs = [
        [sum(random.random() < p for _ in range(n)) for n, p in zip(sizes, chances, strict=True)]
        for _ in range(2)
    ]
    return sizes, *runs


def test_intervals_hold_and_tests_rarely_err_with_clusters_of_any_size():
    random, held, erred, naive, repetitions = rng(11), 0, 0, 0, 300
    for _ in range(repetitions):
        sizes, first, second = draw_clusters(random, 20)
        places = [Place(TaskKey("", str(at))) for at, size in enumerate(sizes) for _ in range(size)]
        cases = [
            float(case < passed)
            for passed, size in zip(first, sizes, strict=True)
            for case in range(size)
        ]
        held += 0.5 in interval_over(cases, places)
        naive += 0.5 in mean_interval(cases)
        parts = [Fraction(b - a) for a, b in zip(first, second, strict=True)]
        erred += sign_flip_test(parts).p_value <= 0.05
    assert held >= 0.93 * repetitions
    assert erred <= 0.075 * repetitions  # the limit of 300 repetitions for 5 %
    assert naive < 0.7 * repetitions  # cases are not independent


def test_pooling_keeps_the_mean_of_the_cases():
    places = [Place(TaskKey("", name), weight) for name, weight in (("a", 1), ("a", 2), ("b", 3))]

    found = pool([1.0, 0.5, 0.25], places)

    assert found[TaskKey("", "a")].score == Fraction(2, 3)
    assert sum(each.score * each.weight for each in found.values()) / 6 == Fraction(11, 24)


def without_attacks() -> list[Outcome]:
    return [Outcome("suite", f"user_task_{user}", 0, passed=True) for user in range(37)]


def test_an_attack_is_a_factor_of_a_grid_whose_cells_have_different_tasks():
    cells = [
        ({"attack": "none", "defence": "off"}, without_attacks()),
        ({"attack": "injected", "defence": "off"}, attacked(LOST)),
        ({"attack": "none", "defence": "filter"}, without_attacks()),
        ({"attack": "injected", "defence": "filter"}, attacked({})),
    ]

    found = find_effects(cells)

    attack, defence = found.contrasts
    assert attack.factors == ("attack",) and attack.p_value == 0.125
    assert attack.difference == pytest.approx((229 / 249 - 1) / 2)
    assert defence.tasks == 37 and defence.p_value == 0.125
    assert "over clusters of tasks" in attack.method
    assert attack.difference in attack.interval
    assert all(each.paired for each in found.factors)
    assert any("paired by cluster" in note for note in found.notes)


def test_two_cells_of_a_grid_differ_as_the_two_runs_do():
    cells = [({"defence": "off"}, attacked(LOST)), ({"defence": "filter"}, attacked({}))]

    (contrast,) = find_effects(cells).contrasts
    main = compare(attacked(LOST), attacked({})).main

    assert contrast.difference == pytest.approx(main.difference)
    assert contrast.p_value == main.test.p_value
    assert (contrast.interval.low, contrast.interval.high) == pytest.approx(
        (main.interval.low, main.interval.high)
    )


def test_a_forecast_for_tasks_like_these_takes_clusters_for_what_varies():
    by_case = observed_tasks(*counted_tasks(attacked(LOST, clustered=False)))
    by_user_task = observed_tasks(*counted_tasks(attacked(LOST)))

    assert (by_user_task.clusters, by_user_task.draws, by_case.draws) == (37, 37, 249)
    assert by_user_task.half_width_like(1) > 1.5 * by_case.half_width_like(1)
    (few,) = stated_few(by_user_task).on_difference(0.05)
    assert "5 clusters can never decide it" in few


def stated_few(about: TaskSet) -> TaskSet:
    return replace(about, clusters=5)


def test_the_luck_of_a_clusters_tasks_evens_out_by_their_weights():
    """Weights 1, 1 and 2 have the variance of 16/6 equal ones (Kish 1965), here in two clusters."""
    one, other = TaskKey("shop", "a"), TaskKey("shop", "b")
    places = [Place(one, 1.0), Place(one, 1.0), Place(other, 2.0)]

    assert independent_tasks([1.0, 1.0, 2.0]) == pytest.approx(16 / 6)
    # A task that passes one of two trials varies by 1/4.
    noise = noise_of_clusters([Trials(2, 1)] * 3, 1, None, places)
    assert noise == pytest.approx(1 / 4 * 2 / (16 / 6))


def test_a_run_that_ends_when_it_is_precise_enough_counts_clusters():
    plan = SequentialPlan("precision", (1,), half_width=0.06, claim="on tasks like these")

    by_case = decide(plan, 1, attacked(LOST, clustered=False))
    by_user_task = decide(plan, 1, attacked(LOST))

    assert (by_case.outcome, by_user_task.outcome) == ("precise", "undecided")


def test_weights_count_where_a_run_ends_when_it_is_better():
    plan = SequentialPlan("better", (4,), baseline_trials=4)

    def run(first, second, weight):
        return [
            Outcome("shop", task, trial, trial < passed, weight=w)
            for task, passed, w in (("1", first, weight), ("2", second, 1.0))
            for trial in range(4)
        ]

    found = decide(plan, 1, run(4, 0, 3.0), run(0, 0, 3.0))

    assert found.looks[0].value == pytest.approx(0.75)
