"""A run in numbers."""

import sys
from itertools import product
from statistics import fmean

import pytest

from maseval.benchmark.tau2.evaluator import compute_pass_hat_k
from maseval.core.exceptions import ConfigurationError
from maseval.core.words import score_parts
from maseval.stats import Outcome, outcomes_of, summarise
from maseval.stats.trials import by_task, pass_hat_k
from tests.stats.made_up import rng, run

TWO_DOMAINS = run([4, 3, 0], group="air", cost=0.5) + run([2], group="shop", cost=1.5)


def test_every_k_up_to_the_trials_has_intervals():
    group = summarise(run([4, 3, 0, 2])).overall

    assert [each.name for each in group.estimates] == ["pass^1", "pass^2", "pass^3", "pass^4"]
    assert all(each.value in each.interval for each in group.estimates)
    assert all(each.value in each.rerun for each in group.estimates if each.k <= 2)
    assert all(each.bounds is None for each in group.estimates)
    assert group.estimate(1).value == fmean([1, 0.75, 0, 0.5])
    assert group.estimate(4).value == 0.25


def test_the_values_are_those_of_the_metrics():
    numbers = rng(1)
    reports = [
        {
            "task_id": str(task),
            "repeat_idx": trial,
            "status": numbers.choice(["success", "success", "success", "agent_error"]),
            "eval": [{"passed": numbers.random() < 0.7}],
            "task": {"metadata": {"domain": domain}},
        }
        for domain in ("air", "shop")
        for task in range(9)
        for trial in range(4)
    ]
    expected = compute_pass_hat_k(reports)
    estimates = summarise(outcomes_of(reports)).overall.estimates

    assert {each.name: each.value for each in estimates} == pytest.approx(expected)


def test_groups_come_first_and_all_tasks_last():
    summary = summarise(TWO_DOMAINS)

    assert [group.group for group in summary.groups] == ["air", "shop", None]
    assert [group.tasks for group in summary.groups] == [3, 1, 4]
    assert [group.mean_cost for group in summary.groups] == [0.5, 1.5, 0.75]
    assert summary.overall.estimate(1).value == fmean([1, 0.75, 0, 0.5])
    assert [group.group for group in summarise(run([1, 2])).groups] == ["shop"]


@pytest.mark.parametrize(("trials", "k"), [(1, 1), (3, 2), (4, 3), (4, 4)])
def test_less_than_twice_k_trials_have_no_interval_for_a_rerun(trials, k):
    found = summarise(run([1, 0, 1], trials=trials)).overall.estimate(k)

    assert found.rerun is None
    assert found.interval is not None


def test_bounds_are_the_extremes_over_everything_the_missing_trials_may_become():
    outcomes = run([4, 3, 0, 2])
    missing = {("0", 3), ("2", 0), ("2", 1), ("3", 2)}
    partial = [
        each._replace(passed=None, reason="missing")
        if (each.task_id, each.trial) in missing
        else each
        for each in outcomes
    ]
    found = summarise(partial).overall

    for k in range(1, 5):
        possible = []
        for becomes in product((True, False), repeat=len(missing)):
            fates = dict(zip(sorted(missing), becomes, strict=True))
            whole = [
                each._replace(passed=fates.get((each.task_id, each.trial), each.passed))
                for each in partial
            ]
            possible.append(fmean(float(pass_hat_k(*each, k)) for each in by_task(whole).values()))
        assert found.estimate(k).bounds == pytest.approx((min(possible), max(possible)))


@pytest.mark.parametrize(("passed", "low", "high"), [(0, 0.0, 0.6024), (4, 0.3976, 1.0)])
def test_the_interval_of_one_task_is_that_of_its_chance_to_pass_k_times(passed, low, high):
    """The exact limits of 0 and 4 of 4, 1 - .025^(1/4) and .025^(1/4), to the power of k."""
    for k in (1, 2, 4):
        found = summarise(run([passed])).overall.estimate(k).interval
        assert (found.low, found.high) == pytest.approx((low**k, high**k), abs=1e-4)


def test_an_interval_of_one_task_reaches_to_its_value():
    found = summarise(run([2])).overall.estimate(3)
    assert found.value == 0.0 == found.interval.low


def test_a_trial_without_a_verdict_takes_no_part_and_does_not_pass():
    def trial(number, passed):
        return Outcome("shop", "0", number, passed, reason=None if passed is False else "missing")

    alone = summarise([trial(0, None), trial(1, False)]).overall
    beside = summarise([trial(0, None), trial(1, False), *run([4], group="air")]).overall

    assert (alone.done, alone.planned, alone.estimate(1).value) == (1, 2, 0.0)
    assert alone.estimate(1).bounds == (0.0, 0.5)
    assert (beside.done, beside.planned, beside.estimate(1).value) == (5, 6, 0.5)
    assert {each.k for each in alone.estimates if each.value is not None} == {1}


