"""What is said and done in a simulation, in v0.2.0's form: plain mappings with known keys.

After tau2-bench v0.2.0, src/tau2/data_model/message.py (MIT, Sierra Research).
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

Requestor = Literal["assistant", "user"]
Message = dict[str, Any]

INITIAL_GREETING = "Hi! How can I help you today?"
STOP = "###STOP###"
TRANSFER = "###TRANSFER###"
OUT_OF_SCOPE = "###OUT-OF-SCOPE###"
STOP_TOKENS = (STOP, TRANSFER, OUT_OF_SCOPE)


class ToolCall(TypedDict):
    """A tool to be called, by name, on behalf of one side."""

    id: str
    name: str
    arguments: dict[str, Any]
    requestor: Requestor


class ToolMessage(TypedDict):
    """What the environment answers to one call."""

    id: str
    role: Literal["tool"]
    content: str | None
    requestor: Requestor
    error: bool


def is_tool_call(message: Mapping[str, Any]) -> bool:
    """Whether a message goes to the environment; an empty list of calls counts, as in v0.2.0."""
    return message.get("tool_calls") is not None


def has_text(message: Mapping[str, Any]) -> bool:
    """Whether a message says anything."""
    content = message.get("content")
    return content is not None and bool(content.strip())


def is_user_stop(message: Mapping[str, Any]) -> bool:
    """Whether a user's message ends the conversation; with tool calls it never does."""
    content = message.get("content") or ""
    return not is_tool_call(message) and any(token in content for token in STOP_TOKENS)


def call_text(call: Mapping[str, Any]) -> str:
    """A tool call as v0.2.0 prints it in its errors."""
    lines = [f"ToolCall (from {call.get('requestor', 'assistant')})"]
    if call.get("id"):
        lines.append(f"id: {call['id']}")
    lines += [f"name: {call['name']}", f"arguments:\n{json.dumps(call['arguments'], indent=2)}"]
    return "\n".join(lines)


def message_text(message: Mapping[str, Any]) -> str:
    """A message as v0.2.0 prints it in its errors."""
    if message["role"] == "tool":
        lines = [f"ToolMessage (responding to {message.get('requestor', 'assistant')})"]
    else:
        lines = [f"{message['role'].capitalize()}Message"]
    for key in ("turn_idx", "timestamp", "content"):
        if message.get(key) is not None:
            lines.append(f"{key}: {message[key]}")
    if message["role"] == "tool":
        lines += ["Error"] * bool(message.get("error"))
    elif message.get("tool_calls") is not None:
        lines += ["ToolCalls", *map(call_text, message["tool_calls"])]
    if message.get("cost") is not None:
        lines.append(f"cost: {message['cost']}")
    return "\n".join(lines)


def assistant_message(content: str | None, **more: Any) -> Message:
    """A message of the agent, with every key that v0.2.0 writes."""
    return _spoken("assistant", content, more)


def user_message(content: str | None, **more: Any) -> Message:
    """A message of the customer, with every key that v0.2.0 writes."""
    return _spoken("user", content, more)


def _spoken(role: str, content: str | None, more: Mapping[str, Any]) -> Message:
    return {
        "role": role,
        "content": content,
        "tool_calls": more.get("tool_calls"),
        "turn_idx": None,
        "timestamp": more.get("timestamp"),
        "cost": more.get("cost"),
        "usage": more.get("usage"),
        "raw_data": None,
    }


def complete(message: Mapping[str, Any]) -> Message:
    """A message from a file with every key that v0.2.0 writes, defaults filled in."""
    match message["role"]:
        case "tool":
            defaults = {"id": "", "content": None, "requestor": "assistant", "error": False}
            return {**defaults, **message}
        case "assistant" | "user" as role:
            calls = message.get("tool_calls")
            if calls is not None:
                calls = [{"id": "", "requestor": "assistant", **call} for call in calls]
            return _spoken(role, message.get("content"), {**message, "tool_calls": calls})
        case _:
            return dict(message)
