"""explain: a recorded conversation in, the reasons for its verdict and its repair out."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any, Unpack

from pydantic import BaseModel

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.domain import ABSENT, Absent
from maseval.benchmark.tau2.formats.message import render_call as render_call
from maseval.benchmark.tau2.review.errata.sound import sound_finding
from maseval.benchmark.tau2.review.explain.evidence import (
    AssertionEvidence,
    CheckSummary,
    ReplayFault,
    Unsaid,
    assertion_evidence,
    check_summaries,
    find_unsaid,
    replay_fault,
)
from maseval.benchmark.tau2.review.explain.repair import CallChange, Repair, RepairSearch
from maseval.benchmark.tau2.review.explain.scored_case import CaseKeywords, ScoredCase, score_case
from maseval.benchmark.tau2.review.explain.snapshot import FieldPlace
from maseval.benchmark.tau2.review.explain.tracing import (
    CallAt,
    Divergence,
    WorldHistory,
    WrongField,
    conversation_history,
    divergence,
    gold_history,
    needed_actions,
    wrong_fields,
)
from maseval.benchmark.tau2.world.tasks import Action, RewardType
from maseval.core.finding import Finding, Section
from maseval.core.report_parts import is_successful
from maseval.core.words import cut

CHECKS, END_STATE = "Checks", "End state"
_WHERE = {"end": "", "start": " (before the recorded writes)", "instead": " (in its place)"}


def _lines_of_fault(fault: ReplayFault) -> Iterator[str]:
    where = "" if fault.message_index is None else f"message {fault.message_index}: "
    yield f"{where}{fault.meaning}"
    if fault.call and "name" in fault.call:
        yield f"the call: {render_call(fault.call)}"


def _check(check: CheckSummary) -> str:
    outcome = {True: "passed", False: "FAILED", None: "not run"}[check.passed]
    role = "scored" if check.gates else "not scored"
    empty = "" if check.can_fail else " (no criteria)"
    detail = f" ({check.detail})" if check.detail else ""
    return f"{check.kind:<14} {outcome:<9} {role}{empty}{detail}"


def _divergence(found: Divergence) -> Iterator[str]:
    if not found.decided:
        yield f"undecided: {found.reason}"
        return
    at = found.message_index
    where = "before the first message" if at is None else f"message {at}"
    yield f"{where}: {found.reason}"
    if found.call is not None:
        yield f"the call: {render_call(found.call.call)}"
    if found.place is not None:
        yield f"the value: {found.place}"


def _wrong_fields(fields: Sequence[WrongField]) -> Iterator[str]:
    groups: dict[str, list[WrongField]] = {}
    for each in fields:
        groups.setdefault("\n".join(_calls_of(each, "")), []).append(each)
    for group in groups.values():
        for each in group:
            expected, found = format_value(each.expected), format_value(each.found)
            yield f"{each.place}: expected {expected}, found {found}"
        yield from _calls_of(group[0], "it" if len(group) == 1 else "them")


def _calls_of(field: WrongField, it: str) -> Iterator[str]:
    if field.written_by is not None:
        at = field.written_by
        yield f"  written by message {at.message_index}: {render_call(at.call)}"
    if field.gold_action is not None:
        action = field.gold_action
        call = render_call(action.model_dump())
        yield f"  gold action {action.action_id} would have written {it}: {call}"


def _assertion(found: AssertionEvidence) -> Iterator[str]:
    call = render_call({"name": found.func_name, "arguments": found.arguments})
    wanted = "holds" if found.expected else "does not hold"
    yield f"{'met' if found.met else 'NOT MET'}: {call} {wanted}"
    for name, value in found.looked_at.items():
        yield f"  looked at {name} = {format_value(value)}"


def _repair(repair: Repair | None, to_be_said: Sequence[str]) -> Iterator[str]:
    if repair is not None:
        for change in repair.changes or ():
            yield _change(change) + (_WHERE[repair.placement] if change.kind == "add" else "")
    for info in to_be_said:
        yield f"the agent says {info!r}"
    if repair is None:
        return
    if repair.note:
        yield repair.note
    elif repair.changes:
        yield f"(a smallest set of tool calls; {repair.tried} tried)"


def _unsaid(found: Unsaid) -> Iterator[str]:
    yield f"{found.info!r} was never said by the agent"
    if found.closest is not None:
        yield f"  closest sentence, message {found.message_index}: {found.closest!r}"


def _change(change: CallChange) -> str:
    call = render_call(change.call)
    if change.kind == "add":
        return f"add gold action {change.action_id}: {call}"
    return f"leave out message {change.message_index}: {call}"


def format_value(value: object, length: int = 160) -> str:
    """Return a value as it stands in JSON, cut where it gets long."""
    if value is ABSENT:
        return cut(str(ABSENT.value), length)
    return cut(json.dumps(value, default=str, ensure_ascii=False), length)


@dataclass(frozen=True)
class Explanation:
    """The reasons for a simulation's reward.

    ``wrong_fields`` are where the end state differs from the gold one; they decide the verdict
    only if ``state_gates``. ``repair`` is a smallest set of tool calls that would flip the
    verdict; where the agent also had to say something, ``to_be_said`` lists it. ``sound`` says
    how the sound verdict differs from the official one, if it does.
    """

    domain: str
    task_id: str | None
    reward: float
    passed: bool
    summary: str
    checks: tuple[CheckSummary, ...]
    state_gates: bool
    cut_off: str | None = None
    replay_fault: ReplayFault | None = None
    wrong_fields: tuple[WrongField, ...] = ()
    divergence: Divergence | None = None
    repair: Repair | None = None
    to_be_said: tuple[str, ...] = ()
    assertions: tuple[AssertionEvidence, ...] = ()
    unsaid: tuple[Unsaid, ...] = ()
    actions_not_taken: tuple[Action, ...] = ()
    sound: Finding | None = None

    @property
    def failed_gates(self) -> tuple[str, ...]:
        """The checks because of which the reward is not 1."""
        return tuple(each.kind for each in self.checks if each.gates and each.passed is False)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in JSON's terms; a value that is absent is left out."""
        return {**plain(self), "failed_gates": list(self.failed_gates)}

    def sections(self) -> list[Section]:
        """Return the reasons in words, and what would have changed the verdict."""
        opposite = "fail" if self.passed else "pass"
        sound = [self.sound] if self.sound else []
        found: Mapping[str, Iterable[str]] = {
            CHECKS: map(_check, self.checks),
            "Sound verdict": [f"{e.kind.removeprefix('sound verdict: ')}: {e.text}" for e in sound],
            "Replay failed": _lines_of_fault(self.replay_fault) if self.replay_fault else (),
            END_STATE: _wrong_fields(self.wrong_fields),
            "Assertions": (line for each in self.assertions for line in _assertion(each)),
            "Communication": (line for each in self.unsaid for line in _unsaid(each)),
            "Actions not taken": (
                f"{each.action_id}: {render_call(each.model_dump())}"
                for each in self.actions_not_taken
            ),
            "Point of no return": _divergence(self.divergence) if self.divergence else (),
            f"What would have made it {opposite}": _repair(self.repair, self.to_be_said),
        }
        # The page shows the checks with the verdict, and the fields of the end state as a table.
        sections = (
            Section(title, tuple(lines), title not in (CHECKS, END_STATE))
            for title, lines in found.items()
        )
        return [each for each in sections if each.lines]

    def text(self) -> str:
        lines = [self.summary]
        for section in self.sections():
            lines += ["", section.title, *(f"  {line}" for line in section.lines)]
        return "\n".join(lines)


