"""Tau2Evaluator: the verdict of ``scoring``, in the form of a benchmark's reports.

After tau2-bench v0.2.0, src/tau2/evaluator/ (MIT, Sierra Research).
"""

import math
from collections.abc import Iterable
from typing import Any

from maseval.benchmark.tau2.conversation.recording import (
    NoConversationError,
    ending_of,
    merge_conversation,
    read_recording,
)
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.simulation import RewardInfo, TerminationReason, replay_problem
from maseval.benchmark.tau2.metrics import (
    compute_benchmark_metrics,
    compute_pass_at_k,
    compute_pass_hat_k,
    pass_hat_k,
)
from maseval.benchmark.tau2.scoring.case import Case, KnownTask
from maseval.benchmark.tau2.scoring.judge import JudgeReplyError, NoJudgeError
from maseval.benchmark.tau2.scoring.score import EvaluationType, Verdict, score
from maseval.benchmark.tau2.texts.original import Wording
from maseval.benchmark.tau2.wording import OURS
from maseval.benchmark.tau2.world.tasks import Criteria, RewardType
from maseval.benchmark.tau2.world.world import StateMatch
from maseval.core.evaluator import Evaluator
from maseval.core.model import ModelAdapter
from maseval.core.outcome import is_successful
from maseval.core.provider_errors import ProviderError
from maseval.core.task import Task

__all__ = [
    "RewardType",
    "Tau2Evaluator",
    "TerminationReason",
    "compute_benchmark_metrics",
    "compute_pass_at_k",
    "compute_pass_hat_k",
    "pass_hat_k",
]


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
        nl_model: ModelAdapter | None = None,
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
            kind = EvaluationType.ALL_WITH_NL_ASSERTIONS if self.nl_model else EvaluationType.ALL
            verdict = score(case, kind, nl_model=self.nl_model)
        except (JudgeReplyError, ProviderError) as error:
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
        found = _so_far(error)
        return None if found is None or is_successful(found.reward_info["reward"]) else found


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
        return {"reward": 1.0, "breakdown": {}, "note": skipped}
    return {
        **_all(RewardType.NL_ASSERTION, (check["met"] for check in checks), "all_met"),
        "nl_checks": checks,
    }


def _all(kind: RewardType, outcomes: Iterable[bool], name: str) -> dict[str, object]:
    met = all(outcomes)
    return {"reward": float(met), "breakdown": {kind.value: float(met)}, name: met}
