"""A run in a tracker's terms."""

import pytest

from maseval.core.outcome import Outcome, verdict_for
from maseval.interface.trackers import metrics_of, parameters_of
from maseval.stats.summary import estimate
from maseval.stats.trials import Trials


def line(
    task: str,
    trial: int,
    status: str,
    outcome: str,
    reward: float | None,
    seconds: float,
    cost: float,
    tokens: int,
) -> Outcome:
    key = "shop", task, trial
    passed, reason = verdict_for(outcome, status)
    row = Outcome(*key, passed, cost, reason, status=status, kind=outcome)
    return row._replace(reward=reward, seconds=seconds, tokens=tokens)


FINISHED = [
    line("1", 0, "success", "pass", 1.0, 2.0, 0.25, 100),
    line("1", 1, "success", "fail", 0.0, 2.0, 0.25, 100),
    line("2", 0, "environment_error", "error", None, 1.0, 0.0, 0),
]


def test_metrics_have_both_ends_of_their_interval():
    tasks = [Trials(4, 4), Trials(4, 1), Trials(4, 2)]
    estimates = {k: estimate(tasks, k=k) for k in range(1, 5)}
    metrics = metrics_of({"": estimates, "shop": estimates}, FINISHED)

    assert metrics["pass_hat_1"] == metrics["shop/pass_hat_1"] == pytest.approx(7 / 12)
    assert metrics["pass_hat_1_low"] == estimates[1].low < metrics["pass_hat_1"]
    assert metrics["pass_hat_1_high"] == estimates[1].high > metrics["pass_hat_1"]
    assert "pass_hat_4_low" in metrics
    took = {"simulations": 3, "passed": 1, "errors": 1, "cost": 0.5, "tokens": 200, "seconds": 5.0}
    assert took.items() <= metrics.items()


def test_tokens_of_unknown_price_have_no_cost():
    free = [each._replace(cost=None) for each in FINISHED]
    unused = FINISHED[2]._replace(cost=0.0)

    assert "cost" not in metrics_of({}, [*free, unused])
    assert metrics_of({}, [unused])["cost"] == 0.0


def test_parameters_are_flat_short_and_without_secrets():
    config = {
        "agent": {"model": "m", "api_key": "sk-very-secret", "args": {"temperature": 0.5}},
        "long": "x" * 1000,
        "none": None,
    }

    assert parameters_of(config) == {
        "agent.model": "m",
        "agent.api_key": "<redacted>",
        "agent.args.temperature": "0.5",
        "long": "x" * 500,
    }
