"""The review of one report: who failed and why, and which rules were broken.

Reports, the viewer and ``maseval show`` get it by way of ``Tau2Support``.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from maseval.app.benchmarks import no_rules
from maseval.app.results.explained import Review, VerdictExplanation
from maseval.benchmark.tau2.app.results.support import has_rules
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains import UnknownDomainError
from maseval.benchmark.tau2.formats.message import render_call
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.results.writing import Tau2Report
from maseval.benchmark.tau2.review.causes import (
    beside_policy,
    explain_with_cause,
    user_findings,
)
from maseval.benchmark.tau2.review.errata import Erratum, errata_for, has_errata, sound_finding
from maseval.benchmark.tau2.review.explain import WrongField
from maseval.benchmark.tau2.review.explain.explanation import format_value
from maseval.benchmark.tau2.review.explain.scored_case import score_opened
from maseval.benchmark.tau2.review.harm import find_harm
from maseval.benchmark.tau2.review.policy import check_case, not_checked
from maseval.benchmark.tau2.review.timeline import timeline
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.world.world import ReplayError
from maseval.core.exceptions import MASEvalError
from maseval.core.finding import LEFT_OUT, SOUND_FAIL, SOUND_PASS, Finding, Who
from maseval.core.harm import HarmFound
from maseval.core.outcome import verdict_for
from maseval.core.recorded import entries, mapping, number
from maseval.core.report import AGENT_FAILURES, Report, TaskExecutionStatus
from maseval.runs.recording import Recording

_SCRIPTED = "the agent was scripted: only rules about the state were checked"


def _field(field: WrongField) -> dict[str, object]:
    wrote, action = field.written_by, field.gold_action
    return {
        "place": str(field.place),
        "expected": format_value(field.expected),
        "found": format_value(field.found),
        "message": None if wrote is None else wrote.message_index,
        "call": None if wrote is None else render_call(wrote.call),
        "remedy": None if action is None else render_call(action.model_dump()),
    }


def _errata_of(report: Tau2Report) -> tuple[Erratum, ...]:
    return errata_for(report.world, report.task_id, report.release.name, report.judged_by)


def review(report: Report, *, explain_pass: bool = False) -> Review:
    """Return who failed, which rules were broken, what the user did wrong, and what the task is."""
    found = Tau2Report(report)
    passed = found.kind == "pass"
    if isinstance(found.form, Omitted):
        return Review([] if passed else [_cause_of_unfinished(found.form)])
    try:
        _ = found.world
    except UnknownDomainError as error:
        unknown = Finding("cause", "unclear", "unknown domain", "no such domain", str(error))
        unread = not_checked(str(error)).findings
        return Review(unread if passed else [unknown, *unread])
    cause, explanation = (None, None)
    if explain_pass or not passed:
        cause, explanation = _explain(found, passed)
    policy = _check_policy(found)
    cause = cause and beside_policy(cause, policy)
    every = [cause, *policy, *_check_user(found), _check_soundness(found)]
    return Review([each for each in every if each is not None], explanation)


def _check_policy(found: Tau2Report) -> Sequence[Finding]:
    domain = found.world
    if not domain.rules:
        return not_checked(f"the domain {domain.name} has no rules").findings
    try:
        return check_case(found.case, scripted=found.is_scripted).findings
    except UnknownTaskError as error:
        return not_checked(str(error)).findings


def _check_soundness(found: Tau2Report) -> Finding | None:
    """Return how a known fault of the task changes what counts; None if it changes nothing."""
    passed, _ = verdict_for(found.kind, found.status)
    try:
        verdict = _whole(found.recorded_verdict)
        sound = sound_finding(found.case, _errata_of(found), verdict)
    # The task is unknown, no judge was asked, or messages were deleted.
    except (UnknownTaskError, NoJudgeError, ReplayError):
        return None
    if sound is None or sound.kind == LEFT_OUT:
        return sound
    # A forged verdict counts otherwise than the conversation that the finding is about.
    return sound if passed is (sound.kind == SOUND_FAIL) else None


def _check_user(found: Tau2Report) -> Sequence[Finding]:
    """Return the faults of the user of one simulation that its record shows."""
    if found.has_scripted_user or found.solo:
        return ()
    try:
        return user_findings(found.open_case(graded=False))
    except UnknownTaskError:
        return ()


def _explain(found: Tau2Report, passed: bool) -> tuple[Finding | None, VerdictExplanation | None]:
    """Return who failed, and what explains the verdict unless only a judge could tell."""
    try:
        explanation, cause = explain_with_cause(score_opened(found.case, _errata_of(found)))
    except UnknownTaskError as error:
        unknown = Finding("cause", "unclear", "unknown task", "no such task", str(error))
        return None if passed else unknown, None
    except NoJudgeError as error:
        return None if passed else _cause_by_judge(found, error), None
    # No check fails, whatever the record says: it was edited, or judged by other rules.
    if cause is None and not passed:
        seen = "recorded as failed, but it passes when scored again"
        cause = Finding(
            "cause", "infrastructure", "verdict not reproduced", "judged again", seen, "proven"
        )
    record = explanation.to_dict()
    if not passed:
        # Passes have sound verdicts as well, so that commands and pages tell them apart from this.
        explanation = replace(explanation, sound=None)
    fields = [_field(each) for each in explanation.wrong_fields]
    told = VerdictExplanation(explanation.summary, explanation.sections(), fields, record)
    return cause, told


def _whole(verdict: Mapping[str, object]) -> RewardInfo | None:
    """Return a recorded verdict if it has what is needed of it; anybody may have written it."""
    is_whole = number(verdict.get("reward")) is not None and "reward_breakdown" in verdict
    return cast(RewardInfo, verdict) if is_whole else None


def _cause_by_judge(found: Tau2Report, error: NoJudgeError) -> Finding:
    """Return the cause where only the judge's part is left: by its replies, if it was asked."""
    replies = found.recorded_verdict.get("nl_assertions")
    unmet = [
        f"{each['nl_assertion']}: {each['justification']}"
        for each in map(mapping, entries(replies))
        if each["met"] is False
    ]
    if not unmet:
        return Finding("cause", "unclear", "needs a judge", "no judge", str(error), "undecided")
    kind, rule = "assertion not met", "what the judge said"
    return Finding("cause", "unclear", kind, rule, unmet[0], "undecided", evidence=(*unmet[1:],))


