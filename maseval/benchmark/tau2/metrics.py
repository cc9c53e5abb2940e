"""How well a run went: success, pass^k and pass@k, each with its denominator.

Every repetition counts. One that failed, ended early or has no verdict is a failure. Nothing here
depends on the order of the reports.

After tau2-bench v0.2.0, src/tau2/metrics/agent_metrics.py (MIT, Sierra Research).
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from statistics import fmean
from typing import Any, NamedTuple, TypedDict

from maseval.core.exceptions import ConfigurationError
from maseval.core.report import Report, TaskExecutionStatus

logger = logging.getLogger(__name__)

TOLERANCE = 1e-6

TaskKey = tuple[str | None, str]
"""A task's domain and id: every domain has a task "1"."""


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


class Trials(NamedTuple):
    """How often one task was tried, and how often with success."""

    total: int
    passed: int


def is_successful(reward: float) -> bool:
    """Whether a reward is 1, give or take rounding."""
    return 1 - TOLERANCE <= reward <= 1 + TOLERANCE


def pass_hat_k(num_trials: int, success_count: int, k: int) -> float:
    """Chance that ``k`` trials drawn without replacement all passed (arXiv:2406.12045)."""
    _check(num_trials, success_count, k)
    return math.comb(success_count, k) / math.comb(num_trials, k)


def pass_at_k(num_trials: int, success_count: int, k: int) -> float:
    """Chance that of ``k`` trials drawn without replacement one passed (arXiv:2107.03374)."""
    _check(num_trials, success_count, k)
    return 1 - math.comb(num_trials - success_count, k) / math.comb(num_trials, k)


def _check(num_trials: int, success_count: int, k: int) -> None:
    if k < 0:
        raise ConfigurationError(f"k is {k}; give 0 or more")
    if not 0 <= success_count <= num_trials:
        raise ConfigurationError(
            f"{success_count} successes in {num_trials} trials; give a number from 0 to the trials"
        )
    if num_trials < k:
        raise ConfigurationError(f"Number of trials {num_trials} is less than k {k}.")


def compute_pass_hat_k(
    results: Iterable[Report], k_values: Iterable[int] | None = None
) -> dict[str, float]:
    """``{"pass^1": ...}``: the mean over tasks of the chance that all of k trials pass.

    ``None`` means every k up to the smallest number of trials of any task; a larger k is left out
    and a warning says so.
    """
    trials = _trials_by_task(results)
    if k_values is None:
        k_values = range(1, _fewest(trials) + 1)
    return _mean_over_tasks("pass^", pass_hat_k, trials, k_values)


def compute_pass_at_k(
    results: Iterable[Report], k_values: Iterable[int] = (1, 2, 3, 4)
) -> dict[str, float]:
    """``{"pass@1": ...}``: the mean over tasks of the chance that one of k trials passes.

    A k larger than the number of trials of some task is left out and a warning says so.
    """
    return _mean_over_tasks("pass@", pass_at_k, _trials_by_task(results), k_values)


def compute_benchmark_metrics(results: Iterable[Report]) -> BenchmarkMetrics:
    """The whole run in numbers, whatever became of each repetition."""
    reports = list(results)
    total = len(reports)
    simulations = [_simulation(report) for report in reports]
    passed = sum(map(_passed, reports))
    with_cost = [each for each in simulations if each.get("agent_cost") is not None]
    return {
        "total_tasks": total,
        "total_simulations": total,
        "distinct_tasks": len(_trials_by_task(reports)),
        "successful_tasks": passed,
        "success_rate": passed / total if total else 0.0,
        "mean_reward": math.fsum(map(_reward, reports)) / total if total else 0.0,
        "status_counts": dict(Counter(report.get("status", "unknown") for report in reports)),
        "termination_counts": dict(
            Counter(each.get("termination_reason") or "not_recorded" for each in simulations)
        ),
        "not_scorable": sum(map(_not_scorable, reports)),
        "simulations_with_cost": len(with_cost),
        "avg_agent_cost": _mean_or_none(each["agent_cost"] for each in with_cost),
        "avg_user_cost": _mean_or_none(each.get("user_cost") for each in with_cost),
    }


