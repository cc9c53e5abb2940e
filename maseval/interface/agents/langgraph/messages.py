"""LangChain's messages in OpenAI's form."""

import json
from collections.abc import Mapping

from maseval.core.messages import Content, FunctionCall, Message, ToolCall
from maseval.interface.agents.langgraph.graph import LangChainCall, LangChainMessage
from maseval.interface.inference.chat_completions import get

_ROLES = {"human": "user", "ai": "assistant", "function": "tool"}


def converted(message: LangChainMessage) -> Message:
    """One message; calls that are not valid JSON are kept as the model wrote them."""
    role = _ROLES.get(message.type, message.type)
    if message.type == "chat":
        role = get(message, "role")
    entry: Message = {"role": role, "content": _content(message)}
    calls = [_call(call) for call in getattr(message, "tool_calls", ())]
    calls += [_call(call) for call in getattr(message, "invalid_tool_calls", ())]
    if calls:
        entry["tool_calls"] = calls
    if role == "tool":
        entry["tool_call_id"] = getattr(message, "tool_call_id", "")
    if message.name:
        entry["name"] = message.name
    return entry


def text_of(content: str | list[str | dict[str, object]]) -> str:
    """The text in a message's content, which may be a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(part if isinstance(part, str) else _text(part) for part in content)


def _text(part: Mapping[str, object]) -> str:
    return str(part.get("text") or "") if part.get("type") == "text" else ""


def _content(message: LangChainMessage) -> Content:
    content = message.content
    # The other parts of an answer are the provider's own form of thoughts and tool calls.
    if isinstance(content, str) or message.type == "ai":
        return text_of(content)
    parts: list[dict[str, object]] = [
        {"type": "text", "text": p} if isinstance(p, str) else dict(p) for p in content
    ]
    return parts if any(part.get("type") != "text" for part in parts) else text_of(content)


def _call(call: LangChainCall) -> ToolCall:
    arguments = call["args"]
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments or {}, ensure_ascii=False)
    function: FunctionCall = {"name": call["name"] or "", "arguments": arguments}
    return {"id": call["id"] or "", "type": "function", "function": function}
