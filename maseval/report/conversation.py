"""The messages and tool calls of a repetition in one form, wherever its report keeps them."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NotRequired, TypedDict

from maseval.core.outcome import recorded_simulation
from maseval.core.shapes import Shape, entries, mapping, number, text


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
    that its model read and wrote.
    """

    index: int
    who: str
    speaker: NotRequired[str]
    text: NotRequired[str]
    calls: NotRequired[list[ShownCall]]
    cost: NotRequired[float]
    tokens: NotRequired[int]
    seconds: NotRequired[float]
    took: NotRequired[float]
    failed: NotRequired[bool]


def conversation(report: Shape) -> list[ShownMessage]:
    """Return the simulation's messages where there is one, else those of each agent."""
    types = mapping(report, "config", "environment", "tool_types")
    messages: list[ShownMessage] = []
    for speaker, recorded in recorded_messages(report):
        messages += _with_answers(recorded, types, speaker)
    return messages


def recorded_messages(report: Shape) -> Iterator[tuple[str | None, list[Shape]]]:
    """Yield the recorded messages of each agent, with its name where there are several agents."""
    simulated = entries(recorded_simulation(report).get("messages"))
    if simulated:
        yield None, [mapping(message) for message in simulated]
        return
    agents = mapping(report, "traces", "agents")
    for name, agent in agents.items():
        speaker = str(name) if len(agents) > 1 else None
        yield speaker, [mapping(each) for each in entries(mapping(agent).get("messages"))]


_Waiting = list[tuple[object, ShownCall]]
"""Calls without an answer so far, with their ids."""


def _with_answers(
    recorded: Sequence[Shape], types: Shape, speaker: str | None
) -> list[ShownMessage]:
    """Return the messages in order, with each tool's answer beside the call it answers."""
    moments = [_moment(message) for message in recorded]
    messages: list[ShownMessage] = []
    waiting: _Waiting = []
    for index, message in enumerate(recorded):
        role = message.get("role")
        took = _seconds(moments[index - 1], moments[index]) if index else None
        if role == "tool" and (call := _answered_call(message, waiting)):
            call["result"] = _result(message, took)
            continue
        shown = _message(index, message, _seconds(moments[0], moments[index]), took)
        if speaker is not None:
            shown["speaker"] = speaker
        made = [mapping(call) for call in entries(message.get("tool_calls"))]
        if made:
            shown["calls"] = [_call(call, role, types) for call in made]
        if role != "tool":
            ids = (call.get("id") for call in made)
            waiting = list(zip(ids, shown.get("calls", ()), strict=True))
        messages.append(shown)
    return messages


def _answered_call(message: Shape, waiting: _Waiting) -> ShownCall | None:
    """Return the call that a tool message answers; calls without ids are answered in order."""
    answers = message.get("tool_call_id") or message.get("id")
    for position, (asked, call) in enumerate(waiting):
        if not answers or not asked or asked == answers:
            del waiting[position]
            return call
    return None


def _message(index: int, message: Shape, seconds: float | None, took: float | None) -> ShownMessage:
    shown: ShownMessage = {"index": index, "who": str(message.get("role") or "unknown")}
    if (words := message.get("content")) is not None:
        shown["text"] = text(words)
    if cost := number(message.get("cost")):
        shown["cost"] = cost
    if tokens := _tokens(mapping(message, "usage")):
        shown["tokens"] = tokens
    if seconds is not None:
        shown["seconds"] = seconds
    if took is not None and took >= 0:
        shown["took"] = took
    if message.get("error"):
        shown["failed"] = True
    return shown


def _call(call: Shape, role: object, types: Shape) -> ShownCall:
    function = mapping(call.get("function")) or call
    name = str(function.get("name") or "unnamed tool")
    return {
        "name": name,
        "by": str(call.get("requestor") or role or "assistant"),
        "arguments": text(function.get("arguments", {})),
        "writes": types.get(name) == "write",
        "result": None,
    }


# What the engine calls the two, and what results files of tau2-bench call them.
_COUNTED = (("input_tokens", "output_tokens"), ("prompt_tokens", "completion_tokens"))


def _tokens(usage: Shape) -> int:
    """Return the first way of counting that finds any."""
    counted = (sum(number(usage.get(name)) or 0 for name in names) for names in _COUNTED)
    return int(next(filter(None, counted), 0))


def _result(message: Shape, took: float | None) -> CallResult:
    result: CallResult = {
        "text": text(message.get("content") or ""),
        "failed": bool(message.get("error")),
    }
    if took:
        result["took"] = took
    return result


def _moment(message: Shape) -> datetime | None:
    recorded = message.get("timestamp")
    try:
        return datetime.fromisoformat(str(recorded)) if recorded else None
    except ValueError:
        return None


def _seconds(began: datetime | None, moment: datetime | None) -> float | None:
    if began is None or moment is None or (began.tzinfo is None) != (moment.tzinfo is None):
        return None
    return round((moment - began).total_seconds(), 3)
