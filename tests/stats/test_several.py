"""Several runs at once."""

from itertools import permutations

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.stats import IncomparableRunsError, Outcome, compare, compare_all, holm
from tests.stats.made_up import run

RUNS = {"a": run([4, 3, 0, 2] * 4), "b": run([4, 4, 1, 4] * 4), "c": run([0, 0, 1, 2] * 4)}


def test_holms_correction_gives_the_worked_values():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_holms_correction_does_not_depend_on_the_order():
    p_values = [0.001, 0.02, 0.02, 0.6]
    expected = dict(zip(p_values, holm(p_values), strict=True))
    for shuffled in permutations(p_values):
        assert holm(shuffled) == [expected[p] for p in shuffled]


def test_holms_correction_agrees_with_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p_values = [0.011, 0.2, 0.0004, 0.049, 0.011, 0.97]

    assert holm(p_values) == pytest.approx(multitest.multipletests(p_values, method="holm")[1])


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
    runs = {**RUNS, "c": [each for each in RUNS["c"] if each.task != "5"]}
    runs["b"] = [*runs["b"], Outcome("shop", "new", 0, True)]
    table = compare_all(runs)

    assert {summary.overall.tasks for summary in table.runs.values()} == {15}
    assert {pair.main.tasks for pair in table.pairs} == {15}
    assert sorted(table.dropped) == [
        "task 'shop 5' of a: not in every run",
        "task 'shop 5' of b: not in every run",
        "task 'shop new' of b: not in every run",
    ]


def test_different_rules_are_refused_and_different_data_left_out():
    both = {name: outcomes + run([1, 2], group="air") for name, outcomes in RUNS.items()}
    same = {"rules": "1", "data": {"air": "x", "shop": "y"}, "user_model": "u"}
    configs = {"a": same, "b": same, "c": {**same, "data": {"air": "z"}, "user_model": "v"}}
    table = compare_all(both, configs=configs)

    assert table.pairs == compare_all(RUNS).pairs
    assert table.dropped == ["domain 'air': different data ('x' and 'z')"]
    assert table.cautions == ["user_model: 'u' and 'v'"]
    with pytest.raises(IncomparableRunsError, match="b and c"):
        compare_all({"b": RUNS["b"], "c": RUNS["c"]}, configs={**configs, "c": {"rules": "2"}})


def test_one_run_cannot_be_compared():
    with pytest.raises(ConfigurationError, match="two or more"):
        compare_all({"a": RUNS["a"]})
