"""Metrics over reports: every repetition counts, in any order."""

import logging
import math
import random
from typing import Any

import pytest

from maseval.benchmark.tau2.evaluator import (
    compute_benchmark_metrics,
    compute_pass_at_k,
    compute_pass_hat_k,
    compute_run_metrics,
    pass_hat_k,
)
from maseval.core.exceptions import ConfigurationError


def report(task_id: str, passed: bool | None, *, domain: str = "retail", **more: Any) -> dict:
    """A report as ``benchmark.run()`` returns it; ``passed=None`` has no verdict."""
    verdict = None if passed is None else [{"passed": passed, "reward": float(passed)}]
    return {
        "task_id": task_id,
        "repeat_idx": 0,
        "status": "success",
        "eval": verdict,
        "traces": {"environment": {"simulation": {"termination_reason": "user_stop"}}},
        "task": {"query": "", "metadata": {"domain": domain}, "protocol": {}},
        **more,
    }


def trials(task_id: str, outcomes: str, **more: Any) -> list[dict]:
    """One report for each character: ``+`` passed, ``-`` failed."""
    return [report(task_id, mark == "+", **more) for mark in outcomes]


def test_more_draws_than_trials_are_refused_in_the_originals_words():
    with pytest.raises(ValueError, match=r"^Number of trials 2 is less than k 3\.$"):
        pass_hat_k(2, 1, 3)


def test_pass_hat_k_is_the_mean_over_tasks():
    results = trials("1", "++--") + trials("2", "++++")

    assert compute_pass_hat_k(results) == pytest.approx(
        {"pass^1": 0.75, "pass^2": (1 / 6 + 1) / 2, "pass^3": 0.5, "pass^4": 0.5}
    )


def test_pass_at_k_is_the_mean_over_tasks():
    results = trials("1", "+---") + trials("2", "----")

    assert compute_pass_at_k(results) == pytest.approx(
        {"pass@1": 0.125, "pass@2": 0.25, "pass@3": 0.375, "pass@4": 0.5}
    )


def test_no_number_depends_on_the_order_of_the_reports():
    results = trials("1", "+-+-") + trials("2", "-++-") + trials("3", "+++-", domain="airline")
    results[3]["eval"][0]["reward"] = 0.1
    mixed = random.Random(1).sample(results, len(results))

    assert compute_pass_at_k(mixed) == compute_pass_at_k(results)
    assert compute_pass_hat_k(mixed) == compute_pass_hat_k(results)
    assert compute_benchmark_metrics(mixed) == compute_benchmark_metrics(results)


def test_equal_ids_of_two_domains_are_two_tasks():
    results = trials("1", "++", domain="retail") + trials("1", "--", domain="airline")

    assert compute_pass_hat_k(results) == {"pass^1": 0.5, "pass^2": 0.5}


def test_a_k_beyond_the_fewest_trials_is_left_out_with_a_warning(caplog):
    results = trials("1", "+++") + trials("7", "+")

    with caplog.at_level(logging.WARNING):
        assert compute_pass_at_k(results, [1, 3]) == {"pass@1": 1.0}

    assert "pass@3 left out: a task has only 1 trial" in caplog.text


def test_without_k_values_pass_hat_k_goes_to_the_fewest_trials(caplog):
    assert list(compute_pass_hat_k(trials("1", "++++") + trials("2", "+-"))) == ["pass^1", "pass^2"]
    assert not caplog.records


@pytest.mark.parametrize("compute", [compute_pass_at_k, compute_pass_hat_k])
def test_a_negative_k_is_refused(compute):
    with pytest.raises(ConfigurationError, match="k is -1"):
        compute(trials("1", "+"), [-1])


@pytest.mark.parametrize(
    "failed",
    [
        report("1", None),
        report("1", None, status="task_timeout", traces={}),
        report("1", True, status="agent_error"),
        report("1", None, status="setup_failed", eval=[]),
    ],
)
def test_a_repetition_without_a_verdict_is_a_failure_and_counts(failed):
    results = [report("1", True), failed]

    metrics = compute_benchmark_metrics(results)

    assert (metrics["total_tasks"], metrics["successful_tasks"]) == (2, 1)
    assert metrics["success_rate"] == metrics["mean_reward"] == 0.5
    assert compute_pass_hat_k(results) == {"pass^1": 0.5, "pass^2": 0.0}


def test_reports_from_which_parts_were_left_out_still_count():
    bare = [{"task_id": "1", "status": "success", "eval": [{"passed": True, "reward": 1.0}]}]

    assert compute_pass_at_k(bare, [1]) == {"pass@1": 1.0}
    assert compute_benchmark_metrics(bare)["success_rate"] == 1.0


def test_a_report_without_a_status_counts_as_not_passed():
    bare = [{"task_id": "1", "eval": [{"passed": True, "reward": 1.0}]}]
    metrics = compute_benchmark_metrics(bare)

    assert compute_pass_hat_k(bare) == {"pass^1": 0.0}
    assert metrics["total_tasks"] == 1
    assert metrics["success_rate"] == metrics["mean_reward"] == 0.0
    assert metrics["status_counts"] == {"unknown": 1}


@pytest.mark.parametrize(("declared", "largest_k"), [(1, 1), (4, 2)])
def test_the_originals_summary_goes_no_further_than_the_declared_trials(declared, largest_k):
    rewards = {"1": [1.0, 0.0], "2": [1.0, 1.0, 1.0]}
    simulations = (
        {"id": "s", "task_id": task, "agent_cost": None, "reward_info": {"reward": reward}}
        for task, row in rewards.items()
        for reward in row
    )

    summary = compute_run_metrics(simulations, num_trials=declared)

    assert math.isnan(summary["avg_agent_cost"]) and summary["avg_reward"] == 0.8
    assert summary["pass_hat_ks"] == {k: {1: 0.75, 2: 0.5}[k] for k in range(1, largest_k + 1)}
