"""Metrics of a run: success rate, pass^k and pass@k, each with its denominator.

Every repetition counts here, as in v0.2.0: one that failed, ended early or has no verdict is a
failure. The numbers that commands show leave out what has no verdict (``maseval.core.outcome``).
Nothing here depends on the order of the reports.

After tau2-bench v0.2.0, src/tau2/metrics/agent_metrics.py (MIT, Sierra Research).
"""

import logging
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from statistics import fmean
from typing import Any, TypedDict

from maseval.benchmark.tau2.domains.releases import AnyVersion, release_named
from maseval.benchmark.tau2.run_metrics import as_dict, compute_run_metrics
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport, TaskKey, is_successful, parse_report
from maseval.core.report import Report
from maseval.core.words import count_of
from maseval.stats.trials import (
    Measure,
    Trials,
    count_trials,
    fewest_trials,
    mean_over_tasks,
    means_up_to,
    measure_name,
)
from maseval.stats.trials import pass_hat_k as _pass_hat_k

logger = logging.getLogger(__name__)


class BenchmarkMetrics(TypedDict):
    """A run in numbers; all shares and means are over ``total_simulations``.

    ``total_tasks`` is the same number under the name that readers of reports know; the tasks that
    were repeated are counted once in ``distinct_tasks``. Mean costs are over the simulations
    whose cost is known (``simulations_with_cost``), and None if there is none.
    """

    total_tasks: int
    total_simulations: int
    distinct_tasks: int
    successful_tasks: int
    success_rate: float
    mean_reward: float
    status_counts: dict[str, int]
    termination_counts: dict[str, int]
    not_scorable: int
    simulations_with_cost: int
    avg_agent_cost: float | None
    avg_user_cost: float | None


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
        return _means("pass^k", trials, k_values)
    found = means_up_to(trials.values(), "pass^k", fewest_trials(trials.values()))
    return {measure_name("pass^k", k): value for k, value in found.items()}


def compute_pass_at_k(
    results: Iterable[Report], k_values: Iterable[int] = (1, 2, 3, 4)
) -> dict[str, float]:
    """Return ``{"pass@1": ...}``: the mean over tasks of the chance that one of k trials passes.

    A k larger than the number of trials of some task is left out and a warning says so.
    """
    return _means("pass@k", _trials_by_task(results), k_values)


def compute_benchmark_metrics(results: Iterable[Report]) -> BenchmarkMetrics:
    """Return the whole run in numbers; every repetition counts, however it ended.

    Reports need not name their tasks; only those that do are among the distinct ones.
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


def compute_metrics(
    simulations: Iterable[Mapping[str, Any]], num_trials: int, *, version: AnyVersion = None
) -> dict[str, float]:
    """Return the summary that the original computes from simulations in its own form.

    ``num_trials`` is the number that the run declares: no k beyond it is reported, though every
    simulation counts. The mean cost is NaN if no cost is known. Since v1.0.0 infrastructure errors
    are left out; ``run_metrics.by_convention`` has the leaderboard's numbers as well.
    """
    if release_named(version).rules.metrics.detailed:
        return as_dict(compute_run_metrics(simulations, num_trials))
    rewards: list[tuple[str, float]] = []
    costs: list[float] = []
    for simulation in simulations:
        rewards.append((simulation["task_id"], _recorded_reward(simulation)))
        if simulation.get("agent_cost") is not None:
            costs.append(simulation["agent_cost"])
    if not rewards:
        raise ConfigurationError("there is no simulation to summarise; give at least one")
    tasks = count_trials((task, is_successful(reward)) for task, reward in rewards).values()
    return {
        "avg_reward": fmean(reward for _, reward in rewards),
        "avg_agent_cost": fmean(costs) if costs else math.nan,
        **{
            f"pass_hat_{k}": value
            for k, value in means_up_to(
                tasks, "pass^k", min(num_trials, fewest_trials(tasks))
            ).items()
        },
    }


def _recorded_reward(simulation: Mapping[str, Any]) -> float:
    verdict = simulation.get("reward_info")
    if verdict is None:
        raise ConfigurationError(
            f"simulation {simulation.get('id')!r} of task {simulation.get('task_id')!r} has no "
            "reward_info; score it first with score_simulation"
        )
    return float(verdict["reward"])


def _trials_by_task(results: Iterable[Report]) -> dict[TaskKey, Trials]:
    outcomes = [parse_report(report).outcome for report in results]
    return count_trials((outcome.key, bool(outcome.passed)) for outcome in outcomes)


def _means(
    measure: Measure, trials: Mapping[TaskKey, Trials], k_values: Iterable[int]
) -> dict[str, float]:
    if not trials:
        return {}
    wanted, most = list(k_values), fewest_trials(trials.values())
    too_large = [measure_name(measure, k) for k in wanted if k > most]
    if too_large:
        _warn_of_left_out(too_large, trials)
    return {
        measure_name(measure, k): mean_over_tasks(trials.values(), measure, k)
        for k in wanted
        if k <= most
    }


def _warn_of_left_out(names: Collection[str], trials: Mapping[TaskKey, Trials]) -> None:
    task = min(trials, key=lambda key: (trials[key].total, str(key)))
    logger.warning(
        "%s left out: task %r%s has %s",
        ", ".join(names),
        task.task_id,
        f" of {task.domain}" if task.domain else "",
        count_of(trials[task].total, "trial"),
    )


def _not_scorable(report: RecordedReport) -> bool:
    details = (each.reward_info.get("info") for each in report.evaluations)
    return any(isinstance(each, Mapping) and "replay_error" in each for each in details)


def _mean_or_none(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
