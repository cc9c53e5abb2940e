"""A run's simulations in numbers, as tau2-bench summarises them since v1.0.0.

Simulations that failed for reasons outside the conversation (``infrastructure_error``) can be
counted in two ways. The original's *metrics* leave them out; its *leaderboard* counts them as
failed trials. Both are given here, by name, because the difference can be several points.

After tau2-bench v1.0.1, src/tau2/metrics/agent_metrics.py (MIT, Sierra Research).
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal, TypedDict

from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.core.outcome import is_successful
from maseval.stats.trials import count_trials, fewest_trials, means_up_to

Convention = Literal["metrics", "leaderboard"]
CONVENTIONS: tuple[Convention, ...] = ("metrics", "leaderboard")

LEFT_OUT = TerminationReason.INFRASTRUCTURE_ERROR
_ERRORS = (
    TerminationReason.TOO_MANY_ERRORS,
    TerminationReason.AGENT_ERROR,
    TerminationReason.USER_ERROR,
)

SimulationRecord = Mapping[str, Any]


class RunMetrics(TypedDict):
    """A run in numbers; all but the two counts of infrastructure errors are without these.

    In the leaderboard's convention, ``avg_reward``, ``pass_hat_ks``, ``total_simulations`` and
    ``total_tasks`` include them, each as a failed trial.
    """

    avg_reward: float
    pass_hat_ks: dict[int, float]
    avg_agent_cost: float
    total_simulations: int
    total_tasks: int
    infra_error_count: int
    total_read_actions: int
    correct_read_actions: int
    total_write_actions: int
    correct_write_actions: int
    db_match_count: int
    db_mismatch_count: int
    db_not_checked: int
    auth_not_checked: int
    termination_user_stop: int
    termination_agent_stop: int
    termination_max_steps: int
    termination_error: int
    termination_infrastructure_error: int


def compute_run_metrics(
    simulations: Iterable[SimulationRecord], num_trials: int, convention: Convention = "metrics"
) -> RunMetrics:
    """Return the summary of simulations in the original's form.

    ``num_trials`` is the number that the run declares: no k beyond it is reported.
    """
    every = list(simulations)
    left = [each for each in every if each.get("termination_reason") != LEFT_OUT]
    counted = every if convention == "leaderboard" else left
    rewards = [_reward(each) for each in counted]
    tasks = count_trials(
        (each["task_id"], reward is not None and is_successful(reward))
        for each, reward in zip(counted, rewards, strict=True)
    )
    most = min(num_trials, fewest_trials(tasks.values()))
    failed = len(every) - len(left)
    return {
        "avg_reward": _mean([reward for reward in rewards if reward is not None], counted),
        "pass_hat_ks": means_up_to(tasks.values(), "pass^k", most),
        "avg_agent_cost": _mean(
            [each["agent_cost"] for each in left if each.get("agent_cost") is not None], left
        ),
        "total_simulations": len(counted),
        "total_tasks": len(tasks),
        "infra_error_count": failed,
        **_actions(left),  # type: ignore[typeddict-item]  # mypy does not look into these
        **_databases(left),
        "auth_not_checked": sum(each.get("auth_classification") is None for each in left),
        **_endings(left),
        # As in the original, which counts endings only if a simulation is left.
        "termination_infrastructure_error": failed if left else 0,
    }


def by_convention(
    simulations: Iterable[SimulationRecord], num_trials: int
) -> dict[str, RunMetrics]:
    """Return the summary in each of the two conventions, by its name."""
    every = list(simulations)
    return {name: compute_run_metrics(every, num_trials, name) for name in CONVENTIONS}


def as_dict(metrics: RunMetrics) -> dict[str, float]:
    """Return the numbers that the original shows, with each pass^k as ``pass_hat_k``."""
    return {
        "avg_reward": metrics["avg_reward"],
        "avg_agent_cost": metrics["avg_agent_cost"],
        "total_simulations": metrics["total_simulations"],
        "total_tasks": metrics["total_tasks"],
        "infra_error_count": metrics["infra_error_count"],
        **{f"pass_hat_{k}": value for k, value in metrics["pass_hat_ks"].items()},
    }


def _reward(simulation: SimulationRecord) -> float | None:
    """Return the recorded reward; an infrastructure error counts as a failure."""
    if simulation.get("termination_reason") == LEFT_OUT:
        return 0.0
    verdict = simulation.get("reward_info")
    return None if verdict is None else float(verdict["reward"])


def _mean(values: Sequence[float], of: Sequence[SimulationRecord]) -> float:
    """Return the mean of the known values: NaN if none is known, 0.0 without simulations."""
    if not of:
        return 0.0
    return fmean(values) if values else math.nan


def _actions(simulations: Sequence[SimulationRecord]) -> dict[str, int]:
    found: Counter[tuple[str, bool]] = Counter(
        (check.get("tool_type"), check["action_match"])
        for simulation in simulations
        for check in (simulation.get("reward_info") or {}).get("action_checks") or ()
    )
    counts: dict[str, int] = {}
    for kind in ("read", "write"):
        counts[f"total_{kind}_actions"] = found[kind, True] + found[kind, False]
        counts[f"correct_{kind}_actions"] = found[kind, True]
    return counts


def _databases(simulations: Sequence[SimulationRecord]) -> dict[str, int]:
    found: Counter[bool | None] = Counter()
    for simulation in simulations:
        check = (simulation.get("reward_info") or {}).get("db_check")
        found[None if check is None else check["db_match"]] += 1
    return {
        "db_match_count": found[True],
        "db_mismatch_count": found[False],
        "db_not_checked": found[None],
    }


def _endings(simulations: Sequence[SimulationRecord]) -> dict[str, int]:
    found = Counter(simulation.get("termination_reason") for simulation in simulations)
    return {
        "termination_user_stop": found[TerminationReason.USER_STOP],
        "termination_agent_stop": found[TerminationReason.AGENT_STOP],
        "termination_max_steps": found[TerminationReason.MAX_STEPS],
        "termination_error": sum(found[reason] for reason in _ERRORS),
    }
