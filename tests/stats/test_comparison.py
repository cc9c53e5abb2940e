"""Comparison of two runs, and of several."""

from fractions import Fraction

import pytest

from benchmarks.coverage import draw_trials
from maseval.core.exceptions import ConfigurationError
from maseval.stats import IncomparableRunsError, Outcome, compare, compare_all, holm, mean_interval
from maseval.stats.planning import Pairs
from maseval.stats.sign_flip import sign_flip_test
from maseval.stats.trials import Trials
from tests.stats.made_up import rng, run

A, B = [4, 3, 0, 2, 4, 1], [4, 4, 0, 4, 0, 1]


def test_the_difference_is_the_second_run_less_the_first_task_by_task():
    comparison = compare(run(A), run(B), k=2)
    steps = [Fraction(0), Fraction(1, 2), Fraction(0), Fraction(5, 6), Fraction(-1), Fraction(0)]

    assert comparison.main.name == "pass^2"
    assert comparison.main.difference == pytest.approx(float(sum(steps) / 6))
    assert comparison.main.test == sign_flip_test(steps)
    assert comparison.main.difference in comparison.main.interval
    assert comparison.main.second - comparison.main.first == pytest.approx(
        comparison.main.difference
    )


def test_turning_the_runs_round_turns_the_signs_round():
    one, other = compare(run(A), run(B)).main, compare(run(B), run(A)).main

    assert one.difference == -other.difference
    assert one.test == other.test
    assert (one.interval.low, one.interval.high) == pytest.approx(
        (-other.interval.high, -other.interval.low)
    )


def test_the_tasks_that_flipped_are_listed_with_their_counts_largest_first():
    flipped = compare(run(A), run(B)).flipped

    assert [(flip.task, flip.first, flip.second) for flip in flipped] == [
        ("4", Trials(4, 4), Trials(4, 0)),
        ("3", Trials(4, 2), Trials(4, 4)),
        ("1", Trials(4, 3), Trials(4, 4)),
    ]
    assert [flip.fully for flip in flipped] == [True, False, False]


def test_every_group_and_every_k_is_compared_and_all_come_last():
    first = run([1, 0], trials=2, group="air") + run([2], trials=2)
    second = run([2, 0], trials=2, group="air") + run([1], trials=2)
    comparison = compare(first, second)

    assert [(each.group, each.name) for each in comparison.differences] == [
        (group, name) for group in ("air", "shop", None) for name in ("pass^1", "pass^2")
    ]
    assert comparison.main.group is None
    assert comparison.main.tasks == 3


def test_tasks_that_only_one_run_has_are_left_out_and_named():
    more = [*run(A), Outcome("shop", "99", 0, True)]
    comparison = compare(more, run(B), names=("old", "new"))

    assert comparison.main.tasks == 6
    assert comparison.dropped == ["task 'shop/99' of old: not in every run"]
    assert comparison.main == compare(run(A), run(B)).main


def test_other_k_are_compared_up_to_a_limit():
    first, second = run([9, 3, 0], trials=9), run([9, 5, 2], trials=9)

    for chosen, expected in (({}, [1, 2, 3, 4]), ({"k": 7}, [1, 2, 3, 4, 7])):
        comparison = compare(first, second, **chosen)
        assert [each.k for each in comparison.differences] == expected
        assert comparison.main.k == chosen.get("k", 1)


def test_different_numbers_of_trials_are_pointed_out():
    assert any("different numbers" in each for each in compare(run(A), run(B, trials=6)).cautions)


def test_equal_runs_show_no_difference_and_no_plan():
    comparison = compare(run(A), run(A))

    assert comparison.main.difference == 0
    assert comparison.main.test.p_value == 1
    assert comparison.flipped == []
    assert comparison.plan.trials is None


RULES = {"rules": "v0.2.0", "data": {"air": "f00", "shop": "b00"}, "agent": {"model": "x"}}


def test_runs_under_different_rules_are_refused_by_name():
    with pytest.raises(IncomparableRunsError, match=r"'v0\.2\.0' and 'v0\.3\.0'"):
        compare(run(A), run(B), configs=(RULES, {**RULES, "rules": "v0.3.0"}))