def test_a_task_with_too_few_trials_leaves_only_bounds_and_a_note():
    outcomes = [each for each in run([4, 4]) if (each.task_id, each.trial) != ("1", 3)]
    summary = summarise(outcomes, planned=4)
    fourth = summary.overall.estimate(4)

    assert (fourth.value, fourth.interval, fourth.bounds) == (None, None, (0.5, 1.0))
    assert summary.overall.estimate(3).value == 1.0
    assert "pass^4: no value, as some task has only 3 trials" in summary.overall.without_value


def test_a_plan_may_name_every_simulation():
    planned = [("shop", task, trial) for task in "012" for trial in range(2)]
    summary = summarise(run([2, 0], trials=2), planned=planned)

    assert (summary.overall.tasks, summary.overall.untried) == (3, 1)
    assert (summary.overall.planned, summary.overall.done) == (6, 4)
    assert summary.overall.missing == {"missing": 2}
    assert summary.overall.estimate(1).bounds == pytest.approx((1 / 3, 2 / 3))
    assert summary.overall.shortfall == (
        "4 of 6 simulations have a verdict (2 missing): pass^1 is 33.3% if all others fail, "
        "66.7% if all pass."
    )


def test_what_is_excluded_is_counted_by_its_reason():
    excluded = [Outcome("shop", "9", trial, None, reason="user") for trial in range(2)]
    summary = summarise(run([2, 0], trials=2) + excluded + [Outcome("shop", "8", 0, None)])

    assert summary.overall.missing == {"user": 2, "excluded": 1}
    assert summary.overall.done == 4


def test_the_order_of_the_outcomes_does_not_matter():
    outcomes = run([4, 3, 0, 2, 1])
    shuffled = rng(1).sample(outcomes, len(outcomes))
    one, other = summarise(outcomes).overall, summarise(shuffled).overall

    for a, b in zip(one.estimates, other.estimates, strict=True):
        assert (a.value, a.interval.low) == pytest.approx((b.value, b.interval.low))
        assert a.rerun == b.rerun


def test_nothing_and_nonsense_are_refused():
    with pytest.raises(ConfigurationError, match="no outcome"):
        summarise([])
    with pytest.raises(ConfigurationError, match=r"no pass\^9 here.*ks=\[9\]"):
        summarise(run([1])).overall.estimate(9)


def test_of_many_trials_some_k_are_shown_and_any_can_be_asked_for():
    outcomes = run([100, 50, 0], trials=100)
    shown = [each.k for each in summarise(outcomes).overall.estimates]
    asked = summarise(outcomes, ks=[57, 3]).overall

    every = summarise(outcomes, ks="all").overall

    assert shown == [1, 2, 3, 4, 8, 16, 32, 64]
    assert [each.k for each in every.estimates] == [*range(1, 101)]
    assert every.estimate(57) == asked.estimate(57)
    assert [each.name for each in asked.estimates] == ["pass^3", "pass^57"]
    assert asked.estimate(57).value == pytest.approx(1 / 3)


@pytest.mark.parametrize("shares", [(1, 2), (1, 2, 3, 5, 7, 11)], ids=["even", "uneven"])
def test_four_times_the_trials_are_about_four_times_the_work(shares):
    def steps(trials):
        outcomes, count = [], 0
        for task, part in enumerate(shares):
            total = trials if len(shares) == 2 else trials // part
            outcomes += [
                Outcome("shop", str(task), trial, trial < total // part) for trial in range(total)
            ]

        def step(frame, event, argument):
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(step)
        try:
            summarise(outcomes, planned=trials + 1)
        finally:
            sys.setprofile(None)
        return count

    assert steps(800) < 6 * steps(200)


def test_where_verdicts_are_missing_the_range_leads():
    judged = run([1] * 34, trials=1)
    broken = [("shop", f"lost {number}", 0) for number in range(16)]
    some = summarise(judged, planned=[*((e.domain, e.task_id, e.trial) for e in judged), *broken])

    assert score_parts(some.overall.pass_1) == ["68.0 to 100.0%", "so far 100.0%", "[89.7, 100.0]"]
    assert score_parts(summarise(judged).overall.pass_1) == ["100.0%", "[89.7, 100.0]"]