def plain(value: object) -> Any:
    match value:
        # Named tuples are tuples too, so they come before lists.
        case FieldPlace():
            return {**value._asdict(), "shown": str(value), "path": list(value.path)}
        case CallAt():
            return {name: plain(each) for name, each in value._asdict().items()}
        case _ if is_dataclass(value):
            return _members(value)
        case BaseModel():
            return value.model_dump()
        case Enum():
            return value.value
        case dict():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case str() | int() | float() | None:
            return value
        case _:
            return str(value)


def _members(value: Any) -> dict[str, object]:
    named = ((each.name, getattr(value, each.name)) for each in fields(value))
    return {name: plain(member) for name, member in named if not isinstance(member, Absent)}


def explain(
    simulation: Mapping[str, Any],
    *,
    domain: str | Domain,
    **keywords: Unpack[CaseKeywords],
) -> Explanation:
    """Explain why a simulation got its reward, and what would have changed it.

    The arguments are those of ``score_simulation``.
    """
    return explain_subject(score_case(simulation, domain, **keywords))


def explain_subject(subject: ScoredCase) -> Explanation:
    reward_info, messages = subject.reward_info, subject.case.recording.messages
    fault = replay_fault(reward_info)
    looked = subject.case.recording.ended_by_choice and fault is None
    passed = is_successful(reward_info["reward"])
    parts: dict[str, Any] = {}
    if looked and subject.case.task.evaluation_criteria is not None:
        parts["unsaid"] = find_unsaid(messages, reward_info["communicate_checks"] or ())
        if subject.case.counts(RewardType.COMMUNICATE):
            parts["to_be_said"] = tuple(each.info for each in parts["unsaid"])
        parts |= _explain_end_state(subject, passed)
        parts["sound"] = sound_finding(subject.case, subject.errata, reward_info)
    checks = check_summaries(subject.case.criteria, reward_info, looked=looked)
    cut_off = None
    if not subject.case.recording.ended_by_choice:
        cut_off = subject.case.recording.termination_reason or "none recorded"
    # Its summary names the checks that failed, which only the explanation itself knows.
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


def _explain_end_state(subject: ScoredCase, passed: bool) -> dict[str, Any]:
    search = RepairSearch(subject)
    if passed:
        return {"repair": search.breaking()} if search.writes else {}
    case, histories = subject.case, _histories(subject)
    wrong = [] if histories is None else wrong_fields(*histories, case.task.actions)
    repair, point = None, None
    if _calls_decide(subject):
        doubted = [each.written_by for each in wrong if each.written_by]
        # The calls that wrote wrong values are the likeliest ones to leave out, so they are tried
        # first.
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
    }


def _calls_decide(subject: ScoredCase) -> bool:
    info = subject.reward_info
    failed = {
        RewardType.DB: not (info["db_check"] or {"db_match": True})["db_match"],
        RewardType.ENV_ASSERTION: not all(e["met"] for e in info["env_assertions"] or ()),
        RewardType.ACTION: not all(e["action_match"] for e in info["action_checks"] or ()),
    }
    return any(subject.case.counts(kind) and wrong for kind, wrong in failed.items())


def _histories(subject: ScoredCase) -> tuple[WorldHistory, WorldHistory] | None:
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