def _cause_of_unfinished(omitted: Omitted) -> Finding:
    who: Who = "agent" if omitted.status in AGENT_FAILURES else "infrastructure"
    kind = _UNFINISHED.get(omitted.status, "did not finish")
    text = f"{omitted.status}: {omitted.reason}"
    return Finding("cause", who, kind, "status of the run", text, "proven")


_UNFINISHED = {
    TaskExecutionStatus.AGENT_ERROR.value: "raised an error",
    TaskExecutionStatus.CONTEXT_OVERFLOW.value: "context overflow",
}


def limits(folder: Recording) -> list[str]:
    """Say which rules of the policy nobody asks."""
    first = next(iter(folder.reports()), None)
    scripted = [_SCRIPTED] if first is not None and Tau2Report(first).is_scripted else []
    domains = dict.fromkeys(one.domain for one in folder.planned)
    return [*scripted, *(no_rules(name) for name in domains if not has_rules(name))]


def timeline_of(report: Report) -> dict[str, Any] | None:
    """Return the world after each message; None without a conversation that can be replayed."""
    parsed = Tau2Report(report)
    if not entries(parsed.simulation.raw.get("messages")):
        return None
    with suppress(MASEvalError):  # the domain is somebody else's, or its data is elsewhere
        return timeline(
            {**parsed.simulation.raw, "task_id": report["task_id"]},
            parsed.world,
            parsed.judged_by,
            solo=parsed.solo,
            version=parsed.release,
        ).to_dict()
    return None


def harm(report: Report) -> HarmFound | None:
    """Return the harm that the databases prove; None of what cannot be replayed."""
    found = Tau2Report(report)
    if isinstance(found.form, Omitted):
        return None
    with suppress(MASEvalError):  # the domain is somebody else's, or its data is elsewhere
        sound = _check_soundness(found)
        return find_harm(found.case, sound=sound is not None and sound.kind == SOUND_PASS)
    return None


def task_findings(folder: Recording) -> dict[tuple[str, str], list[tuple[str, str]]]:
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    with suppress(MASEvalError):  # the data is elsewhere, or the domain somebody else's
        for key, one in sorted({one[:2]: one for one in folder.recorded}.items()):
            if not has_errata(*key):
                continue  # and its report need not be read
            parsed = Tau2Report(folder.report(one))
            for each in errata_for(*key, parsed.release, parsed.judged_by):
                words = f"{each.what} Known from: {', '.join(each.known)}."
                name = f"{'remark' if each.is_remark else 'erratum'}: {each.kind}"
                found.setdefault(key, []).append((name, words))
    return found
