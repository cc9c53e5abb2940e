"""The messages of Pydantic AI in OpenAI's form."""

from collections.abc import Iterable

from maseval.core.messages import FunctionCall, MessageHistory, ToolCall
from maseval.interface.agents.pydantic_ai.agent import MessagePart, ModelMessage
from maseval.interface.agents.tools import as_text


def add_messages(history: MessageHistory, messages: Iterable[ModelMessage]) -> None:
    """Add the messages of a turn; thoughts, files and tools run by the provider are left out."""
    for message in messages:
        if message.kind == "response":
            _add_response(history, message)
            continue
        if message.instructions and not history:
            history.add_message("system", message.instructions)
        for part in message.parts:
            _add_request_part(history, part)


def _add_response(history: MessageHistory, response: ModelMessage) -> None:
    said = [as_text(part.content) for part in response.parts if part.part_kind == "text"]
    calls = [_tool_call(part) for part in response.parts if part.part_kind == "tool-call"]
    text = "".join(said) if said else None
    if calls:
        history.add_tool_call(calls, text)
    elif text is not None:
        history.add_message("assistant", text)


def _add_request_part(history: MessageHistory, part: MessagePart) -> None:
    match part.part_kind:
        case "system-prompt":
            history.add_message("system", as_text(part.content))
        case "user-prompt":
            history.add_message("user", as_text(part.content))
        case "tool-return":
            text = part.model_response_str()
            history.add_tool_response(part.tool_call_id, text, name=part.tool_name)
        case "retry-feedback":  # from the framework, about an invalid answer
            history.add_message("user", part.model_response())


def _tool_call(part: MessagePart) -> ToolCall:
    arguments = part.args if isinstance(part.args, str) else as_text(part.args or {})
    function: FunctionCall = {"name": part.tool_name, "arguments": arguments or "{}"}
    return {"id": part.tool_call_id, "type": "function", "function": function}
