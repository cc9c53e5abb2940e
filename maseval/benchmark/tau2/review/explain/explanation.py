"""An explained verdict: what decided it, and what would have changed it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from itertools import groupby
from typing import Any, NamedTuple

from pydantic import BaseModel

from maseval.benchmark.tau2.review.errata.sound import SoundVerdict
from maseval.benchmark.tau2.review.explain.divergence import Divergence
from maseval.benchmark.tau2.review.explain.evidence import (
    AssertionEvidence,
    CommunicationEvidence,
    Quote,
)
from maseval.benchmark.tau2.review.explain.findings import CheckSummary
from maseval.benchmark.tau2.review.explain.repair import CallChange, Repair
from maseval.benchmark.tau2.review.explain.replay_faults import ReplayFault
from maseval.benchmark.tau2.review.explain.snapshot import FieldPlace
from maseval.benchmark.tau2.review.explain.tracing import WrongField
from maseval.benchmark.tau2.world.state.permanence import ABSENT, Absent
from maseval.benchmark.tau2.world.tasks import Action

ExplanationPart = (
    CheckSummary
    | SoundVerdict
    | ReplayFault
    | Divergence
    | WrongField
    | AssertionEvidence
    | CommunicationEvidence
    | Action
)

_TITLES: Mapping[type, str] = {
    CheckSummary: "Checks",
    SoundVerdict: "Sound verdict",
    ReplayFault: "Replay failed",
    Divergence: "Point of no return",
    WrongField: "End state",
    AssertionEvidence: "Assertions",
    CommunicationEvidence: "Communication",
    Action: "Actions not taken",
}

_WHERE = {"end": "", "start": " (before the recorded writes)", "instead": " (in its place)"}
_MOST_TEXTS = 3


class ExplanationSection(NamedTuple):
    """Findings of one kind under their title, one a line; ``kind`` is None for the repair."""

    kind: type | None
    title: str
    lines: tuple[str, ...]


def sections_of(
    parts: Sequence[ExplanationPart], repair: Repair | None, to_be_said: Sequence[str], passed: bool
) -> Iterator[ExplanationSection]:
    """Yield each kind of finding, and what would flip the verdict."""
    for kind, group in groupby(parts, key=type):
        found = list(group)
        fields = [part for part in found if isinstance(part, WrongField)]
        lines = [*_wrong_fields(fields), *(line for part in found for line in _lines(part))]
        yield ExplanationSection(kind, _TITLES[kind], tuple(lines))
    if repair is not None or to_be_said:
        title = "What would have made it fail" if passed else "What would have made it pass"
        yield ExplanationSection(None, title, tuple(_repair(repair, to_be_said)))


def described_section(texts: Mapping[str, Sequence[str]]) -> Iterator[ExplanationSection]:
    """Yield a section with the documents that describe the calls the agent did not make."""
    lines: list[str] = []
    for call, names in texts.items():
        more = f" and {len(names) - _MOST_TEXTS} more" if len(names) > _MOST_TEXTS else ""
        lines += [call, f"  described in: {'; '.join(names[:_MOST_TEXTS])}{more}"]
    if lines:
        yield ExplanationSection(None, "Where it is described", tuple(lines))


def _lines(part: ExplanationPart) -> Iterator[str]:
    match part:
        case CheckSummary():
            yield _check(part)
        case SoundVerdict():
            yield f"{part.outcome}: {part.reason}"
        case ReplayFault():
            where = "" if part.message_index is None else f"message {part.message_index}: "
            yield f"{where}{part.meaning}"
            if part.call and "name" in part.call:
                yield f"the call: {render_call(part.call)}"
        case Divergence():
            yield from _divergence(part)
        case AssertionEvidence():
            yield from _assertion(part)
        case CommunicationEvidence():
            yield from _communication(part)
        case Action():
            yield f"{part.action_id}: {render_call(part.model_dump())}"


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
    where = (
        "before the first message"
        if found.message_index is None
        else (f"message {found.message_index}")
    )
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


def _communication(found: CommunicationEvidence) -> Iterator[str]:
    if found.met:
        yield f"{found.info!r} was said{_quote_text(found.quote)}"
        return
    yield f"{found.info!r} was never said by the agent"
    if found.quote is not None:
        yield f"  closest sentence{_quote_text(found.quote)}"
    if found.elsewhere is not None:
        yield f"  found in a message of the {found.elsewhere.role}{_quote_text(found.elsewhere)}"


def _quote_text(quote: Quote | None) -> str:
    return "" if quote is None else f", message {quote.message_index}: {quote.text!r}"


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


def _change(change: CallChange) -> str:
    call = render_call(change.call)
    if change.kind == "add":
        return f"add gold action {change.action_id}: {call}"
    return f"leave out message {change.message_index}: {call}"


def render_call(call: Mapping[str, Any]) -> str:
    """Return a call as one would write it in Python."""
    arguments = ", ".join(
        f"{name}={format_value(value)}" for name, value in call["arguments"].items()
    )
    side = "user: " if call.get("requestor") == "user" else ""
    return _cut(f"{side}{call['name']}({arguments})", 300)


def format_value(value: object, length: int = 160) -> str:
    """Return a value as it stands in JSON, cut where it gets long."""
    if value is ABSENT:
        return _cut(str(ABSENT.value), length)
    return _cut(json.dumps(value, default=str, ensure_ascii=False), length)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


@dataclass(frozen=True)
class Explanation:
    """The reasons for a simulation's reward.

    ``wrong_fields`` are where the end state differs from the gold one; they decide the verdict
    only if ``state_gates``. ``repair`` is a smallest set of tool calls that would flip the
    verdict; where the agent also had to say something, ``to_be_said`` lists it. ``described_in``
    names, by call, the texts in which the agent could have read of calls that it did not make.
    ``sound`` is the sound verdict, where it is not the official one.
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
    communication: tuple[CommunicationEvidence, ...] = ()
    actions_not_taken: tuple[Action, ...] = ()
    described_in: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sound: SoundVerdict | None = None

    @property
    def failed_gates(self) -> tuple[str, ...]:
        """The checks because of which the reward is not 1."""
        return tuple(each.kind for each in self.checks if each.gates and each.passed is False)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in JSON's terms; a value that is absent is left out."""
        return {**plain(self), "failed_gates": list(self.failed_gates)}

    def sections(self) -> list[ExplanationSection]:
        parts: tuple[ExplanationPart, ...] = (
            *self.checks,
            *((self.sound,) if self.sound else ()),
            *((self.replay_fault,) if self.replay_fault else ()),
            *self.wrong_fields,
            *self.assertions,
            *self.communication,
            *self.actions_not_taken,
            *((self.divergence,) if self.divergence else ()),
        )
        return [
            *sections_of(parts, self.repair, self.to_be_said, self.passed),
            *described_section(self.described_in),
        ]

    def text(self) -> str:
        lines = [self.summary]
        for section in self.sections():
            lines += ["", section.title, *(f"  {line}" for line in section.lines)]
        return "\n".join(lines)


def plain(value: object) -> Any:
    """Return a typed value in JSON's terms."""
    match value:
        case FieldPlace():
            return {**value._asdict(), "shown": str(value), "path": list(value.path)}
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
