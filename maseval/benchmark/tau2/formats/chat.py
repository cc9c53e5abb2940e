"""Conversion between a simulation's messages and the chat format of language models.

After tau2-bench v0.2.0, src/tau2/utils/llm_utils.py (MIT, Sierra Research).
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, cast

from maseval.benchmark.tau2.formats.message import (
    Requestor,
    Tau2Message,
    Tau2ToolCall,
    has_text,
    is_tool_call,
    message_text_of_1_0_1,
    tool_calls_of,
)
from maseval.core.exceptions import MASEvalError
from maseval.core.messages import ChatResponse, FunctionCall, Message, ToolCall, arguments_of


def to_chat(messages: Iterable[Tau2Message]) -> list[Message]:
    """Return messages in the form that a ``ModelAdapter`` takes."""
    return [_to_chat(message) for message in messages]


def to_history(messages: Iterable[Tau2Message]) -> list[Message]:
    """Return messages as traces show them: as ``to_chat``, and with the user's own tool calls.

    Every text is the same object as in ``messages``, so a history stores none a second time.
    """
    return [_to_history(message) for message in messages]


def _to_history(message: Tau2Message) -> Message:
    chat = _to_chat(message)
    if message["role"] == "user" and message.get("tool_calls") is not None:
        chat["tool_calls"] = [_call_to_chat(call) for call in message["tool_calls"] or ()]
    if message["role"] == "tool" and message.get("requestor") == "user":
        return cast(Message, {**chat, "requestor": "user"})
    return chat


def _to_chat(message: Tau2Message) -> Message:
    if message["role"] == "tool":
        return {"role": "tool", "content": message["content"], "tool_call_id": message["id"]}
    chat: Message = {"role": message["role"], "content": message["content"]}
    calls = tool_calls_of(message)
    if calls is not None and message["role"] == "assistant":
        chat["tool_calls"] = [_call_to_chat(call) for call in calls]
    return chat


def _call_to_chat(call: Tau2ToolCall) -> ToolCall:
    function: FunctionCall = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
    return {"id": call["id"], "type": "function", "function": function}


def from_chat(messages: Iterable[Mapping[str, object]]) -> list[Tau2Message]:
    """Return messages in v0.2.0's form; those that have it already are left as they are."""
    return [cast(Tau2Message, _from_chat(message)) for message in messages]


def _from_chat(message: Mapping[str, Any]) -> Mapping[str, object]:
    if message["role"] == "tool" and "id" not in message and "tool_call_id" in message:
        return {**message, "id": message["tool_call_id"]}
    if not message.get("tool_calls"):
        return message
    side = message.get("requestor") or message["role"]
    return {**message, "tool_calls": [_flatten_call(call, side) for call in message["tool_calls"]]}


def _flatten_call(call: Mapping[str, Any], side: Requestor) -> Mapping[str, object]:
    is_theirs = "function" not in call and not isinstance(call.get("arguments"), str)
    return call if is_theirs else _call_from_chat(call, call.get("requestor", side))


def _call_from_chat(call: Mapping[str, Any], requestor: Requestor) -> Tau2ToolCall:
    function = call.get("function") or call  # some adapters give the name and the arguments flat
    return {
        "id": call.get("id") or "",
        "name": str(function.get("name") or ""),
        "arguments": arguments_of(function.get("arguments")),
        "requestor": requestor,
    }


def calls_of(response: ChatResponse, requestor: Requestor) -> list[Tau2ToolCall] | None:
    """Return the tool calls of a reply, on behalf of one side; None if there are none."""
    if not response.tool_calls:
        return None
    return [_call_from_chat(call, requestor) for call in response.tool_calls]


class BlankRequestError(MASEvalError, AssertionError):
    """A request to a model contains a message that says nothing."""


def check_sendable(messages: Iterable[Tau2Message]) -> None:
    """Refuse a request as v1.0.1 does; an empty list of calls is one, and tools may say nothing."""
    for message in messages:
        if message["role"] == "system" and not has_text(message):
            words = "System message must have content"
        elif message["role"] in ("assistant", "user") and not (
            has_text(message) or is_tool_call(message)
        ):
            words = "Message must have content or tool calls"
        else:
            continue
        raise BlankRequestError(f"{words}. got {message_text_of_1_0_1(message)}")


class CostAndUsage(TypedDict):
    """The cost and usage of a reply; None for what the provider does not report."""

    cost: float | None
    usage: dict[str, object] | None


def cost_and_usage(response: ChatResponse) -> CostAndUsage:
    usage: dict[str, object] = {**(response.usage or {})}
    cost = usage.get("cost")
    return {"cost": float(cost) if isinstance(cost, int | float) else None, "usage": usage or None}


def messages_seen_by(messages: Iterable[Tau2Message], side: Requestor) -> list[Tau2Message]:
    """Return the part of a history that one side has seen."""
    return [message for message in messages if _is_seen_by(message, side)]


def _is_seen_by(message: Tau2Message, side: Requestor) -> bool:
    if message["role"] == "tool":
        return message.get("requestor", "assistant") == side
    return message["role"] == side or not is_tool_call(message)
