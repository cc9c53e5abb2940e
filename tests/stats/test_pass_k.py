"""pass^k and pass@k of one task."""

from fractions import Fraction
from itertools import combinations

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.stats.pass_k import mean_over_tasks, named, pass_at_k, pass_hat_k
from maseval.stats.trials import Trials


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


def test_a_negative_k_is_refused():
    for score in (pass_hat_k, pass_at_k):
        with pytest.raises(ConfigurationError, match="k is -1"):
            score(4, 2, -1)


def test_every_task_counts_once_however_many_trials_it_has():
    tasks = [Trials(1, 1), Trials(8, 2)]

    assert mean_over_tasks(tasks, "pass^k", 1) == 0.625
    assert mean_over_tasks(tasks[1:], "pass@k", 2) == 1 - 15 / 28


def test_a_measure_is_named_with_its_number():
    assert [named("pass^k", 4), named("pass@k", 12)] == ["pass^4", "pass@12"]
