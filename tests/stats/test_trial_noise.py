"""How much a score would move if the same tasks were run again."""

from statistics import fmean, pvariance

import pytest

from benchmarks.coverage import draw_chances, draw_trials, rerun_coverage
from maseval.stats.trial_noise import TaskModel, rerun_interval
from maseval.stats.trials import Trials, pass_at_k, pass_hat_k
from tests.stats.made_up import rng


def test_the_model_has_the_moments_of_the_tasks():
    tasks = [Trials(4, passed) for passed in (0, 0, 1, 2, 3, 4, 4, 4, 4)]
    model = TaskModel.fit(tasks)
    total = model.a + model.b

    assert model.a / total == pytest.approx(fmean(task.passed / 4 for task in tasks))
    square = model.a * (model.a + 1) / (total * (total + 1))
    assert square == pytest.approx(fmean(float(pass_hat_k(*task, 2)) for task in tasks))


def test_one_trial_of_each_task_says_nothing_of_its_luck():
    assert TaskModel.fit([Trials(1, 0), Trials(1, 1)]) is None
    assert rerun_interval([Trials(1, 0), Trials(1, 1)], "pass^k", 1, 0.5, 0.95) is None


def test_tasks_that_always_or_never_pass_have_hardly_any_noise():
    tasks = [Trials(4, 4), Trials(4, 0)]
    interval = rerun_interval(tasks, "pass^k", 1, 0.5, 0.95)

    assert 0 < TaskModel.fit(tasks).noise(tasks, 1) < 1e-6
    assert (interval.low, interval.high) == pytest.approx((0.5, 0.5), abs=1e-3)


def test_tasks_with_equal_chances_have_binomial_noise():
    model = TaskModel(a=0.7e9, b=0.3e9)

    assert model.noise([Trials(4, 3)], 1) == pytest.approx(0.7 * 0.3 / 4, rel=1e-3)
    assert model.noise([Trials(4, 3)], 4) == pytest.approx(0.7**4 * (1 - 0.7**4), rel=1e-3)
    assert model.noise([Trials(4, 3)], 1, trials=600) == pytest.approx(0.7 * 0.3 / 600, rel=1e-2)


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("shape", [(0.6, 0.6), (4, 1), (8, 0.7)])
def test_the_noise_is_that_of_runs_of_the_same_tasks(shape, k):
    numbers = rng(5)
    fixed = draw_chances(200, *shape, numbers)
    runs = [draw_trials(fixed, 4, numbers) for _ in range(150)]
    scattered = pvariance([fmean(float(pass_hat_k(*task, k)) for task in run) for run in runs])

    noise = fmean(TaskModel.fit(run).noise(run, k) / 200 for run in runs[:20])

    assert noise == pytest.approx(scattered, rel=0.3)


def test_more_trials_make_less_noise_and_it_goes_to_nothing():
    tasks = [Trials(4, passed) for passed in (0, 1, 2, 3, 4, 4)]
    model = TaskModel.fit(tasks)
    noise = [model.noise(tasks, 2, trials) for trials in (2, 4, 16, 64, 1000)]

    assert noise == sorted(noise, reverse=True)
    assert noise[-1] < noise[0] / 100


def test_failing_k_times_and_passing_k_times_mirror_each_other():
    tasks = [Trials(4, passed) for passed in (0, 1, 1, 2, 4)]
    turned = [Trials(4, 4 - task.passed) for task in tasks]
    at = fmean(float(pass_at_k(*task, 3)) for task in tasks)
    found = rerun_interval(tasks, "pass@k", 3, at, 0.95)
    mirrored = rerun_interval(turned, "pass^k", 3, 1 - at, 0.95)

    assert (found.low, found.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low))


def test_a_run_in_which_everything_passed_is_not_sure_to_do_so_again():
    interval = rerun_interval([Trials(4, 4)] * 10, "pass^k", 1, 1.0, 0.95)

    assert interval.high == 1.0
    assert 0.6 < interval.low < 1.0


@pytest.mark.parametrize("k", [1, 4])
def test_the_interval_of_a_rerun_holds_the_score_of_these_very_tasks(k):
    # benchmarks/coverage.py has the large simulations.
    assert 0.88 <= rerun_coverage(50, (0.6, 0.6), k, repetitions=80) < 1.0
