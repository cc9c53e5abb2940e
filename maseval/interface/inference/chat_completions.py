"""OpenAI's chat completions: a conversation as a request, and an answer as a ``ChatResponse``.

Shared by every adapter whose library or server uses that protocol. Servers differ in what they
tolerate, so a request contains only what the protocol defines; an answer may be an object of the
library or a plain mapping.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.messages import (
    ChatResponse,
    ChatUsage,
    Message,
    MessageForm,
    ToolCall,
    chat_usage,
)

_KEYS = {"tool": ("content", "tool_call_id")}
_OTHER_KEYS = ("content", "name")


class UnreadableAnswerError(MASEvalError):
    """The answer has no readable message."""


class FilteredAnswerError(MASEvalError):
    """The answer was withheld by a content filter."""


def request_messages(
    messages: Iterable[Message], form: MessageForm = MessageForm.PLAIN
) -> list[Message]:
    """The messages in a form; the plain one is without keys that strict servers refuse."""
    match form:
        case MessageForm.PLAIN:
            return [_request_message(message) for message in messages]
        case MessageForm.NULLS:
            return list(messages)
        case MessageForm.NO_NULLS:
            return [_without_nulls(message) for message in messages]


def _without_nulls(message: Message) -> Message:
    return cast(Message, {key: value for key, value in message.items() if value is not None})


def _request_message(message: Message) -> Message:
    role = message.get("role", "user")
    keys = _KEYS.get(role, _OTHER_KEYS)
    known: Mapping[str, object] = message
    kept = {key: known[key] for key in keys if known.get(key) is not None}
    if calls := message.get("tool_calls") if role == "assistant" else None:
        kept["tool_calls"] = [_request_call(call) for call in calls]
    # Some servers require the key, and all accept null where there are tool calls.
    kept.setdefault("content", None if calls else "")
    return cast(Message, {"role": role, **kept})


def _request_call(call: ToolCall) -> ToolCall:
    function = call["function"]
    return {
        "id": call.get("id"),
        "type": "function",
        "function": {"name": function["name"], "arguments": as_json(function.get("arguments"))},
    }


def as_json(arguments: object) -> str:
    """A call's arguments as JSON text."""
    if isinstance(arguments, str):
        return arguments or "{}"
    return json.dumps(arguments or {}, ensure_ascii=False)


def as_object(arguments: object) -> dict[str, object]:
    """A call's arguments as a mapping; ``{}`` if they are not one."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return {}
    return sendable(dict(arguments)) if isinstance(arguments, Mapping) else {}


def sendable(thing: Any) -> Any:
    """The same without lone surrogates, which models do write and no request can contain."""
    match thing:
        case str():
            return thing.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case Mapping():
            return {key: sendable(value) for key, value in thing.items()}
        case list() | tuple():
            return [sendable(item) for item in thing]
    return thing


def calls_so_far(messages: Iterable[Message]) -> int:
    """The number of tool calls in a conversation, which makes the ids of new calls unique."""
    return sum(len(message.get("tool_calls") or ()) for message in messages)


def text_of(content: object) -> str:
    """The text of a message's content, which is text or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return str(content)
    texts = [part["text"] for part in content if isinstance(part, Mapping) and "text" in part]
    if len(texts) != len(content):
        raise ConfigurationError(f"this model accepts only text parts, not {_excerpt(content)}")
    return "\n".join(texts)


def chat_response(answer: object, *, earlier_calls: int = 0) -> ChatResponse:
    """The first choice of an answer.

    Raises:
        UnreadableAnswerError: There is no choice, or nothing in it.
        FilteredAnswerError: A content filter withheld it.
    """
    choices = get(answer, "choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str) or not choices:
        raise UnreadableAnswerError(f"no choices in the answer {_excerpt(answer)}")
    choice = choices[0]
    reason = get(choice, "finish_reason")
    if reason == "content_filter":
        raise FilteredAnswerError(get(get(choice, "message"), "refusal") or "no reason was given")
    message = get(choice, "message")
    if message is None and get(choice, "text") is None:
        raise UnreadableAnswerError(f"no message in the answer {_excerpt(answer)}")
    return ChatResponse(
        content=_content(choice, message),
        tool_calls=_tool_calls(get(message, "tool_calls") or (), earlier_calls) or None,
        role=get(message, "role") or "assistant",
        usage=usage_of(get(answer, "usage")),
        model=get(answer, "model"),
        stop_reason=reason,
    )


def _content(choice: object, message: object) -> str | None:
    if message is None:
        return str(get(choice, "text"))
    content = get(message, "content")
    said = get(message, "refusal") if content is None else content
    return None if said is None else text_of(said)


def _tool_calls(calls: Iterable[object], earlier: int) -> list[ToolCall]:
    return [_tool_call(call, f"call_{number}") for number, call in enumerate(calls, earlier)]


def _tool_call(call: object, own_id: str) -> ToolCall:
    function = get(call, "function")
    if function is None:
        raise UnreadableAnswerError(f"a tool call without a function: {_excerpt(call)}")
    return {
        "id": get(call, "id") or own_id,
        "type": "function",
        "function": {
            "name": get(function, "name") or "",
            "arguments": as_json(get(function, "arguments")),
        },
    }


def usage_of(usage: object) -> ChatUsage | None:
    """Tokens and, if the server reports it, the cost; parts of a sum only if they are not 0."""
    if usage is None:
        return None
    asked, answered = get(usage, "prompt_tokens") or 0, get(usage, "completion_tokens") or 0
    of_prompt = get(usage, "prompt_tokens_details")
    of_answer = get(usage, "completion_tokens_details")
    audio = (get(of_prompt, "audio_tokens") or 0) + (get(of_answer, "audio_tokens") or 0)
    return chat_usage(
        asked,
        answered,
        get(usage, "total_tokens"),
        cached_input_tokens=get(of_prompt, "cached_tokens"),
        cache_creation_input_tokens=get(of_prompt, "cache_creation_tokens"),
        reasoning_tokens=get(of_answer, "reasoning_tokens"),
        audio_tokens=audio,
        cost=get(usage, "cost"),
    )


def get(thing: object, name: str) -> Any:
    """The item or attribute ``name`` of a mapping or an object; None if it has none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _excerpt(thing: object) -> str:
    text = str(thing)
    return text if len(text) <= 200 else f"{text[:200]} …"
