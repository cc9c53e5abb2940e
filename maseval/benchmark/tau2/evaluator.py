"""Tau2Evaluator, the verdict of ``scoring`` in the form of a benchmark's reports; metrics of a run.

In the metrics every repetition counts, as in v0.2.0: one that failed, ended early or has no verdict
is a failure. The numbers that commands show leave out what has no verdict
(``maseval.core.outcome``). Nothing here depends on the order of the reports.

Since v1.0.0, simulations that failed for reasons outside the conversation
(``infrastructure_error``) can be counted in two ways. The original's *metrics* leave them out; its
*leaderboard* counts them as failed trials. ``compute_run_metrics`` gives both, by name, because the
difference can be several points.

After tau2-bench v0.2.0, src/tau2/metrics/agent_metrics.py (MIT, Sierra Research).
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from statistics import fmean
from typing import Any, Literal

from maseval.benchmark.tau2.conversation.recording import (
    NoConversationError,
    ending_of,
    merge_conversation,
    read_recording,
)
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.simulation import RewardInfo, TerminationReason, replay_problem
from maseval.benchmark.tau2.scoring.case import Case, KnownTask
from maseval.benchmark.tau2.scoring.judge import JudgeReplyError, NoJudgeError
from maseval.benchmark.tau2.scoring.score import EvaluationType, Verdict, score
from maseval.benchmark.tau2.texts.original import Wording
from maseval.benchmark.tau2.wording import OURS
from maseval.benchmark.tau2.world.tasks import Criteria, RewardType
from maseval.benchmark.tau2.world.world import StateMatch
from maseval.core.evaluator import Evaluator
from maseval.core.judge import Judge
from maseval.core.model import ModelAdapter
from maseval.core.outcome import RecordedReport, TaskKey, parse_report
from maseval.core.provider_errors import ProviderError
from maseval.core.report import Report
from maseval.core.report_parts import is_successful
from maseval.core.task import Task
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

logger = logging.getLogger(__name__)


class Tau2Evaluator(Evaluator):
    """Scores a repetition by its one trajectory, with the rules and the data it was run with.

    ``nl_model`` judges natural-language assertions. Without it they are left out. A task whose
    reward depends on them then has no verdict, unless it fails whatever a judge would say:
    ``reward`` and ``passed`` are None, and ``needs_judge`` is True. A judge that does not answer or
    cannot be understood is an error only for such a task; elsewhere ``nl_check`` reports it.
    """

    environment: Tau2Environment

    def __init__(
        self,
        task: Task,
        environment: Tau2Environment,
        nl_model: ModelAdapter | Judge | None = None,
        wording: Wording = OURS,
    ) -> None:
        super().__init__(task, environment)
        self.nl_model = nl_model
        self.wording = wording
        self._known = KnownTask.of(task)
        data = task.evaluation_data
        self.actions: list[dict[str, Any]] | None = data.get("actions")
        self.env_assertions: list[dict[str, Any]] | None = data.get("env_assertions")
        self.communicate_info: list[str] | None = data.get("communicate_info")
        self.nl_assertions: list[str] | None = data.get("nl_assertions")
        self.reward_basis = self._criteria.reward_basis

    @property
    def _criteria(self) -> Criteria:
        return self._known.spec.evaluation_criteria or Criteria()

    def filter_traces(self, traces: dict[str, Any]) -> dict[str, Any]:
        """Return the trajectory, and why it ended, as the environment recorded them.

        Traces without a trajectory, such as those of another program, are judged by the messages
        of the first agent and of the user; ``NoConversationError`` if there are none.
        """
        environment = traces.get("environment") or {}
        simulation = environment.get("simulation") or {}
        reason = simulation.get("termination_reason") or traces.get("termination_reason")
        messages = simulation.get("messages")
        if not messages:
            messages = merge_conversation(traces)
            reason = reason or ending_of(messages)
        return {
            "full_trajectory": messages,
            "environment": environment,
            "termination_reason": reason,
        }

    def __call__(self, traces: dict[str, Any], final_answer: object = None) -> dict[str, Any]:
        """Return the verdict with every check, and in v0.2.0's form as ``reward_info``."""
        if not traces.get("full_trajectory"):
            raise NoConversationError(
                "there is no conversation to judge: 'full_trajectory' is "
                f"{traces.get('full_trajectory')!r}; give what filter_traces(traces) returns"
            )
        recording = read_recording(
            {
                "messages": traces.get("full_trajectory"),
                "termination_reason": traces.get("termination_reason"),
            }
        )
        skipped, is_open = "Skipped: there is no model to judge them", False
        case = Case.of_live(self.environment, self._known, recording, self.wording)
        try:
            # A judge that is named judges all assertions, also those that the reward does not
            # depend on.
            kind = EvaluationType.ALL_WITH_NL_ASSERTIONS if self.nl_model else EvaluationType.ALL
            verdict = score(case, kind, nl_model=self.nl_model)
        except (JudgeReplyError, ProviderError) as error:
            # A judge that fails does no harm where its word could change nothing.
            found = verdict_without_judge(case)
            if found is None:
                raise
            verdict, skipped = found, f"Skipped: {error}"
        except NoJudgeError as error:
            if (so_far := _so_far(error)) is None:
                raise
            verdict, is_open = so_far, is_successful(so_far.reward_info["reward"])
            skipped = f"Not judged: {error}" if is_open else skipped
        info = verdict.reward_info
        return {
            "reward": None if is_open else info["reward"],
            "passed": None if is_open else is_successful(info["reward"]),
            # Only then: all other verdicts keep the form that readers of theirs know.
            **({"needs_judge": True} if is_open else {}),
            "reward_breakdown": info["reward_breakdown"] or {},
            **self._checks(verdict, skipped),
            **{key: text for key, text in (info["info"] or {}).items() if key == "overrides"},
            "termination_reason": recording.termination_reason,
            "reward_info": None if is_open else info,
        }

    def _checks(self, verdict: Verdict, skipped: str) -> dict[str, object]:
        info = verdict.reward_info["info"] or {}
        if "replay_error" in info and (problem := replay_problem(verdict.reward_info)):
            return {"note": f"The conversation cannot be replayed: {problem['error']}"}
        if "note" in info:
            return {"note": info["note"]}
        return {
            "env_check": _env_check(verdict.reward_info, verdict.match),
            "action_check": _action_check(verdict.reward_info),
            "communicate_check": _communicate_check(verdict.reward_info),
            "nl_check": _nl_check(verdict.reward_info, self._criteria.nl_assertions, skipped),
        }