def test_a_domain_with_other_data_is_left_out_visibly():
    first, second = run(A) + run(B, group="air"), run(B) + run(A, group="air")
    other = {**RULES, "data": {"air": "abc", "shop": "b00"}}
    comparison = compare(first, second, configs=(RULES, other))

    assert comparison.main == compare(run(A), run(B)).main
    assert comparison.dropped == ["domain 'air': different data ('f00' and 'abc')"]


def test_without_configurations_a_caution_says_so():
    assert compare(run(A), run(B)).cautions
    assert compare(run(A), run(B), configs=(RULES, RULES)).cautions == []


def test_a_clear_difference_is_decided():
    comparison = compare(run([0] * 20, cost=0.1), run([4] * 20, cost=0.2))

    assert comparison.main.test.p_value == pytest.approx(2 / 2**20)
    assert comparison.plan.simulations == 0
    assert comparison.plan.cost == 0
    assert "no more trials needed" in comparison.plan.advice


RUNS = {"a": run([4, 3, 0, 2] * 4), "b": run([4, 4, 1, 4] * 4), "c": run([0, 0, 1, 2] * 4)}


def test_holms_correction_gives_the_worked_values():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_every_pair_is_compared_and_corrected():
    table = compare_all(RUNS)

    assert [pair.names for pair in table.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [pair.main for pair in table.pairs] == [
        compare(RUNS[a], RUNS[b]).main for a, b in (("a", "b"), ("a", "c"), ("b", "c"))
    ]
    assert [pair.adjusted for pair in table.pairs] == holm(
        [pair.main.test.p_value for pair in table.pairs]
    )
    assert any("Holm" in note and "3 comparisons" in note for note in table.notes)


def test_every_run_is_summed_up_on_the_tasks_that_all_of_them_have():
    runs = {**RUNS, "c": [each for each in RUNS["c"] if each.task_id != "5"]}
    runs["b"] = [*runs["b"], Outcome("shop", "new", 0, True)]
    table = compare_all(runs)

    assert {summary.overall.tasks for summary in table.runs.values()} == {15}
    assert {pair.main.tasks for pair in table.pairs} == {15}
    assert sorted(table.dropped) == [
        "task 'shop/5' of a: not in every run",
        "task 'shop/5' of b: not in every run",
        "task 'shop/new' of b: not in every run",
    ]


def test_different_rules_are_refused_and_different_data_left_out():
    both = {name: outcomes + run([1, 2], group="air") for name, outcomes in RUNS.items()}
    same = {"rules": "1", "data": {"air": "x", "shop": "y"}, "user_model": "u"}
    configs = {"a": same, "b": same, "c": {**same, "data": {"air": "z"}, "user_model": "v"}}
    table = compare_all(both, configs=configs)

    assert table.pairs == compare_all(RUNS).pairs
    assert table.dropped == ["domain 'air': different data ('x' and 'z')"]
    assert table.cautions == [
        "the user model differs too ('u' and 'v'): the difference is not the agent's alone"
    ]
    with pytest.raises(IncomparableRunsError, match="b and c"):
        compare_all({"b": RUNS["b"], "c": RUNS["c"]}, configs={**configs, "c": {"rules": "2"}})


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ConfigurationError, match="both runs are called 'x'"):
        compare(run(A), run(B), names=("x", "x"))
    with pytest.raises(ConfigurationError, match="no task in common"):
        compare(run(A), run(B, group="air"))
    with pytest.raises(ConfigurationError, match="k from 1 to 2"):
        compare(run([1, 2]), run([1, 2], trials=2), k=3)
    with pytest.raises(ConfigurationError, match="two or more"):
        compare_all({"a": RUNS["a"]})


def test_no_interval_leaves_out_zero_where_the_test_is_not_sure():
    numbers, sure = rng(11), 0
    for _ in range(300):
        trials, loss = numbers.choice([1, 2, 4]), numbers.choice([0.0, 0.3, 0.7])
        chances = [numbers.random() for _ in range(numbers.randint(2, 12))]
        first = draw_trials(chances, trials, numbers)
        second = draw_trials([p * (1 - loss) for p in chances], trials, numbers)
        differences = Pairs(first, second).differences
        span = mean_interval(differences, bounds=(-1.0, 1.0))
        p_value = sign_flip_test([Fraction(round(each * 4), 4) for each in differences]).p_value
        assert 0 in span or p_value <= 0.05
        sure += p_value <= 0.05
    assert sure > 20
