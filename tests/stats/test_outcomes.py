"""Outcomes, and how they are read from reports."""

import pytest

from maseval.benchmark.booking import BookingBenchmark, load_tasks
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, TaskKey
from maseval.stats.outcomes import by_task, mean_cost, outcomes_of
from maseval.stats.trials import Trials


def test_a_real_run_is_read_task_by_task():
    benchmark = BookingBenchmark(seed=7, progress_bar=False, n_task_repeats=2)
    reports = benchmark.run(load_tasks())
    outcomes = outcomes_of(reports)

    assert [(each.task, each.trial) for each in outcomes] == [
        (each["task_id"], each["repeat_idx"]) for each in reports
    ]
    assert {trials.total for trials in by_task(outcomes).values()} == {2}


@pytest.mark.parametrize("wrong", [{}, {"status": "success"}, None, 3])
def test_something_else_than_a_report_is_refused(wrong):
    with pytest.raises(ConfigurationError, match=r"reports\[0\] is .*, not a report"):
        outcomes_of([wrong])


def test_tasks_of_the_same_id_in_two_domains_are_two():
    outcomes = [Outcome("air", "1", 0, True), Outcome("shop", "1", 0, False)]

    assert by_task(outcomes) == {
        TaskKey("air", "1"): Trials(1, 1),
        TaskKey("shop", "1"): Trials(1, 0),
    }


def test_an_excluded_trial_does_not_count_and_its_task_stays():
    outcomes = [Outcome("", "1", 0, None, reason="user: empty turns"), Outcome("", "1", 1, True)]

    assert by_task(outcomes) == {TaskKey("", "1"): Trials(1, 1)}
    assert by_task(outcomes[:1]) == {TaskKey("", "1"): Trials(0, 0)}


def test_the_same_trial_twice_is_refused():
    with pytest.raises(ConfigurationError, match="trial 0 of task 'air 1' appears twice"):
        by_task([Outcome("air", "1", 0, True)] * 2)


def test_the_mean_cost_is_over_those_that_are_known():
    outcomes = [Outcome("", "1", trial, True, cost) for trial, cost in enumerate((None, 1.0, 2.0))]

    assert mean_cost(outcomes) == 1.5
    assert mean_cost(outcomes[:1]) is None