def verdict_without_judge(case: Case) -> Verdict | None:
    """Return the verdict if no judge could change it."""
    try:
        return score(case)
    except NoJudgeError as error:
        return None if error.certain_failure is None else _so_far(error)


def _so_far(error: NoJudgeError) -> Verdict | None:
    if error.so_far is None:
        return None
    return Verdict(error.so_far, None if error.match is None else StateMatch(*error.match))


def _env_check(found: RewardInfo, match: StateMatch | None) -> dict[str, object]:
    db, asserted = found["db_check"], found["env_assertions"]
    if db is None or match is None:
        return {"reward": 1.0, "note": "No environment criteria"}
    parts = (RewardType.DB, RewardType.ENV_ASSERTION)
    breakdown = found["reward_breakdown"] or {}
    counted = {part.value: breakdown[part] for part in parts if part in breakdown}
    return {
        "reward": math.prod(counted.values(), start=1.0),
        "breakdown": counted,
        "db_match": db["db_match"],
        "agent_db_match": match.company,
        "user_db_match": match.customer,
        "db_reward": db["db_reward"],
        "env_assertions": [
            {"assertion": each["env_assertion"], "passed": each["met"], "reward": each["reward"]}
            for each in asserted or ()
        ],
    }


def _action_check(found: RewardInfo) -> dict[str, object]:
    checks = found["action_checks"]
    if not checks:
        return {"reward": 1.0, "note": "No action criteria"}
    return {
        **_all(RewardType.ACTION, (check["action_match"] for check in checks), "all_matched"),
        "action_checks": [
            {
                "action_id": check["action"]["action_id"],
                "name": check["action"]["name"],
                "matched": check["action_match"],
            }
            for check in checks
        ],
    }


