"""Bootstrap by actual resampling."""

from itertools import product
from statistics import fmean, pvariance, quantiles

import pytest

from benchmarks.coverage import bootstrap_coverage
from maseval.core.exceptions import ConfigurationError
from maseval.stats.bootstrap import bootstrap_nested, bootstrap_tasks, quantile
from maseval.stats.intervals import mean_interval
from maseval.stats.trials import Trials, pass_hat_k

SCORES = [0.0, 0.25, 0.25, 0.5, 0.75, 0.75, 1.0, 1.0, 1.0, 0.5, 0.25, 1.0]
TASKS = [Trials(4, int(4 * score)) for score in SCORES]


def test_equal_data_give_equal_intervals_and_another_seed_another():
    assert bootstrap_tasks(SCORES, 0.95) == bootstrap_tasks(SCORES, 0.95)
    assert bootstrap_nested(TASKS, "pass^k", 2, 0.95) == bootstrap_nested(TASKS, "pass^k", 2, 0.95)
    assert bootstrap_tasks(SCORES, 0.95) != bootstrap_tasks(SCORES, 0.95, seed=1)


def test_a_symmetric_sample_has_the_percentiles_of_all_its_resamples():
    scores = [0.0, 0.25, 0.5, 0.75, 1.0]
    every = sorted(fmean(drawn) for drawn in product(scores, repeat=5))
    interval = bootstrap_tasks(scores, 0.8, resamples=20_000)

    assert interval.low == pytest.approx(quantile(every, 0.1), abs=0.051)
    assert interval.high == pytest.approx(quantile(every, 0.9), abs=0.051)


def test_it_agrees_with_scipy():
    numpy, stats = pytest.importorskip("numpy"), pytest.importorskip("scipy.stats")
    scores = SCORES * 4
    found = bootstrap_tasks(scores, 0.95, resamples=10_000)
    expected = stats.bootstrap(
        (numpy.array(scores),), numpy.mean, n_resamples=10_000, method="BCa", random_state=1
    ).confidence_interval

    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.012)


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_skewed_sample_moves_the_interval_towards_its_long_tail(mirrored):
    # The numbers are those of scipy.stats.bootstrap; the plain percentiles are 0.11 and 0.425.
    scores = [0.0, 0.05, 0.1, 0.1, 0.15, 0.2, 0.2, 0.25, 0.3, 1.0]
    low, high = 0.13, 0.525
    if mirrored:
        scores, low, high = [1 - score for score in scores], 1 - high, 1 - low
    interval = bootstrap_tasks(scores, 0.95, resamples=20_000)

    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.006)


def test_the_closed_form_has_the_variance_of_all_resamples():
    scores = [0.0, 0.5, 1.0, 1.0]
    every = [fmean(drawn) for drawn in product(scores, repeat=4)]

    assert pvariance(every) == pytest.approx(pvariance(scores) / 4)


def test_the_nested_interval_is_centred_on_the_estimate_and_wider():
    tasks = [Trials(4, passed) for passed in (1, 2, 2, 3, 2, 1, 3, 2, 2, 3)] * 6
    scores = [float(pass_hat_k(*task, 2)) for task in tasks]
    nested = bootstrap_nested(tasks, "pass^k", 2, 0.95)
    plain = mean_interval(scores)

    assert (nested.low + nested.high) / 2 == pytest.approx(fmean(scores), abs=0.01)
    assert nested.high - nested.low > 1.1 * (plain.high - plain.low)
    assert "trials within tasks" in nested.method


def test_nested_resamples_vary_as_every_choice_of_tasks_and_trials_does():
    tasks = [Trials(2, 0), Trials(2, 1), Trials(2, 2)]
    redrawn = [
        float(pass_hat_k(2, sum(trials), 1))
        for task in tasks
        for trials in product([1] * task.passed + [0] * (2 - task.passed), repeat=2)
    ]
    every = sorted(fmean(each) for each in product(redrawn, repeat=3))
    interval = bootstrap_nested(tasks, "pass^k", 1, 0.6, resamples=20_000)

    assert interval.low == pytest.approx(quantile(every, 0.2), abs=0.01)
    assert interval.high == pytest.approx(quantile(every, 0.8), abs=0.01)


def test_the_nested_interval_stays_between_0_and_1():
    always = bootstrap_nested([Trials(4, 1), Trials(4, 4)] * 3, "pass@k", 4, 0.95)
    never = bootstrap_nested([Trials(4, 3), Trials(4, 0)] * 3, "pass^k", 4, 0.95)

    assert always.high == 1.0 and always.low < 1.0
    assert never.low == 0.0 and never.high > 0.0


def test_one_task_has_no_bootstrap():
    assert bootstrap_tasks([1.0], 0.95) is None
    assert bootstrap_nested([Trials(4, 1)], "pass^k", 1, 0.95) is None


def test_equal_scores_leave_it_without_a_width():
    interval = bootstrap_tasks([1.0] * 9, 0.95)

    assert (interval.low, interval.high) == (1.0, 1.0)


def test_a_level_that_is_none_is_refused():
    with pytest.raises(ConfigurationError, match="95"):
        bootstrap_tasks(SCORES, 95)
    with pytest.raises(ConfigurationError, match="95"):
        bootstrap_nested(TASKS, "pass^k", 1, 95)


@pytest.mark.parametrize(
    ("probability", "expected"),
    [(0.0, 10.0), (0.1, 14.0), (0.25, 20.0), (0.5, 40.0), (0.875, 120.0), (1.0, 160.0)],
)
def test_a_quantile_lies_at_its_share_of_the_way_from_the_first_to_the_last_value(
    probability, expected
):
    # Of five values, the quantile p stands at position 4p, between two of them by interpolation.
    assert quantile([10.0, 20.0, 40.0, 80.0, 160.0], probability) == pytest.approx(expected)


def test_a_quantile_agrees_with_the_inclusive_quantiles_of_the_standard_library():
    ordered = sorted([0.3, 0.1, 0.7, 0.2, 0.95, 0.4, 0.8])
    expected = quantiles(ordered, n=40, method="inclusive")

    assert [quantile(ordered, i / 40) for i in range(1, 40)] == pytest.approx(expected)


def test_bootstraps_of_fifty_tasks_hold_the_truth_as_often_as_they_say():
    # benchmarks/coverage.py has the large simulations.
    plain, nested = bootstrap_coverage(tasks=50, k=4, repetitions=40)

    assert 0.85 <= plain < 1.0
    assert nested >= plain


def test_more_trials_than_a_float_can_count_ways_for_are_resampled():
    tasks = [Trials(1_200, passed) for passed in (0, 300, 900, 1_200)]
    found = bootstrap_nested(tasks, "pass^k", 2, 0.95, resamples=50)

    assert 0 <= found.low < found.high <= 1
