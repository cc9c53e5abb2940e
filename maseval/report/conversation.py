"""What was said and done, from whichever place a report keeps it, in one form.

A message has ``who``, ``text``, ``seconds`` since the first, ``cost`` and ``calls``; a call has
``name``, ``by``, ``arguments`` and ``writes``, and beside them the ``result`` that answered it.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from maseval.core.outcome import recorded_simulation
from maseval.core.shapes import Shape, entries, mapping, number, text, text_or_none

Messages = list[dict[str, Any]]


def conversation(report: Shape) -> Messages:
    """The simulation's messages where there is one, else those of each agent."""
    types = mapping(report, "config", "environment", "tool_types")
    messages: Messages = []
    for speaker, recorded in _recorded(report):
        messages += _paired(recorded, types, speaker)
    return messages


def _recorded(report: Shape) -> Iterator[tuple[str | None, list[Shape]]]:
    told = entries(recorded_simulation(report).get("messages"))
    if told:
        yield None, [mapping(message) for message in told]
        return
    agents = mapping(report, "traces", "agents")
    for name, agent in agents.items():
        speaker = str(name) if len(agents) > 1 else None
        yield speaker, [mapping(each) for each in entries(mapping(agent).get("messages"))]


def _paired(recorded: Sequence[Shape], types: Shape, speaker: str | None) -> Messages:
    """Each message in its place, but the answers that follow calls beside those calls."""
    began = _moment(recorded[0]) if recorded else None
    messages: Messages = []
    waiting: list[dict[str, Any]] = []
    for index, message in enumerate(recorded):
        if message.get("role") == "tool" and (call := _answered(message, waiting)):
            call["result"] = _result(message)
            continue
        calls = [_call(mapping(call), message, types) for call in _calls(message)]
        if message.get("role") != "tool":
            waiting = list(calls)
        messages.append(_message(index, message, calls, began, speaker))
    return messages


def _calls(message: Shape) -> list[Any]:
    return entries(message.get("tool_calls"))


def _answered(message: Shape, waiting: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The call that a tool message answers; calls without ids are answered in order."""
    answers = message.get("tool_call_id") or message.get("id")
    for position, call in enumerate(waiting):
        if not answers or not call["id"] or call["id"] == answers:
            return waiting.pop(position)
    return None


def _message(
    index: int,
    message: Shape,
    calls: list[dict[str, Any]],
    began: datetime | None,
    speaker: str | None,
) -> dict[str, Any]:
    moment = _moment(message)
    known = {
        "speaker": speaker,
        "text": text_or_none(message.get("content")),
        "calls": calls or None,
        "cost": number(message.get("cost")) or None,
        "seconds": _seconds(began, moment),
        "failed": bool(message.get("error")) or None,
    }
    said = {key: value for key, value in known.items() if value is not None}
    return {"index": index, "who": str(message.get("role") or "unknown"), **said}


def _call(call: Shape, message: Shape, types: Shape) -> dict[str, Any]:
    function = mapping(call, "function") or call
    name = str(function.get("name") or "unnamed tool")
    return {
        "id": call.get("id"),
        "name": name,
        "by": str(call.get("requestor") or message.get("role") or "assistant"),
        "arguments": text(function.get("arguments", {})),
        "writes": types.get(name) == "write",
        "result": None,
    }


def _result(message: Shape) -> dict[str, Any]:
    return {"text": text(message.get("content") or ""), "failed": bool(message.get("error"))}


def _moment(message: Shape) -> datetime | None:
    try:
        return datetime.fromisoformat(str(message.get("timestamp")))
    except ValueError:
        return None


def _seconds(began: datetime | None, moment: datetime | None) -> float | None:
    if began is None or moment is None or (began.tzinfo is None) != (moment.tzinfo is None):
        return None
    return round((moment - began).total_seconds(), 1)
