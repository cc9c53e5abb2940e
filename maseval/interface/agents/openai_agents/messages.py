"""The items of the OpenAI Agents SDK as messages in OpenAI's form, and the other way round."""

from collections.abc import Iterable, Mapping
from itertools import groupby

from maseval.core.messages import Message, MessageHistory, ToolCall, text_of
from maseval.interface.agents.openai_agents.sdk import InputContent, InputItem, RunItem
from maseval.interface.agents.tools import as_text


def add_items(history: MessageHistory, items: Iterable[RunItem]) -> None:
    """Add the items of a turn: the model's answers, and the results of the tools it called.

    The SDK keeps the text and the calls of one answer as several items; here they are one message,
    whose ``metadata`` names the agent. Thoughts, and tools run by the provider, are left out.
    """
    seen = [item for item in items if item.type != "tool_approval_item"]
    names: dict[str, str] = {}
    for (of_tools, agent), group in groupby(seen, key=_origin):
        sent = [item.to_input_item() for item in group]
        if of_tools:
            _add_results(history, sent, names)
            continue
        text, calls = _text(sent), _tool_calls(sent)
        names |= {call["id"]: call["function"]["name"] for call in calls}
        if calls:
            history.add_tool_call(calls, text, metadata={"agent": agent})
        elif text is not None:
            history.add_message("assistant", text, metadata={"agent": agent})


def add_inputs(history: MessageHistory, items: Iterable[InputItem]) -> None:
    """Add what a model was sent and answered, in the form in which it is sent."""
    names: dict[str, str] = {}
    for item in items:
        if item.get("type") == "function_call":
            calls = _tool_calls([item])
            names[calls[0]["id"]] = calls[0]["function"]["name"]
            history.add_tool_call(calls)
        elif item.get("type") == "function_call_output":
            _add_results(history, [item], names)
        elif "role" in item and "content" in item:
            history.add_message(item["role"], _said(item["content"]))


def _add_results(
    history: MessageHistory, results: Iterable[InputItem], names: Mapping[str, str]
) -> None:
    for result in results:
        call_id = str(result.get("call_id"))
        text = as_text(result.get("output"))
        history.add_tool_response(call_id, text, name=names.get(call_id))


def _origin(item: RunItem) -> tuple[bool, str]:
    """Whether an item is a tool's result, and the name of its agent."""
    return item.type in ("tool_call_output_item", "handoff_output_item"), item.agent.name


def _tool_calls(items: Iterable[InputItem]) -> list[ToolCall]:
    return [
        {
            "id": item["call_id"],
            "type": "function",
            "function": {"name": item["name"], "arguments": item["arguments"] or "{}"},
        }
        for item in items
        if item.get("type") == "function_call"
    ]


def _text(items: Iterable[InputItem]) -> str | None:
    """The text of one answer; None if it has no message."""
    messages = [item["content"] for item in items if item.get("type") == "message"]
    return "".join(map(_said, messages)) if messages else None


def _said(content: str | list[InputContent]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or part.get("refusal") or "" for part in content)


def items_of(messages: Iterable[Message]) -> list[InputItem]:
    """Messages in OpenAI's form as items, in the form in which they are sent."""
    return [item for number, message in enumerate(messages) for item in _items(number, message)]


def _items(number: int, message: Message) -> list[InputItem]:
    text, calls = text_of(message), message.get("tool_calls") or ()
    if message["role"] == "tool":
        call_id = message.get("tool_call_id") or ""
        return [{"type": "function_call_output", "call_id": call_id, "output": text}]
    if message["role"] != "assistant":
        return [{"role": message["role"], "content": text}]
    said: InputItem = {
        "type": "message",
        "id": f"msg_{number}",  # without one, the SDK does not accept it
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    return [*([said] if text or not calls else []), *map(_call_item, calls)]


def _call_item(call: ToolCall) -> InputItem:
    function = call["function"]
    return {
        "type": "function_call",
        "call_id": call["id"],
        "name": function["name"],
        "arguments": function["arguments"],
    }
