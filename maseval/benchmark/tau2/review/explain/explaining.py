"""explain: a recorded conversation in, the reasons for its verdict out."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

from maseval.benchmark.tau2.conversation.recording import HasSimulation
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.review.errata.sound import sound_finding
from maseval.benchmark.tau2.review.explain.evidence import (
    AssertionEvidence,
    assertion_evidence,
    check_summaries,
    communication_evidence,
    replay_fault,
)
from maseval.benchmark.tau2.review.explain.explanation import Explanation, render_call
from maseval.benchmark.tau2.review.explain.repair import MOST_TRIALS, RepairSearch
from maseval.benchmark.tau2.review.explain.scored_case import CaseKeywords, ScoredCase, score_case
from maseval.benchmark.tau2.review.explain.tracing import (
    WorldHistory,
    conversation_history,
    divergence,
    gold_history,
    needed_actions,
    wrong_fields,
)
from maseval.benchmark.tau2.world.tasks import Action, RewardType
from maseval.core.outcome import is_successful


def explain(
    simulation: Mapping[str, Any] | HasSimulation,
    *,
    domain: str | Domain,
    most_trials: int = MOST_TRIALS,
    **keywords: Unpack[CaseKeywords],
) -> Explanation:
    """Explain why a simulation got its reward, and what would have changed it.

    The arguments are those of ``score_simulation``. ``most_trials`` bounds the search for the
    smallest set of tool calls that flips the verdict.
    """
    return explain_subject(score_case(simulation, domain, **keywords), most_trials=most_trials)


def explain_subject(subject: ScoredCase, *, most_trials: int = MOST_TRIALS) -> Explanation:
    """Explain a case that is already scored."""
    reward_info, messages = subject.reward_info, subject.case.recording.messages
    fault = replay_fault(reward_info)
    looked = subject.case.recording.ended_by_choice and fault is None
    passed = is_successful(reward_info["reward"])
    parts: dict[str, Any] = {}
    if looked and subject.case.task.evaluation_criteria is not None:
        said = communication_evidence(messages, reward_info["communicate_checks"] or ())
        parts["communication"] = said
        if subject.case.counts(RewardType.COMMUNICATE):
            parts["to_be_said"] = tuple(each.info for each in said if not each.met)
        parts |= _explain_end_state(subject, passed, most_trials)
        parts["sound"] = sound_finding(subject.case, subject.errata, reward_info)
    checks = check_summaries(subject.case.criteria, reward_info, looked=looked)
    cut_off = None
    if not subject.case.recording.ended_by_choice:
        cut_off = subject.case.recording.termination_reason or "none recorded"
    explanation = Explanation(
        domain=subject.case.setting.domain.name,
        task_id=subject.case.recording.task_id,
        reward=reward_info["reward"],
        passed=passed,
        summary="",
        checks=checks,
        state_gates=subject.case.counts(RewardType.DB),
        cut_off=cut_off,
        replay_fault=fault,
        **parts,
    )
    name = f"{explanation.domain} task {explanation.task_id}, reward {explanation.reward:g}"
    return replace(explanation, summary=f"{name}: {_reason(explanation)}")


def _explain_end_state(subject: ScoredCase, passed: bool, most_trials: int) -> dict[str, Any]:
    search = RepairSearch(subject, most_trials=most_trials)
    if passed:
        return {"repair": search.breaking()} if search.writes else {}
    case, histories = subject.case, _histories(subject)
    wrong = [] if histories is None else wrong_fields(*histories, case.task.actions)
    repair, point = None, None
    if _calls_decide(subject):
        doubted = [each.written_by for each in wrong if each.written_by]
        suspects = [n for n, write in enumerate(search.writes) if write in doubted]
        needed = [] if histories is None else needed_actions(*histories, wrong, case.task.actions)
        repair = search.search(suspects, needed)
        is_open, last = repair.only_adds and repair.placement == "end", len(case.messages) - 1
        point = divergence(case.setting.domain, histories, last, open_to_the_end=is_open)
    return {
        "wrong_fields": tuple(wrong),
        "repair": repair,
        "divergence": point,
        "assertions": _assertions(subject),
        "actions_not_taken": _not_taken(subject),
        "described_in": _described_in(subject),
    }


def _described_in(subject: ScoredCase) -> dict[str, tuple[str, ...]]:
    """Return the texts of the domain that describe the calls which were not made."""
    setting = subject.case.setting
    found = {
        render_call(action.call()): setting.domain.described_in(setting.folder, action.call())
        for action in _not_taken(subject)
    }
    return {call: tuple(texts) for call, texts in found.items() if texts}


def _calls_decide(subject: ScoredCase) -> bool:
    """Return True if the verdict failed at something that tool calls decide."""
    info = subject.reward_info
    failed = {
        RewardType.DB: not (info["db_check"] or {"db_match": True})["db_match"],
        RewardType.ENV_ASSERTION: not all(e["met"] for e in info["env_assertions"] or ()),
        RewardType.ACTION: not all(e["action_match"] for e in info["action_checks"] or ()),
    }
    return any(subject.case.counts(kind) and wrong for kind, wrong in failed.items())


def _histories(subject: ScoredCase) -> tuple[WorldHistory, WorldHistory] | None:
    """Return how conversation and gold went, if the end state counts and is not the gold one."""
    check = subject.reward_info["db_check"]
    if check is None or check["db_match"] or not subject.case.counts(RewardType.DB):
        return None
    return conversation_history(subject.case), gold_history(subject.case.setting)


def _assertions(subject: ScoredCase) -> tuple[AssertionEvidence, ...]:
    checks = subject.reward_info["env_assertions"] or ()
    if all(check["met"] for check in checks):
        return ()
    return assertion_evidence(subject.case.replay(), checks)


def _not_taken(subject: ScoredCase) -> tuple[Action, ...]:
    if not subject.case.counts(RewardType.ACTION):
        return ()
    return tuple(
        Action.model_validate(check["action"])
        for check in subject.reward_info["action_checks"] or ()
        if not check["action_match"]
    )


def _reason(explanation: Explanation) -> str:
    if explanation.cut_off is not None:
        return f"cut off before either side ended it ({explanation.cut_off})"
    if explanation.replay_fault is not None:
        return "not scorable, because the replay failed"
    if not any(check.gates for check in explanation.checks):
        return "passed, because the task has no criteria"
    if explanation.passed:
        return "every scored check passed"
    return f"failed at {', '.join(explanation.failed_gates)}"
