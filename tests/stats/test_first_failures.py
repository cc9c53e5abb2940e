"""pass^k of runs in which tasks stop at their first failure, held against the full run."""

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.stats import Outcome, summarise
from maseval.stats.summary import is_settled, pass_hat_until_failure, summarise_run
from tests.stats.made_up import rng

K = 4


def full_run(seed, tasks=40):
    numbers = rng(seed)
    chances = [numbers.random() for _ in range(tasks)]
    return [
        Outcome("shop", str(task), trial, numbers.random() < chance)
        for task, chance in enumerate(chances)
        for trial in range(K)
    ]


def stopped(run):
    """Return what is run if each task stops at its first failure."""
    kept, failed = [], set()
    for each in sorted(run, key=lambda each: each.trial):
        if each.key not in failed:
            kept.append(each)
            if is_settled([each.passed]):
                failed.add(each.key)
    return kept


@pytest.mark.parametrize("seed", range(5))
def test_the_estimate_is_that_of_the_full_run_bit_for_bit(seed):
    run = full_run(seed)
    whole = summarise(run).overall.estimate("pass^k", K)
    found = pass_hat_until_failure(stopped(run), K)[K]

    assert len(stopped(run)) < len(run)
    assert (found.value, found.interval, found.bounds) == (whole.value, whole.interval, None)


def test_smaller_k_come_from_first_trials():
    run = full_run(7)
    found = pass_hat_until_failure(stopped(run), K)

    for j in range(1, K):
        first = summarise([each for each in run if each.trial < j]).overall
        assert found[j].value == first.estimate("pass^k", j).value
    # All trials that were run would say something else.
    unfair = summarise(stopped(run), ks=[1]).overall.estimate("pass^k", 1).value
    assert found[1].value != unfair


def test_what_is_not_settled_has_bounds_and_no_value():
    run = [
        *(Outcome("shop", "a", trial, True) for trial in range(K)),
        Outcome("shop", "b", 0, None, reason="provider_error"),
        Outcome("shop", "b", 1, False),
        *(Outcome("shop", "c", trial, [True, None, True, True][trial]) for trial in range(K)),
    ]
    found = pass_hat_until_failure(run, K)

    assert found[K].value is None
    assert found[K].bounds == pytest.approx((1 / 3, 2 / 3))
    assert pass_hat_until_failure(run[: K + 2], K)[K].value == 0.5


def test_tasks_without_any_verdict_are_left_out_as_everywhere():
    run = [Outcome("shop", "a", 0, True), Outcome("shop", "b", 0, False)]
    gaps = [Outcome("shop", task, trial, None) for task in "cd" for trial in range(K)]
    found = pass_hat_until_failure([*run, *gaps], K)

    assert (found[1].value, found[1].bounds) == (0.5, (0.25, 0.75))
    assert found[2].value is None


def test_trials_beyond_k_are_refused():
    with pytest.raises(ConfigurationError, match="beyond the 3 planned"):
        pass_hat_until_failure(full_run(1), 3)
    with pytest.raises(ConfigurationError, match="appears twice"):
        pass_hat_until_failure([*full_run(1), full_run(1)[0]], K)
    with pytest.raises(ConfigurationError, match="k is 0"):
        pass_hat_until_failure([], 0)


def test_an_interrupted_run_with_all_first_trials_says_that_pass_1_is_known():
    first = [Outcome("d", str(task), 0, passed=task >= 6) for task in range(20)]
    planned = [("d", str(task), trial) for task in range(20) for trial in range(4)]

    overall = summarise_run(first, planned, k=4).overall

    assert overall.estimate("pass^k", 1).value == 0.7
    assert "if all pass" not in overall.shortfall
    assert "pass^1 rests on first trials only" in overall.shortfall
