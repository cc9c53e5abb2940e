from typing import Any

from maseval.benchmark.macs import compute_benchmark_metrics
from maseval.benchmark.macs.metrics import goal_rates, judge_problems
from maseval.cli.macs.commands import _rate
from maseval.stats.intervals import mean_interval


def report(status: str = "success", task: str = "task-000001", **evaluation: Any) -> dict[str, Any]:
    return {
        "task_id": task,
        "repeat_idx": 0,
        "status": status,
        "task": {"metadata": {"domain": "travel"}},
        "eval": [evaluation] if evaluation else None,
    }


def test_a_failed_agent_lowers_the_means_as_it_lowers_the_rate():
    metrics = compute_benchmark_metrics(
        [report(overall_gsr=1.0, user_gsr=1.0), report("agent_error"), report("user_error")]
    )
    assert metrics["success_rate"] == 0.5
    assert metrics["mean_metrics"] == {"overall_gsr": 0.5, "user_gsr": 0.5}
    assert metrics["excluded"] == {"user_error": 1}


def test_where_nothing_was_scored_there_is_no_rate():
    (found,) = goal_rates([report("user_error"), report("environment_error", "task-000002")])

    assert (found.scored, found.repetitions) == (0, 2)
    assert {(rate.value, rate.interval) for rate in found.rates.values()} == {(None, None)}
    assert {_rate(rate) for rate in found.rates.values()} == {"no verdict"}


def test_the_interval_of_a_rate_is_over_tasks_each_with_the_mean_of_its_trials():
    trials = [("task-000001", 1.0), ("task-000001", 0.0), ("task-000002", 1.0)]
    (found,) = goal_rates([report(task=task, user_gsr=rate) for task, rate in trials])
    expected = mean_interval([0.5, 1.0])

    assert found.rates["user_gsr"].value == 2 / 3
    assert found.rates["user_gsr"].interval == expected
    assert expected != mean_interval([1.0, 0.0, 1.0])


def test_what_the_judge_left_open_is_listed():
    coverage = {"assertions": 3, "rows": 2, "true": 1, "false": 0, "undecided": 1}
    whole = {"assertions": 1, "rows": 1, "true": 1, "false": 0, "undecided": 0}
    reports = [
        report(coverage={"user": coverage, "system": whole}, judge_errors={}),
        report(task="task-000002", coverage={"system": coverage}, judge_errors={"system": "no"}),
        report(task="task-000003", coverage={"user": whole}, judge_errors={}),
    ]
    assert [(each["task"], each["problem"]) for each in judge_problems(reports)] == [
        ("travel/task-000001", "user side: 1 of 2 rows undecided"),
        ("travel/task-000001", "user side: 2 rows for 3 assertions"),
        ("travel/task-000002", "system side not scorable: no"),
    ]
