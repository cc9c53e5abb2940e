"""Trials counted task by task."""

from fractions import Fraction
from itertools import combinations

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome
from maseval.stats.trials import (
    Trials,
    by_task,
    count_trials,
    mean_cost,
    mean_over_tasks,
    means_up_to,
    pass_at_k,
    pass_hat_k,
)


def test_trials_are_counted_task_by_task_and_none_does_not_count():
    results = [("b", True), ("a", False), ("b", None), ("b", True), ("c", None)]

    assert list(count_trials(results).items()) == [
        ("b", Trials(2, 2)),
        ("a", Trials(1, 0)),
        ("c", Trials(0, 0)),
    ]


@pytest.mark.parametrize("trials", range(1, 7))
def test_both_are_what_counting_every_choice_of_k_trials_gives(trials):
    for passed in range(trials + 1):
        run = [True] * passed + [False] * (trials - passed)
        for k in range(trials + 1):
            choices = list(combinations(run, k))
            assert pass_hat_k(trials, passed, k) == Fraction(sum(map(all, choices)), len(choices))
            assert pass_at_k(trials, passed, k) == Fraction(sum(map(any, choices)), len(choices))


@pytest.mark.parametrize(("trials", "passed", "k"), [(4, 2, 5), (4, 5, 1), (4, -1, 1), (0, 0, 1)])
def test_what_cannot_be_is_refused_with_the_value(trials, passed, k):
    for score in (pass_hat_k, pass_at_k):
        with pytest.raises(ConfigurationError, match=str(trials)):
            score(trials, passed, k)


def test_every_task_counts_once_however_many_trials_it_has():
    tasks = [Trials(1, 1), Trials(8, 2)]

    assert mean_over_tasks(tasks, 1) == 0.625


def test_the_same_trial_twice_is_refused():
    with pytest.raises(ConfigurationError, match="trial 0 of task 'air/1' appears twice"):
        by_task([Outcome("air", "1", 0, True)] * 2)


def test_the_mean_cost_is_over_those_that_are_known():
    outcomes = [Outcome("", "1", trial, True, cost) for trial, cost in enumerate((None, 1.0, 2.0))]

    assert mean_cost(outcomes) == 1.5
    assert mean_cost(outcomes[:1]) is None


def test_the_means_of_every_k_are_those_of_each_bit_for_bit():
    tasks = [Trials(61, 40), Trials(75, 75), Trials(61, 0), Trials(61, 40), Trials(90, 2)]

    assert means_up_to(tasks, 61) == {k: mean_over_tasks(tasks, k) for k in range(1, 62)}
    assert means_up_to([], 0) == {}
    with pytest.raises(ConfigurationError, match="less than k 62"):
        means_up_to(tasks, 62)
