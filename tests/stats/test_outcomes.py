"""Outcomes, and how they are read from reports."""

import pytest

from maseval.benchmark.booking import BookingBenchmark, load_tasks
from maseval.core.exceptions import ConfigurationError
from maseval.stats.outcomes import Outcome, TaskKey, Trials, by_task, mean_cost, outcomes_of


def report(status="success", passed=True, **more):
    return {
        "task_id": "7",
        "repeat_idx": 2,
        "status": status,
        "eval": [{"passed": passed}],
        "task": {"metadata": {"domain": "retail"}},
        "usage": {},
        **more,
    }


def test_a_real_run_is_read_task_by_task():
    benchmark = BookingBenchmark(seed=7, progress_bar=False, n_task_repeats=2)
    reports = benchmark.run(load_tasks())
    outcomes = outcomes_of(reports)

    assert [(each.task, each.trial) for each in outcomes] == [
        (each["task_id"], each["repeat_idx"]) for each in reports
    ]
    assert {trials.total for trials in by_task(outcomes).values()} == {2}


def test_domain_task_and_trial_come_from_the_report():
    assert outcomes_of([report()]) == [Outcome("retail", "7", 2, True)]


@pytest.mark.parametrize(
    "failed",
    [
        report(passed=False),
        report(status="agent_error"),
        report(status="task_timeout", eval=None),
        report(eval=None),
        report(eval=[]),
    ],
)
def test_what_failed_or_has_no_verdict_did_not_pass(failed):
    assert outcomes_of([failed])[0].passed is False


def test_the_cost_is_that_of_all_components_and_attempts():
    usage = {"agents": {"a": {"cost": 0.5}, "b": {"cost": 0.25}}, "metadata": {"at": "now"}}
    attempts = [{"usage": {"user": {"cost": 1.0, "input_tokens": 3}}}]

    assert outcomes_of([report(usage=usage, attempts=attempts)])[0].cost == 1.75
    assert outcomes_of([report()])[0].cost is None


@pytest.mark.parametrize("wrong", [{}, {"status": "success"}, None, 3])
def test_something_else_than_a_report_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="not a report"):
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
    with pytest.raises(ConfigurationError, match="trial 0 of task 'air 1' is there twice"):
        by_task([Outcome("air", "1", 0, True)] * 2)


def test_the_mean_cost_is_over_those_that_are_known():
    outcomes = [Outcome("", "1", trial, True, cost) for trial, cost in enumerate((None, 1.0, 2.0))]

    assert mean_cost(outcomes) == 1.5
    assert mean_cost(outcomes[:1]) is None
