"""An explanation in words, one finding a line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from maseval.benchmark.tau2.domains.permanence import ABSENT
from maseval.benchmark.tau2.explain.divergence import Divergence
from maseval.benchmark.tau2.explain.evidence import (
    AssertionEvidence,
    CommunicationEvidence,
    Quote,
)
from maseval.benchmark.tau2.explain.findings import CheckSummary, ReplayFault
from maseval.benchmark.tau2.explain.repair import CallChange, Repair
from maseval.benchmark.tau2.explain.tracing import WrongField
from maseval.benchmark.tau2.world.tasks import Action

ExplanationPart = (
    CheckSummary
    | ReplayFault
    | Divergence
    | WrongField
    | AssertionEvidence
    | CommunicationEvidence
    | Action
)

_TITLES: Mapping[type, str] = {
    CheckSummary: "Checks",
    ReplayFault: "Replay failed",
    Divergence: "Point of no return",
    WrongField: "End state",
    AssertionEvidence: "Assertions",
    CommunicationEvidence: "Communication",
    Action: "Actions not taken",
}

_WHERE = {"end": "", "start": " (before the recorded writes)", "instead": " (in its place)"}


class ExplanationSection(NamedTuple):
    """Findings of one kind under their title, one a line; ``kind`` is None for the repair."""

    kind: type | None
    title: str
    lines: tuple[str, ...]


def sections_of(
    parts: Sequence[ExplanationPart], repair: Repair | None, to_be_said: Sequence[str], passed: bool
) -> Iterator[ExplanationSection]:
    """Each kind of finding, and what would flip the verdict."""
    for kind, group in groupby(parts, key=type):
        yield ExplanationSection(kind, _TITLES[kind], tuple(_all_lines(list(group))))
    if repair is not None or to_be_said:
        title = "What would have made it fail" if passed else "What would have made it pass"
        yield ExplanationSection(None, title, tuple(_repair(repair, to_be_said)))


_MOST_TEXTS = 3


def described_section(texts: Mapping[str, Sequence[str]]) -> Iterator[ExplanationSection]:
    """Where the agent could have read of the calls that it did not make."""
    lines: list[str] = []
    for call, names in texts.items():
        more = f" and {len(names) - _MOST_TEXTS} more" if len(names) > _MOST_TEXTS else ""
        lines += [call, f"  described in: {'; '.join(names[:_MOST_TEXTS])}{more}"]
    if lines:
        yield ExplanationSection(None, "Where it is described", tuple(lines))


def _all_lines(parts: Sequence[ExplanationPart]) -> Iterator[str]:
    yield from _wrong_fields([part for part in parts if isinstance(part, WrongField)])
    for part in parts:
        yield from _lines(part)


def _lines(part: ExplanationPart) -> Iterator[str]:
    match part:
        case CheckSummary():
            yield _check(part)
        case ReplayFault():
            where = "" if part.message_index is None else f"message {part.message_index}: "
            yield f"{where}{part.meaning}"
            if part.call and "name" in part.call:
                yield f"the call: {shown_call(part.call)}"
        case Divergence():
            yield from _divergence(part)
        case AssertionEvidence():
            yield from _assertion(part)
        case CommunicationEvidence():
            yield from _communication(part)
        case Action():
            yield f"{part.action_id}: {shown_call(part.model_dump())}"


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
        yield f"the call: {shown_call(found.call.call)}"
    if found.place is not None:
        yield f"the value: {found.place}"


def _wrong_fields(fields: Sequence[WrongField]) -> Iterator[str]:
    """The fields, those of the same calls together, and each call once."""
    groups: dict[str, list[WrongField]] = {}
    for field in fields:
        groups.setdefault("\n".join(_calls_of(field, "")), []).append(field)
    for group in groups.values():
        for field in group:
            yield f"{field.place}: expected {shown(field.expected)}, found {shown(field.found)}"
        yield from _calls_of(group[0], "it" if len(group) == 1 else "them")


def _calls_of(field: WrongField, it: str) -> Iterator[str]:
    if field.written_by is not None:
        at = field.written_by
        yield f"  written by message {at.message_index}: {shown_call(at.call)}"
    if field.gold_action is not None:
        action = field.gold_action
        call = shown_call(action.model_dump())
        yield f"  gold action {action.action_id} would have written {it}: {call}"


def _assertion(found: AssertionEvidence) -> Iterator[str]:
    call = shown_call({"name": found.func_name, "arguments": found.arguments})
    wanted = "holds" if found.expected else "does not hold"
    yield f"{'met' if found.met else 'NOT MET'}: {call} {wanted}"
    for name, value in found.looked_at.items():
        yield f"  looked at {name} = {shown(value)}"


def _communication(found: CommunicationEvidence) -> Iterator[str]:
    if found.met:
        yield f"{found.info!r} was said{_quoted(found.quote)}"
        return
    yield f"{found.info!r} was never said by the agent"
    if found.quote is not None:
        yield f"  closest sentence{_quoted(found.quote)}"
    if found.elsewhere is not None:
        yield f"  found in a message of the {found.elsewhere.role}{_quoted(found.elsewhere)}"


def _quoted(quote: Quote | None) -> str:
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
    call = shown_call(change.call)
    if change.kind == "add":
        return f"add gold action {change.action_id}: {call}"
    return f"leave out message {change.message_index}: {call}"


def shown_call(call: Mapping[str, Any]) -> str:
    """A call as one would write it in Python."""
    arguments = ", ".join(f"{name}={shown(value)}" for name, value in call["arguments"].items())
    side = "user: " if call.get("requestor") == "user" else ""
    return _cut(f"{side}{call['name']}({arguments})", 300)


def shown(value: object, length: int = 160) -> str:
    """A value as it stands in JSON, cut where it gets long."""
    return _cut(str(ABSENT.value) if value is ABSENT else _json(value), length)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _json(value: object) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
