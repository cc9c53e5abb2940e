"""Metrics against what tau2-bench computed, in v0.2.0 and in v1.0.1."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.evaluator import (
    compute_run_metrics,
    pass_hat_k,
)
from maseval.core.report_parts import is_successful
from tests.contract.replay import records

pytestmark = pytest.mark.contract

EXACT = {"rel": 0, "abs": 1e-12, "nan_ok": True}


def metrics_of(contract_dir: Path, folder: str = ".") -> dict[str, Any]:
    return records(contract_dir / folder / "metrics.json")[0]


@pytest.fixture(scope="module")
def metrics(contract_dir: Path) -> dict[str, Any]:
    return metrics_of(contract_dir)


@pytest.fixture(scope="module")
def later(contract_dir: Path) -> dict[str, Any]:
    return metrics_of(contract_dir, "v1.0.1")


def simulations_of(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for task_id, rewards in case["rewards"].items():
        for reward, cost in zip(rewards, case["costs"][task_id], strict=True):
            yield {
                "id": task_id,
                "task_id": task_id,
                "agent_cost": cost,
                "reward_info": {"reward": reward},
            }


@pytest.mark.parametrize(("folder", "count"), [(".", 205), ("v1.0.1", 112)])
def test_every_pass_hat_k_is_the_recorded_one(contract_dir, folder, count):
    recorded = metrics_of(contract_dir, folder)["pass_hat_k"]
    assert len(recorded) >= count
    for num_trials, success_count, k, value, error in recorded:
        if error is None:
            assert pass_hat_k(num_trials, success_count, k) == pytest.approx(value, **EXACT)
        else:
            with pytest.raises(ValueError) as caught:
                pass_hat_k(num_trials, success_count, k)
            assert f"ValueError: {caught.value}" == error


def test_every_reward_counts_as_recorded(metrics):
    assert metrics["is_successful"]
    for reward, counts in metrics["is_successful"]:
        assert is_successful(reward) is counts


def test_every_summary_is_the_recorded_one(metrics):
    assert metrics["compute_metrics"]
    for case in metrics["compute_metrics"]:
        assert case["exception"] is None
        found = compute_run_metrics(simulations_of(case), case["num_trials"])
        summary = {
            **{name: found[name] for name in ("avg_reward", "avg_agent_cost")},
            **{f"pass_hat_{k}": value for k, value in found["pass_hat_ks"].items()},
        }
        assert summary == pytest.approx(numbers(case["as_dict"]), **EXACT)
        assert len(found["pass_hat_ks"]) == case["max_k"]


def simulations_of_1_0_1(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for simulation in case["simulations"]:
        verdict = None
        if simulation["reward"] is not None:
            match, actions = simulation.get("db_match"), simulation.get("actions")
            verdict = {
                "reward": simulation["reward"],
                "db_check": None if match is None else {"db_match": match},
                "action_checks": None
                if actions is None
                else [{"tool_type": kind, "action_match": met} for kind, met in actions],
            }
        yield {
            "task_id": simulation["task_id"],
            "termination_reason": simulation["termination_reason"],
            "agent_cost": simulation["cost"],
            "reward_info": verdict,
        }


def numbers(recorded: dict[str, Any]) -> dict[str, Any]:
    return {key: float("nan") if value == "NaN" else value for key, value in recorded.items()}


def test_every_summary_of_1_0_1_is_the_recorded_one(later):
    assert len(later["compute_metrics"]) >= 16
    for case in later["compute_metrics"]:
        found = compute_run_metrics(simulations_of_1_0_1(case), case["num_trials"])
        expected = numbers(case["metrics"])
        ks = {str(k): value for k, value in found.pop("pass_hat_ks").items()}
        assert ks == pytest.approx(expected.pop("pass_hat_ks"), **EXACT), case["case"]
        assert len(ks) == case["max_k"]
        assert found == pytest.approx({key: expected.pop(key) for key in found}, **EXACT)
        # Reviews, authentication and responsiveness are of runs that are more than text.
        assert all(value in (0, {}) for value in expected.values())


def test_the_leaderboard_counts_infrastructure_errors_as_failures(later):
    lowered = 0
    for case in later["compute_metrics"]:
        every, trials = list(simulations_of_1_0_1(case)), case["num_trials"]
        metrics = compute_run_metrics(every, trials)
        leaderboard = compute_run_metrics(every, trials, "leaderboard")
        errors = metrics["infra_error_count"]
        assert leaderboard["infra_error_count"] == errors
        assert leaderboard["total_simulations"] == metrics["total_simulations"] + errors
        if not errors:
            assert leaderboard["pass_hat_ks"] == metrics["pass_hat_ks"]
        elif metrics["avg_reward"] > 0:
            assert leaderboard["avg_reward"] < metrics["avg_reward"]
            lowered += 1
    assert lowered >= 3
