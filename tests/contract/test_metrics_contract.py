"""Metrics against what tau2-bench v0.2.0 computed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.metrics import compute_metrics, pass_hat_k
from maseval.core.outcome import is_successful

pytestmark = pytest.mark.contract

EXACT = {"rel": 0, "abs": 1e-12, "nan_ok": True}


@pytest.fixture(scope="module")
def recorded(contract_dir: Path) -> dict[str, Any]:
    return json.loads((contract_dir / "metrics.json").read_text(encoding="utf-8"))


def simulations_of(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for task_id, rewards in case["rewards"].items():
        for reward, cost in zip(rewards, case["costs"][task_id], strict=True):
            yield {
                "id": task_id,
                "task_id": task_id,
                "agent_cost": cost,
                "reward_info": {"reward": reward},
            }


def test_every_pass_hat_k_is_the_recorded_one(recorded):
    assert recorded["pass_hat_k"]
    for num_trials, success_count, k, value, error in recorded["pass_hat_k"]:
        if error is None:
            assert pass_hat_k(num_trials, success_count, k) == pytest.approx(value, **EXACT)
        else:
            with pytest.raises(ValueError) as caught:
                pass_hat_k(num_trials, success_count, k)
            assert f"ValueError: {caught.value}" == error


def test_every_reward_counts_as_recorded(recorded):
    assert recorded["is_successful"]
    assert [[reward, is_successful(reward)] for reward, _ in recorded["is_successful"]] == recorded[
        "is_successful"
    ]


def test_every_summary_is_the_recorded_one(recorded):
    assert recorded["compute_metrics"]
    for case in recorded["compute_metrics"]:
        assert case["exception"] is None
        expected = {
            name: float("nan") if value == "NaN" else value
            for name, value in case["as_dict"].items()
        }

        summary = compute_metrics(simulations_of(case), case["num_trials"])

        assert list(summary) == list(expected)
        assert summary == pytest.approx(expected, **EXACT)
        assert sum(name.startswith("pass_hat_") for name in summary) == case["max_k"]
