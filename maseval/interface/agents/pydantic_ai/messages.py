"""The messages of Pydantic AI in OpenAI's form, and the other way round."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from maseval.core.messages import FunctionCall, Message, MessageHistory, ToolCall, text_of
from maseval.interface.agents.earlier import named_results
from maseval.interface.agents.pydantic_ai.agent import MessagePart, ModelMessage, pydantic_ai
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


def instructions_in(messages: Sequence[ModelMessage]) -> MessageHistory:
    """What a conversation tells the agent to do, wherever it stands."""
    history = MessageHistory()
    requests = [message for message in messages if message.kind == "request"]
    for told in [request.instructions for request in requests if request.instructions][:1]:
        history.add_message("system", told)
    for part in (part for request in requests for part in request.parts):
        if part.part_kind == "system-prompt":
            _add_request_part(history, part)
    return history


def model_messages(messages: Iterable[Message]) -> list[ModelMessage]:
    """Messages in OpenAI's form as those of Pydantic AI."""
    library, made = pydantic_ai(), list[ModelMessage]()
    for is_answer, group in groupby(named_results(messages), _is_answer):
        if is_answer:
            made += [library.ModelResponse(parts=_response_parts(message)) for message in group]
        else:
            made.append(library.ModelRequest(parts=[_request_part(message) for message in group]))
    # The framework puts a system prompt into the first request, which must precede a greeting.
    greeted = bool(made) and made[0].kind == "response"
    return [library.ModelRequest(parts=[]), *made] if greeted else made


def _is_answer(message: Message) -> bool:
    return message["role"] == "assistant"


def _response_parts(message: Message) -> list[object]:
    library, calls = pydantic_ai(), message.get("tool_calls") or ()
    text = text_of(message)
    said = [library.TextPart(text)] if text or not calls else []
    return [*said, *(_call_part(call) for call in calls)]


def _call_part(call: ToolCall) -> object:
    function = call["function"]
    return pydantic_ai().ToolCallPart(
        function["name"], function["arguments"], tool_call_id=call["id"]
    )


def _request_part(message: Message) -> object:
    library, text = pydantic_ai(), text_of(message)
    if message["role"] == "tool":
        name, call_id = message.get("name") or "", message.get("tool_call_id") or ""
        return library.ToolReturnPart(name, text, tool_call_id=call_id)
    kind = library.SystemPromptPart if message["role"] == "system" else library.UserPromptPart
    return kind(text)
