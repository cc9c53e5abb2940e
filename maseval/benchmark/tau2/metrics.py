"""Metrics of a run: success rate, pass^k and pass@k, each with its denominator.

Every repetition counts here, as in v0.2.0: one that failed, ended early or has no verdict is a
failure. The numbers that commands show leave out what has no verdict (``maseval.core.outcome``).
Nothing here depends on the order of the reports.

Since v1.0.0, simulations that failed for reasons outside the conversation
(``infrastructure_error``) can be counted in two ways. The original's *metrics* leave them out; its
*leaderboard* counts them as failed trials. ``compute_run_metrics`` gives both, by name, because the
difference can be several points.

After tau2-bench v0.2.0 and v1.0.1, src/tau2/metrics/agent_metrics.py (MIT, Sierra Research).
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from statistics import fmean
from typing import Any, Literal

from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.core.outcome import RecordedReport, TaskKey, is_successful, parse_report
from maseval.core.report import Report
from maseval.core.words import count_of
from maseval.stats.trials import (
    Trials,
    count_trials,
    fewest_trials,
    means_up_to,
    measure_name,
    pass_at_k,
)
from maseval.stats.trials import pass_hat_k as _pass_hat_k

Convention = Literal["metrics", "leaderboard"]
CONVENTIONS: tuple[Convention, ...] = ("metrics", "leaderboard")

LEFT_OUT = TerminationReason.INFRASTRUCTURE_ERROR
_ERRORS = (
    TerminationReason.TOO_MANY_ERRORS,
    TerminationReason.AGENT_ERROR,
    TerminationReason.USER_ERROR,
)

SimulationRecord = Mapping[str, Any]


RunMetrics = dict[str, Any]


def compute_run_metrics(
    simulations: Iterable[SimulationRecord], num_trials: int, convention: Convention = "metrics"
) -> RunMetrics:
    """Return the summary of simulations in the original's form.

    ``num_trials`` is the number that the run declares: no k beyond it is reported. All numbers but
    the two counts of infrastructure errors are without these. In the leaderboard's convention,
    ``avg_reward``, ``pass_hat_ks``, ``total_simulations`` and ``total_tasks`` include them, each as
    a failed trial.
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
        "pass_hat_ks": means_up_to(tasks.values(), most),
        "avg_agent_cost": _mean(
            [each["agent_cost"] for each in left if each.get("agent_cost") is not None], left
        ),
        "total_simulations": len(counted),
        "total_tasks": len(tasks),
        "infra_error_count": failed,
        **_actions(left),
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


logger = logging.getLogger(__name__)


def pass_hat_k(num_trials: int, success_count: int, k: int) -> float:
    """Return the chance that ``k`` trials drawn without replacement all pass (arXiv:2406.12045)."""
    return float(_pass_hat_k(num_trials, success_count, k))


def compute_pass_hat_k(
    results: Iterable[Report], k_values: Iterable[int] | None = None
) -> dict[str, float]:
    """Return ``{"pass^1": ...}``: the mean over tasks of the chance that all of k trials pass.

    ``None`` means every k up to the smallest number of trials of any task; a larger k is left out
    and a warning says so.
    """
    trials = _trials_by_task(results)
    if k_values is not None:
        return _means("pass^", _pass_hat_k, trials, k_values)
    found = means_up_to(trials.values(), fewest_trials(trials.values()))
    return {measure_name(k): value for k, value in found.items()}


def compute_pass_at_k(
    results: Iterable[Report], k_values: Iterable[int] = (1, 2, 3, 4)
) -> dict[str, float]:
    """Return ``{"pass@1": ...}``: the mean over tasks of the chance that one of k trials passes.

    A k larger than the number of trials of some task is left out and a warning says so.
    """
    return _means("pass@", pass_at_k, _trials_by_task(results), k_values)


def compute_benchmark_metrics(results: Iterable[Report]) -> dict[str, Any]:
    """Return the whole run in numbers; every repetition counts, however it ended.

    All shares and means are over ``total_simulations``; ``total_tasks`` is the same number under
    the name that readers of reports know. Reports need not name their tasks; only those that do
    are among ``distinct_tasks``. Mean costs are over the simulations whose cost is known
    (``simulations_with_cost``), and None if there is none.
    """
    reports = [RecordedReport(each) if "status" in each else parse_report(each) for each in results]
    total = len(reports)
    rewards = [report.reward or 0.0 for report in reports]
    with_cost = [each.simulation for each in reports if each.simulation.agent_cost is not None]
    passed = sum(report.kind == "pass" for report in reports)
    return {
        "total_tasks": total,
        "total_simulations": total,
        "distinct_tasks": len({report.task for report in reports if report.raw.get("task_id")}),
        "successful_tasks": passed,
        "success_rate": passed / total if total else 0.0,
        "mean_reward": math.fsum(rewards) / total if total else 0.0,
        "status_counts": dict(Counter(report.status or "unknown" for report in reports)),
        "termination_counts": dict(
            Counter(report.termination or "not_recorded" for report in reports)
        ),
        "not_scorable": sum(map(_not_scorable, reports)),
        "simulations_with_cost": len(with_cost),
        "avg_agent_cost": _mean_or_none(each.agent_cost for each in with_cost),
        "avg_user_cost": _mean_or_none(each.user_cost for each in with_cost),
    }


def _trials_by_task(results: Iterable[Report]) -> dict[TaskKey, Trials]:
    outcomes = [parse_report(report).outcome for report in results]
    return count_trials((outcome.key, bool(outcome.passed)) for outcome in outcomes)


def _means(
    name: str,
    measure: Callable[[int, int, int], Fraction],
    trials: Mapping[TaskKey, Trials],
    k_values: Iterable[int],
) -> dict[str, float]:
    if not trials:
        return {}
    wanted, most = list(k_values), fewest_trials(trials.values())
    if too_large := [f"{name}{k}" for k in wanted if k > most]:
        words = "%s left out: a task has only %s"
        logger.warning(words, ", ".join(too_large), count_of(most, "trial"))
    return {
        f"{name}{k}": fmean(float(measure(*each, k)) for each in trials.values())
        for k in wanted
        if k <= most
    }


def _not_scorable(report: RecordedReport) -> bool:
    details = (each.reward_info.get("info") for each in report.evaluations)
    return any(isinstance(each, Mapping) and "replay_error" in each for each in details)


def _mean_or_none(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
