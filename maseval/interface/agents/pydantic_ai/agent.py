"""What is used of Pydantic AI, whose classes a type checker does not see here."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from types import ModuleType
from typing import Protocol

from maseval.core.usage import TokenUsage
from maseval.interface import extras

MODULE, EXTRA, PACKAGE = "pydantic_ai", "pydantic-ai", "pydantic-ai-slim"


def pydantic_ai() -> ModuleType:
    """The framework's module."""
    return extras.load(MODULE, extra=EXTRA, package=PACKAGE)


class MessagePart(Protocol):
    """A part of a message; what it has beside its kind depends on that."""

    part_kind: str
    content: object
    args: object
    tool_name: str
    tool_call_id: str
    model_response: Callable[[], str]
    model_response_str: Callable[[], str]


class ModelMessage(Protocol):
    """A request to the model or its response; instructions are a request's, usage a response's."""

    kind: str
    parts: Sequence[MessagePart]
    instructions: str | None
    usage: "TurnUsage"


class TurnUsage(Protocol):
    """The framework's ``RunUsage``."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_reasoning_tokens: int
    input_audio_tokens: int
    output_audio_tokens: int
    cost: Decimal | None


def token_usage(usage: TurnUsage) -> TokenUsage:
    """The framework's count of tokens, with the cost if it knows it."""
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


class TurnResult(Protocol):
    """What came of a turn."""

    output: object

    def new_messages(self) -> list[ModelMessage]: ...
    def all_messages(self) -> list[ModelMessage]: ...


class AgentRun(Protocol):
    """A run that is under way."""

    def new_messages(self) -> list[ModelMessage]: ...


class PydanticAgent(Protocol):
    """An ``Agent`` of Pydantic AI."""

    iter: Callable[..., AbstractAsyncContextManager[AgentRun]]

    name: str | None
    output_type: object
    toolsets: Sequence[object]
    run: Callable[..., Awaitable[TurnResult]]
