"""The messages and tool calls of a repetition in one form, wherever its report keeps them."""

from collections.abc import Sequence
from datetime import datetime
from typing import NotRequired, TypedDict

from maseval.core.outcome import RecordedCall, RecordedMessage, RecordedReport
from maseval.core.recorded import Shape
from maseval.core.words import text


class CallResult(TypedDict):
    """The answer of a tool."""

    text: str
    failed: bool
    took: NotRequired[float]


class ShownCall(TypedDict):
    """A tool call; ``by`` is the role that made it, ``writes`` whether it can change state."""

    name: str
    by: str
    arguments: str
    writes: bool
    result: CallResult | None


class ShownMessage(TypedDict):
    """A message; what is not known is left out.

    ``seconds`` count from the first message, ``took`` from the one before; ``tokens`` are those
    that its model read and wrote, and ``thought`` is what it thought before.
    """

    index: int
    who: str
    speaker: NotRequired[str]
    thought: NotRequired[str]
    text: NotRequired[str]
    calls: NotRequired[list[ShownCall]]
    cost: NotRequired[float]
    tokens: NotRequired[int]
    seconds: NotRequired[float]
    took: NotRequired[float]
    failed: NotRequired[bool]


def conversation(report: RecordedReport) -> list[ShownMessage]:
    """Return the simulation's messages where there is one, else those of each agent."""
    messages: list[ShownMessage] = []
    for speaker, recorded in report.conversations():
        messages += _with_answers(recorded, report.tool_types, speaker)
    return messages


_Waiting = list[tuple[object, ShownCall]]
"""Calls without an answer so far, with their ids."""


def _with_answers(
    recorded: Sequence[RecordedMessage], types: Shape, speaker: str | None
) -> list[ShownMessage]:
    """Return the messages in order, with each tool's answer beside the call it answers."""
    moments = [_moment(message) for message in recorded]
    messages: list[ShownMessage] = []
    waiting: _Waiting = []
    for index, message in enumerate(recorded):
        took = _seconds(moments[index - 1], moments[index]) if index else None
        if message.role == "tool" and (call := _answered_call(message, waiting)):
            call["result"] = _result(message, took)
            continue
        shown = _message(index, message, _seconds(moments[0], moments[index]), took)
        if speaker is not None:
            shown["speaker"] = speaker
        if message.calls:
            shown["calls"] = [_call(call, message.role, types) for call in message.calls]
        if message.role != "tool":
            ids = (call.id for call in message.calls)
            waiting = list(zip(ids, shown.get("calls", ()), strict=True))
        messages.append(shown)
    return messages


def _answered_call(message: RecordedMessage, waiting: _Waiting) -> ShownCall | None:
    """Return the call that a tool message answers; calls without ids are answered in order."""
    answers = message.call_id
    for position, (asked, call) in enumerate(waiting):
        if not answers or not asked or asked == answers:
            del waiting[position]
            return call
    return None


def _message(
    index: int, message: RecordedMessage, seconds: float | None, took: float | None
) -> ShownMessage:
    shown: ShownMessage = {"index": index, "who": message.role or "unknown"}
    if message.reasoning:
        shown["thought"] = message.reasoning
    if message.content is not None:
        shown["text"] = text(message.content)
    if message.cost:
        shown["cost"] = message.cost
    if tokens := int((message.input_tokens or 0) + (message.output_tokens or 0)):
        shown["tokens"] = tokens
    if seconds is not None:
        shown["seconds"] = seconds
    if took is not None and took >= 0:
        shown["took"] = took
    if message.error:
        shown["failed"] = True
    return shown


def _call(call: RecordedCall, role: str | None, types: Shape) -> ShownCall:
    name = call.name or "unnamed tool"
    return {
        "name": name,
        "by": call.requestor or role or "assistant",
        "arguments": text(call.function.get("arguments", {})),
        "writes": types.get(name) == "write",
        "result": None,
    }


def _result(message: RecordedMessage, took: float | None) -> CallResult:
    result: CallResult = {"text": text(message.content or ""), "failed": bool(message.error)}
    if took:
        result["took"] = took
    return result


def _moment(message: RecordedMessage) -> datetime | None:
    try:
        return datetime.fromisoformat(str(message.timestamp)) if message.timestamp else None
    except ValueError:
        return None


def _seconds(began: datetime | None, moment: datetime | None) -> float | None:
    if began is None or moment is None or (began.tzinfo is None) != (moment.tzinfo is None):
        return None
    return round((moment - began).total_seconds(), 3)