def summarise(simulations: Iterable[Mapping[str, Any]], num_trials: int) -> dict[str, float]:
    """The original's own summary of simulations in v0.2.0's form, which may be an iterator.

    ``num_trials`` is the number that the run declares: no k beyond it is reported, though every
    simulation counts. The mean cost is NaN if no cost is known.
    """
    rewards: list[float] = []
    costs: list[float] = []
    total: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for simulation in simulations:
        reward = _recorded_reward(simulation)
        rewards.append(reward)
        if simulation.get("agent_cost") is not None:
            costs.append(simulation["agent_cost"])
        total[simulation["task_id"]] += 1
        passed[simulation["task_id"]] += is_successful(reward)
    if not total:
        raise ConfigurationError("there is no simulation to summarise; give at least one")
    summary = {
        "avg_reward": fmean(rewards),
        "avg_agent_cost": fmean(costs) if costs else math.nan,
    }
    for k in range(1, min(num_trials, *total.values()) + 1):
        chances = (pass_hat_k(total[task], passed[task], k) for task in total)
        summary[f"pass_hat_{k}"] = fmean(chances)
    return summary


def _recorded_reward(simulation: Mapping[str, Any]) -> float:
    verdict = simulation.get("reward_info")
    if verdict is None:
        raise ConfigurationError(
            f"simulation {simulation.get('id')!r} of task {simulation.get('task_id')!r} has no "
            "reward_info; score it first with score_simulation"
        )
    return float(verdict["reward"])


def _trials_by_task(results: Iterable[Report]) -> dict[TaskKey, Trials]:
    total: Counter[TaskKey] = Counter()
    passed: Counter[TaskKey] = Counter()
    for report in results:
        total[_task_of(report)] += 1
        passed[_task_of(report)] += _passed(report)
    return {task: Trials(total[task], passed[task]) for task in total}


def _mean_over_tasks(
    name: str,
    chance: Callable[[int, int, int], float],
    trials: Mapping[TaskKey, Trials],
    k_values: Iterable[int],
) -> dict[str, float]:
    wanted = list(k_values)
    possible = [k for k in wanted if k <= _fewest(trials)]
    if trials and len(possible) < len(wanted):
        _warn_of_left_out([f"{name}{k}" for k in wanted if k not in possible], trials)
    if not trials:
        return {}
    return {f"{name}{k}": fmean(chance(*each, k) for each in trials.values()) for k in possible}


def _warn_of_left_out(names: Collection[str], trials: Mapping[TaskKey, Trials]) -> None:
    domain, task_id = min(trials, key=lambda task: (trials[task].total, str(task)))
    logger.warning(
        "%s left out: task %r%s has %d trials",
        ", ".join(names),
        task_id,
        f" of {domain}" if domain else "",
        _fewest(trials),
    )


def _fewest(trials: Mapping[TaskKey, Trials]) -> int:
    return min((each.total for each in trials.values()), default=0)


# A report read from a file may lack the parts that its writer was told to leave out.


def _task_of(report: Report) -> TaskKey:
    task: Mapping[str, Any] = report.get("task") or {}
    return (task.get("metadata") or {}).get("domain"), report["task_id"]


def _verdicts(report: Report) -> list[dict[str, Any]]:
    succeeded = TaskExecutionStatus.SUCCESS.value
    return (report.get("eval") or []) if report.get("status", succeeded) == succeeded else []


def _passed(report: Report) -> bool:
    return any(entry.get("passed") for entry in _verdicts(report))


def _reward(report: Report) -> float:
    return max((entry.get("reward") or 0.0 for entry in _verdicts(report)), default=0.0)


def _not_scorable(report: Report) -> bool:
    forms = (entry.get("reward_info") or {} for entry in _verdicts(report))
    return any("replay_error" in (form.get("info") or {}) for form in forms)


def _simulation(report: Report) -> Mapping[str, Any]:
    environment: Mapping[str, Any] = (report.get("traces") or {}).get("environment") or {}
    return environment.get("simulation") or {}


def _mean_or_none(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