def _communicate_check(found: RewardInfo) -> dict[str, object]:
    checks = found["communicate_checks"]
    if not checks:
        return {"reward": 1.0, "note": "No communication criteria"}
    return {
        **_all(RewardType.COMMUNICATE, (check["met"] for check in checks), "all_found"),
        "comm_checks": [{"info": check["info"], "found": check["met"]} for check in checks],
    }


def _nl_check(found: RewardInfo, wanted: list[str] | None, skipped: str) -> dict[str, object]:
    checks = found["nl_assertions"]
    if not wanted:
        return {"reward": 1.0, "note": "No NL assertions"}
    if checks is None:
        # What nobody judged is not held against the agent here. Whether the whole verdict depends
        # on it, ``needs_judge`` says.
        return {"reward": 1.0, "breakdown": {}, "note": skipped}
    return {
        **_all(RewardType.NL_ASSERTION, (check["met"] for check in checks), "all_met"),
        "nl_checks": checks,
    }


def _all(kind: RewardType, outcomes: Iterable[bool], name: str) -> dict[str, object]:
    met = all(outcomes)
    return {"reward": float(met), "breakdown": {kind.value: float(met)}, name: met}


Convention = Literal["metrics", "leaderboard"]

LEFT_OUT = TerminationReason.INFRASTRUCTURE_ERROR
# The original's summary counts these as one.
_ERRORS = (
    TerminationReason.TOO_MANY_ERRORS,
    TerminationReason.AGENT_ERROR,
    TerminationReason.USER_ERROR,
)

Simulations = Sequence[Mapping[str, Any]]
RunMetrics = dict[str, Any]


def compute_run_metrics(
    simulations: Iterable[Mapping[str, Any]], num_trials: int, convention: Convention = "metrics"
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


def _reward(simulation: Mapping[str, Any]) -> float | None:
    """Return the recorded reward; an infrastructure error counts as a failure."""
    if simulation.get("termination_reason") == LEFT_OUT:
        return 0.0
    verdict = simulation.get("reward_info")
    return None if verdict is None else float(verdict["reward"])


def _mean(values: Sequence[float], of: Simulations) -> float:
    """Return the mean of the known values: NaN if none is known, 0.0 without simulations."""
    if not of:
        return 0.0
    return fmean(values) if values else math.nan


def _actions(simulations: Simulations) -> dict[str, int]:
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


def _databases(simulations: Simulations) -> dict[str, int]:
    found: Counter[bool | None] = Counter()
    for simulation in simulations:
        check = (simulation.get("reward_info") or {}).get("db_check")
        found[None if check is None else check["db_match"]] += 1
    return {
        "db_match_count": found[True],
        "db_mismatch_count": found[False],
        "db_not_checked": found[None],
    }


def _endings(simulations: Simulations) -> dict[str, int]:
    found = Counter(simulation.get("termination_reason") for simulation in simulations)
    return {
        "termination_user_stop": found[TerminationReason.USER_STOP],
        "termination_agent_stop": found[TerminationReason.AGENT_STOP],
        "termination_max_steps": found[TerminationReason.MAX_STEPS],
        "termination_error": sum(found[reason] for reason in _ERRORS),
    }


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

    ``total_tasks`` is the number of repetitions, and all shares and means are over it.
    """
    reports = [RecordedReport(each) if "status" in each else parse_report(each) for each in results]
    total = len(reports)
    passed = sum(report.kind == "pass" for report in reports)
    return {
        "total_tasks": total,
        "successful_tasks": passed,
        "success_rate": passed / total if total else 0.0,
        "mean_reward": math.fsum(each.reward or 0.0 for each in reports) / total if total else 0.0,
        "status_counts": dict(Counter(report.status or "unknown" for report in reports)),
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
        logger.warning(
            "%s left out: a task has only %s", ", ".join(too_large), count_of(most, "trial")
        )
    return {
        f"{name}{k}": fmean(float(measure(*each, k)) for each in trials.values())
        for k in wanted
        if k <= most
    }
