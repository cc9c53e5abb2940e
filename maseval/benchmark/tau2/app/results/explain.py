"""The review of one report: who failed and why, and which rules were broken.

A diagnosis is the cause of a failure, with the explanation where there is a verdict to explain.
Reports, the viewer and ``maseval show`` get it by way of ``Tau2Support``.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from maseval.app.results.explained import VerdictExplanation
from maseval.benchmark.tau2.app.results.sources import ReadReport, read_report
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.formats.message import render_call
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.results.reports import Tau2Report
from maseval.benchmark.tau2.review.causes import (
    beside_policy,
    explain_with_cause,
    user_findings,
    user_not_read,
)
from maseval.benchmark.tau2.review.causes.users import LOOKED_FOR
from maseval.benchmark.tau2.review.errata import Erratum, errata_for, sound_finding
from maseval.benchmark.tau2.review.explain import WrongField
from maseval.benchmark.tau2.review.explain.explanation import format_value
from maseval.benchmark.tau2.review.explain.scored_case import score_opened
from maseval.benchmark.tau2.review.policy import check_case, not_checked
from maseval.benchmark.tau2.review.timeline import Timeline, timeline
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.world.world import ReplayError
from maseval.core.exceptions import MASEvalError
from maseval.core.finding import LEFT_OUT, SOUND_FAIL, Finding, Who
from maseval.core.outcome import RecordedReport, verdict_for
from maseval.core.recorded import entries, mapping, number
from maseval.core.report import AGENT_FAILURES, Report, TaskExecutionStatus
from maseval.runs.recording import Recording

_SCRIPTED = "a script, which does not talk, played the agent: only rules about the state were asked"


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


class Diagnosis(NamedTuple):
    """The finding on who failed, and the explanation where there is a verdict to explain."""

    cause: Finding
    explanation: VerdictExplanation | None = None


_last: tuple[Report, Diagnosis | None] | None = None


def diagnose(report: Report) -> Diagnosis | None:
    """Return who failed a simulation and why; None if it passed.

    The finding and the explanation are asked for in turn, so that the last one is kept.
    """
    global _last
    last = _last
    if last is None or last[0] is not report:
        _last = last = report, _diagnose(report)
    return last[1]


def explanation_of_pass(report: Report) -> VerdictExplanation | None:
    """Return what explains the verdict on a pass; None if only a judge could tell."""
    found = read_report(report)
    if isinstance(found, Omitted):
        return None
    try:
        explanation, _ = explain_with_cause(score_opened(found.case, errata_of_report(found)))
    except (UnknownTaskError, NoJudgeError):
        return None
    sections, record = explanation.sections(), explanation.to_dict()
    return VerdictExplanation(explanation.summary, sections, record=record)


def explanation_of(report: Report) -> VerdictExplanation | None:
    """Return what explains the verdict on a failure, if there is one to explain."""
    return found.explanation if (found := diagnose(report)) else None


def find_all(report: Report) -> list[Finding]:
    """Return who failed, which rules were broken, what the user did wrong, and what the task is."""
    diagnosed, found = diagnose(report), read_report(report)
    cause = None if diagnosed is None else diagnosed.cause
    if isinstance(found, Omitted):
        return [] if cause is None else [cause]
    policy = check_policy(found)
    cause = cause and beside_policy(cause, policy)
    every = [cause, *policy, *_check_user(found, cause), _check_soundness(found)]
    return [each for each in every if each is not None]


def check_policy(found: ReadReport) -> Sequence[Finding]:
    """Return what the rules of its domain find in a simulation."""
    domain = found.parsed.world
    if not domain.rules:
        return not_checked(f"the domain {domain.name} has no rules").findings
    try:
        return check_case(found.case, scripted=found.parsed.is_scripted).findings
    except UnknownTaskError as error:
        return not_checked(str(error)).findings


def _check_soundness(found: ReadReport) -> Finding | None:
    """Return how a known fault of the task changes what counts; None if it changes nothing."""
    passed, _ = verdict_for(found.parsed.kind, found.parsed.status)
    try:
        case, errata = found.case, errata_of_report(found)
        sound = sound_finding(case, errata, _whole(found.simulation["reward_info"]))
    # The task is unknown, no judge was asked, or messages were deleted.
    except (UnknownTaskError, NoJudgeError, ReplayError):
        return None
    if sound is None or sound.kind == LEFT_OUT:
        return sound
    # A forged verdict counts otherwise than the conversation that the finding is about.
    return sound if passed is (sound.kind == SOUND_FAIL) else None


def _check_user(found: ReadReport, cause: Finding | None) -> Sequence[Finding]:
    """Return the faults of the user of one simulation, if a model played it.

    A failure whose ``cause`` is the user is a fault as well, unless it was found already.
    """
    parsed = found.parsed
    if parsed.has_scripted_user:
        return ()
    if parsed.solo:
        return [user_not_read("no user took part")]
    try:
        case = open_case(
            found.simulation, parsed.world, parsed.judged_by, version=parsed.release.name
        )
    except UnknownTaskError as error:
        return [user_not_read(str(error))]
    return user_findings(case, cause)


def _diagnose(report: Report) -> Diagnosis | None:
    if RecordedReport(report).kind == "pass":
        return None
    found = read_report(report)
    if isinstance(found, Omitted):
        return Diagnosis(_cause_of_unfinished(found))
    try:
        errata = errata_of_report(found)
        explanation, cause = explain_with_cause(score_opened(found.case, errata))
    except UnknownTaskError as error:
        return Diagnosis(Finding("cause", "unclear", "unknown task", "no such task", str(error)))
    except NoJudgeError as error:
        return Diagnosis(_cause_by_judge(found, error))
    if cause is None:
        seen = "recorded as failed, but it passes when scored again"
        kind = "verdict not reproduced"
        cause = Finding("cause", "infrastructure", kind, "judged again", seen, "proven")
    record = explanation.to_dict()
    # Passes have sound verdicts as well, so that commands and pages tell them apart from this.
    explanation = replace(explanation, sound=None)
    fields = [_field(each) for each in explanation.wrong_fields]
    explained = VerdictExplanation(explanation.summary, explanation.sections(), fields, record)
    return Diagnosis(cause, explained)


def errata_of_report(found: ReadReport) -> tuple[Erratum, ...]:
    """Return the known faults of the task of a report."""
    parsed, task_id = found.parsed, str(found.simulation["task_id"])
    return errata_for(parsed.world, task_id, parsed.release.name, parsed.judged_by)


def _whole(verdict: RewardInfo | None) -> RewardInfo | None:
    """Return a recorded verdict if it has what is needed of it; anybody may have written it."""
    given = mapping(verdict)
    is_whole = number(given.get("reward")) is not None and "reward_breakdown" in given
    return verdict if is_whole else None


def _cause_by_judge(found: ReadReport, error: NoJudgeError) -> Finding:
    """Return the cause where only the judge's part is left: by its replies, if it was asked."""
    replies = mapping(found.simulation, "reward_info").get("nl_assertions")
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


def conduct_notes(folder: Recording) -> list[str]:
    """Say so where a script, which does not talk, played the agent."""
    first = next(iter(folder.reports()), None)
    return [_SCRIPTED] if first is not None and Tau2Report(first).is_scripted else []


def user_faults() -> str:
    return LOOKED_FOR


def timeline_of(report: Report) -> Timeline | None:
    """Return the world after each message; None without a conversation."""
    parsed = Tau2Report(report)
    if not entries(parsed.simulation.raw.get("messages")):
        return None
    return timeline(
        {**parsed.simulation.raw, "task_id": report["task_id"]},
        parsed.world,
        parsed.judged_by,
        solo=parsed.solo,
        version=parsed.release,
    )


def task_findings(folder: Recording) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the known faults of the tasks of a run."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    with suppress(MASEvalError):  # the data is elsewhere, or the domain somebody else's
        for key, one in sorted({one[:2]: one for one in folder.recorded}.items()):
            parsed = Tau2Report(folder.report(one))
            for each in errata_for(*key, parsed.release, parsed.judged_by):
                words = f"{each.what} Known from: {', '.join(each.known)}."
                name = f"{'remark' if each.is_remark else 'erratum'}: {each.kind}"
                found.setdefault(key, []).append((name, words))
    return found
