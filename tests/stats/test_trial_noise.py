"""How much a score would move if the same tasks were run again."""

from math import comb

import pytest

from maseval.stats.intervals import Interval
from maseval.stats.trial_noise import rerun_interval, trial_noise
from maseval.stats.trials import Trials, mean_over_tasks, pass_hat_k


def interval_of(tasks: list[Trials], k: int) -> Interval:
    return rerun_interval(tasks, k, mean_over_tasks(tasks, k), 0.95)


@pytest.mark.parametrize(("trials", "k"), [(2, 1), (3, 1), (4, 2), (6, 3), (8, 4), (7, 2)])
def test_with_twice_k_trials_the_variance_is_estimated_without_bias(trials, k):
    chance = 0.7
    likely = [comb(trials, c) * chance**c * (1 - chance) ** (trials - c) for c in range(trials + 1)]
    scores = [float(pass_hat_k(trials, c, k)) for c in range(trials + 1)]
    true = sum(p * (x - chance**k) ** 2 for p, x in zip(likely, scores, strict=True))

    expected = sum(p * trial_noise([Trials(trials, c)], k) for c, p in enumerate(likely))

    assert expected == pytest.approx(true)


def test_tasks_that_pass_once_of_two_have_the_noise_of_a_coin():
    assert trial_noise([Trials(2, 1)] * 5, 1) == pytest.approx(0.25)
    assert trial_noise([Trials(2, 2), Trials(2, 0)], 1) == 0.0


@pytest.mark.parametrize(("total", "k"), [(1, 1), (3, 2), (4, 4)])
def test_less_than_twice_k_trials_say_nothing_of_their_luck(total, k):
    tasks = [Trials(total, 0), Trials(total, total)]
    assert trial_noise(tasks, k) is None
    assert rerun_interval(tasks, k, 0.5, 0.95) is None


def test_most_tasks_with_enough_trials_speak_for_the_others():
    enough = [Trials(4, 1), Trials(4, 3)]
    assert trial_noise([*enough, Trials(1, 1)], 1, 4) == trial_noise(enough, 1, 4)
    assert trial_noise([*enough, *[Trials(1, 1)] * 3], 1) is None


def test_tasks_that_passed_always_or_never_may_still_have_some_luck():
    few, many = (interval_of([Trials(4, 4), Trials(4, 0)] * pairs, 1) for pairs in (10, 50))

    assert 0.45 < few.low < many.low < 0.5 < many.high < few.high < 0.55


def test_tasks_with_equal_chances_have_binomial_noise():
    tasks = [Trials(1000, 700)]

    assert trial_noise(tasks, 1, 4) == pytest.approx(0.7 * 0.3 / 4, rel=1e-2)
    assert trial_noise(tasks, 4, 4) == pytest.approx(0.7**4 * (1 - 0.7**4), rel=1e-2)
    assert trial_noise(tasks, 1, trials=600) == pytest.approx(0.7 * 0.3 / 600, rel=1e-2)


def test_more_trials_make_less_noise_and_it_goes_to_nothing():
    tasks = [Trials(4, passed) for passed in (0, 1, 2, 3, 4, 4)]
    noise = [trial_noise(tasks, 2, trials) for trials in (2, 4, 16, 64, 1000)]

    assert noise == sorted(noise, reverse=True)
    assert noise[-1] < noise[0] / 100


def test_a_run_in_which_everything_passed_is_not_sure_to_do_so_again():
    interval = interval_of([Trials(4, 4)] * 10, 1)

    assert interval.high == 1.0
    assert 0.9 < interval.low < 1.0


@pytest.mark.parametrize(("k", "low", "high"), [(1, 0.4776, 0.6607), (2, 0.3319, 0.6072)])
def test_known_values(k, low, high):
    tasks = [Trials(4, passed) for passed in (4, 4, 4, 0, 0, 0, 3, 2, 1, 3, 4, 0, 4, 3)]
    interval = interval_of(tasks, k)

    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-4)


def test_thousands_of_trials_have_an_interval_at_any_k():
    tasks = [Trials(2000, passed) for passed in (0, 3, 700, 1500, 1999, 2000)]

    for k in (1, 2, 40, 700, 1000):
        interval, value = interval_of(tasks, k), mean_over_tasks(tasks, k)
        assert 0 <= interval.low <= value <= interval.high <= 1
