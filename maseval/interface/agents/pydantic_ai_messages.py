"""The messages of Pydantic AI in OpenAI's form and back, and the runs that tools make of agents."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from types import ModuleType
from typing import Any, Protocol

from maseval.core.messages import Message, MessageHistory, text_of
from maseval.core.usage import TokenUsage
from maseval.interface import extras
from maseval.interface.agents.framework import (
    DelegatedWork,
    bystanding_adapter,
    name_tool_results,
    running_adapter,
)
from maseval.interface.agents.tools import as_text
from maseval.interface.inference.chat_completions import function_call

MODULE, EXTRA, PACKAGE = "pydantic_ai", "pydantic-ai", "pydantic-ai-slim"


def pydantic_ai() -> ModuleType:
    """Import the framework."""
    return extras.load(MODULE, extra=EXTRA, package=PACKAGE)


class ModelMessage(Protocol):
    """A request to the model or its response; instructions are a request's, usage a response's.

    The attributes of a part depend on its ``part_kind``.
    """

    kind: str
    parts: Sequence[Any]
    instructions: str | None
    usage: Any


def token_usage(usage: Any) -> TokenUsage:
    """Convert the framework's ``RunUsage``, with the cost if it knows it."""
    return TokenUsage(
        kind="llm",
        cost=float(usage.cost or 0.0),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        cached_input_tokens=usage.cache_read_tokens,
        cache_creation_input_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.output_reasoning_tokens,
        audio_tokens=usage.input_audio_tokens + usage.output_audio_tokens,
    )


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
    texts = [as_text(part.content) for part in response.parts if part.part_kind == "text"]
    calls = [
        function_call(
            part.tool_call_id,
            part.tool_name,
            part.args if isinstance(part.args, str) else as_text(part.args or {}),
        )
        for part in response.parts
        if part.part_kind == "tool-call"
    ]
    text = "".join(texts) if texts else None
    if calls:
        history.add_tool_call(calls, text)
    elif text is not None:
        history.add_message("assistant", text)


def _add_request_part(history: MessageHistory, part: Any) -> None:
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


def instructions_in(messages: Sequence[ModelMessage]) -> MessageHistory:
    """Return the instructions in a conversation, wherever they stand."""
    history = MessageHistory()
    requests = [message for message in messages if message.kind == "request"]
    for text in [request.instructions for request in requests if request.instructions][:1]:
        history.add_message("system", text)
    for part in (part for request in requests for part in request.parts):
        if part.part_kind == "system-prompt":
            _add_request_part(history, part)
    return history


def model_messages(messages: Iterable[Message]) -> list[ModelMessage]:
    """Convert messages in OpenAI's form to those of Pydantic AI."""
    library, made = pydantic_ai(), list[ModelMessage]()
    for is_answer, group in groupby(
        name_tool_results(messages), lambda m: m["role"] == "assistant"
    ):
        if is_answer:
            made += [library.ModelResponse(parts=_response_parts(message)) for message in group]
        else:
            made.append(library.ModelRequest(parts=[_request_part(message) for message in group]))
    # The framework puts a system prompt into the first request, which must precede a greeting.
    greeted = bool(made) and made[0].kind == "response"
    return [library.ModelRequest(parts=[]), *made] if greeted else made


def _response_parts(message: Message) -> list[object]:
    library, calls = pydantic_ai(), message.get("tool_calls") or ()
    text = text_of(message)
    parts: list[object] = [library.TextPart(text)] if text or not calls else []
    for call in calls:
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        parts.append(library.ToolCallPart(name, arguments, tool_call_id=call["id"]))
    return parts


def _request_part(message: Message) -> object:
    library, text = pydantic_ai(), text_of(message)
    if message["role"] == "tool":
        name, call_id = message.get("name") or "", message.get("tool_call_id") or ""
        return library.ToolReturnPart(name, text, tool_call_id=call_id)
    kind = library.SystemPromptPart if message["role"] == "system" else library.UserPromptPart
    return kind(text)


def observe_runs(agent: Any) -> None:
    """Let an agent's adapter record each run that others make of it: all go through ``iter``."""
    own = agent.iter
    if hasattr(own, "observed_by_maseval"):
        return

    @asynccontextmanager
    async def iterate(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async with own(*args, **kwargs) as run:
            try:
                yield run
            finally:
                _record_run(agent, run, kwargs.get("usage"))

    iterate.observed_by_maseval = True  # type: ignore[attr-defined]
    agent.iter = iterate


def _record_run(agent: object, run: Any, shared: object) -> None:
    work = getattr(bystanding_adapter(agent), "work", None)
    if not isinstance(work, DelegatedWork):
        return
    messages, history = run.new_messages(), MessageHistory()
    add_messages(history, messages)
    used = [token_usage(message.usage) for message in messages if message.kind == "response"]
    work.messages += history
    work.usage += used
    # If the tool passes its own count to the agent, the framework adds the tokens to the leader's.
    leader = running_adapter()
    if leader is not None and shared is not None and shared is getattr(leader, "turn_usage", None):
        leader.delegated_usage += used
