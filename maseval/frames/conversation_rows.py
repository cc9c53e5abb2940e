"""Rows of the tables ``messages`` and ``tool_calls``."""

from collections.abc import Iterator

from maseval.core.shapes import Shape, entries, mapping
from maseval.frames.simulation_rows import key_of
from maseval.frames.sources import OpenedSource
from maseval.report.conversation import ShownCall, conversation, recorded_messages


def message_rows(report: Shape, source: OpenedSource) -> Iterator[dict[str, object]]:
    """A row for each message, in order; of several agents one after the other."""
    key = key_of(report)
    for speaker, messages in recorded_messages(report):
        for position, message in enumerate(messages):
            used, answer = mapping(message, "usage"), message.get("role") == "tool"
            yield {
                **key,
                "position": position,
                "speaker": speaker,
                "role": message.get("role"),
                "content": message.get("content"),
                "tool_calls": len(entries(message.get("tool_calls"))),
                "tool_call_id": _answers(message) if answer else None,
                "failed": bool(message.get("error")) if answer else None,
                "at": message.get("timestamp"),
                "cost": message.get("cost"),
                "input_tokens": used.get("prompt_tokens", used.get("input_tokens")),
                "output_tokens": used.get("completion_tokens", used.get("output_tokens")),
            }


def _answers(message: Shape) -> object:
    return message.get("tool_call_id") or message.get("id")


def tool_call_rows(report: Shape, source: OpenedSource) -> Iterator[dict[str, object]]:
    """A row for each tool call, in the order of the messages."""
    key = key_of(report)
    types = mapping(report, "config", "environment", "tool_types")
    for message in conversation(report):
        for position, call in enumerate(message.get("calls", ())):
            yield {
                **key,
                "message": message["index"],
                "position": position,
                "speaker": message.get("speaker"),
                **_call(call, types),
            }


def _call(call: ShownCall, types: Shape) -> dict[str, object]:
    result = call["result"]
    return {
        "caller": call["by"],
        "tool": call["name"],
        "arguments": call["arguments"],
        "writes": call["writes"] if call["name"] in types else None,
        "answered": result is not None,
        "failed": None if result is None else result["failed"],
        "result": None if result is None else result["text"],
    }
