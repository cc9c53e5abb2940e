"""Items of the OpenAI Agents SDK as messages, and messages as items."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from maseval.core.messages import Message, MessageHistory, text_of
from maseval.core.usage import TokenUsage
from maseval.interface.agents.framework import as_text, member_name
from maseval.interface.inference.chat_completions import function_call

InputItem = dict[str, Any]
"""An item as it is sent to a model; its keys depend on its ``type``."""


def tokens_of(usage: Any) -> TokenUsage:
    """Convert the SDK's count of tokens."""
    details = usage.input_tokens_details
    return TokenUsage.from_chat_response_usage(
        {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
            "cached_input_tokens": details.cached_tokens,
            "cache_creation_input_tokens": getattr(details, "cache_write_tokens", 0),
            "reasoning_tokens": usage.output_tokens_details.reasoning_tokens,
        }
    )


def add_items(
    history: MessageHistory, items: Iterable[Any], asked: Sequence[str], answered: Sequence[str]
) -> None:
    """Add the items of a turn: the model's answers, and the results of the tools it called.

    The SDK keeps the text and the calls of one answer as several items; here they are one message,
    whose ``metadata`` names the agent. Thoughts, and tools run by the provider, are left out. The
    times are those at which the model was asked, which is when results were there, and answered.
    """
    answers, results = iter(answered), iter(asked[1:])
    seen = [item for item in items if item.type != "tool_approval_item"]
    for (of_tools, agent), group in groupby(seen, key=_origin):
        time = next(results if of_tools else answers, None)
        _add_message(history, [item.to_input_item() for item in group], {"agent": agent}, time)


def _origin(item: Any) -> tuple[bool, str]:
    """Return True if an item is a tool's result, and the name of its agent."""
    name = member_name(item.agent) or item.agent.name
    return item.type in ("tool_call_output_item", "handoff_output_item"), name


def add_inputs(history: MessageHistory, items: Iterable[InputItem]) -> None:
    """Add a model's request and answer, given in the form in which they are sent."""

    def speaker(item: InputItem) -> object:
        role = "tool" if item.get("type") == _RESULT else item.get("role", "assistant")
        return role if role in ("assistant", "tool") else id(item)

    for _, group in groupby(items, key=speaker):
        _add_message(history, list(group))


_RESULT = "function_call_output"


def _add_message(
    history: MessageHistory,
    items: Sequence[InputItem],
    metadata: dict[str, object] | None = None,
    time: str | None = None,
) -> None:
    """Add the items of an answer or a question as a message, or the results of its calls."""
    made = [call for message in history for call in message.get("tool_calls") or ()]
    names = {call["id"]: call["function"]["name"] for call in made}
    for result in [item for item in items if item.get("type") == _RESULT]:
        call_id, text = str(result.get("call_id")), as_text(result.get("output"))
        history.add_tool_response(call_id, text, names.get(call_id), timestamp=time)
    wanted = [item for item in items if item.get("type") == "function_call"]
    calls = [function_call(item["call_id"], item["name"], item["arguments"]) for item in wanted]
    said = [item for item in items if "role" in item and "content" in item]
    words = "".join(_content_text(item["content"]) for item in said) if said else None
    if calls:
        history.add_tool_call(calls, words, metadata, time)
    elif words is not None:
        history.add_message(said[0]["role"], words, metadata=metadata, timestamp=time)


def _content_text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or part.get("refusal") or "" for part in content)


def items_of(messages: Iterable[Message]) -> list[InputItem]:
    """Convert messages in OpenAI's form to items, in the form in which they are sent."""
    return [item for number, message in enumerate(messages) for item in _items(number, message)]


def _items(number: int, message: Message) -> list[InputItem]:
    text, calls = text_of(message), message.get("tool_calls") or ()
    if message["role"] == "tool":
        call_id = message.get("tool_call_id") or ""
        return [{"type": "function_call_output", "call_id": call_id, "output": text}]
    if message["role"] != "assistant":
        return [{"role": message["role"], "content": text}]
    spoken: InputItem = {
        "type": "message",
        "id": f"msg_{number}",  # without one, the SDK does not accept it
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    made: list[InputItem] = [
        {"type": "function_call", "call_id": call["id"], **call["function"]} for call in calls
    ]
    return [*([spoken] if text or not calls else []), *made]
