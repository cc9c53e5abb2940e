"""Metrics against what tau2-bench v1.0.1 computed."""

from collections.abc import Iterator
from typing import Any

import pytest

from maseval.benchmark.tau2.metrics import compute_metrics, pass_hat_k
from maseval.benchmark.tau2.run_metrics import by_convention, compute_run_metrics
from tests.contract.replay import records

pytestmark = pytest.mark.contract

EXACT = {"rel": 0, "abs": 1e-12, "nan_ok": True}


@pytest.fixture(scope="module")
def recorded(vectors) -> dict[str, Any]:
    return records(vectors / "metrics.json")[0]


def simulations_of(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
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


def test_every_pass_hat_k_is_the_recorded_one(recorded):
    assert len(recorded["pass_hat_k"]) >= 112
    for trials, passed, k, value, error in recorded["pass_hat_k"]:
        if error is None:
            assert pass_hat_k(trials, passed, k) == pytest.approx(value, **EXACT)
        else:
            with pytest.raises(ValueError) as caught:
                pass_hat_k(trials, passed, k)
            assert f"ValueError: {caught.value}" == error


def test_every_summary_is_the_recorded_one(recorded):
    assert len(recorded["compute_metrics"]) >= 16
    for case in recorded["compute_metrics"]:
        found = compute_run_metrics(simulations_of(case), case["num_trials"])
        expected = numbers(case["metrics"])
        ks = {str(k): value for k, value in found.pop("pass_hat_ks").items()}
        assert ks == pytest.approx(expected.pop("pass_hat_ks"), **EXACT), case["case"]
        assert len(ks) == case["max_k"]
        assert found == pytest.approx({key: expected.pop(key) for key in found}, **EXACT)
        # Reviews, authentication and responsiveness are of runs that are more than text.
        assert all(value in (0, {}) for value in expected.values())

        shown = compute_metrics(simulations_of(case), case["num_trials"], version="1.0.1")
        assert list(shown) == list(case["as_dict"])
        assert shown == pytest.approx(numbers(case["as_dict"]), **EXACT)


def test_the_leaderboard_counts_infrastructure_errors_as_failures(recorded):
    lowered = 0
    for case in recorded["compute_metrics"]:
        both = by_convention(simulations_of(case), case["num_trials"])
        metrics, leaderboard = both["metrics"], both["leaderboard"]
        errors = metrics["infra_error_count"]
        assert leaderboard["infra_error_count"] == errors
        assert leaderboard["total_simulations"] == metrics["total_simulations"] + errors
        if not errors:
            assert leaderboard["pass_hat_ks"] == metrics["pass_hat_ks"]
        elif metrics["avg_reward"] > 0:
            assert leaderboard["avg_reward"] < metrics["avg_reward"]
            lowered += 1
    assert lowered >= 3
