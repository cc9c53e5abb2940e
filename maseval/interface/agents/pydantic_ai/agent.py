"""What is used of Pydantic AI, whose classes a type checker does not see here."""

from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from types import ModuleType
from typing import Protocol

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
    """A request to the model or its response; only requests have instructions."""

    kind: str
    parts: Sequence[MessagePart]
    instructions: str | None


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


class TurnResult(Protocol):
    """What came of a turn."""

    output: object

    def new_messages(self) -> list[ModelMessage]: ...
    def all_messages(self) -> list[ModelMessage]: ...


class PydanticAgent(Protocol):
    """An ``Agent`` of Pydantic AI."""

    name: str | None
    output_type: object
    toolsets: Sequence[object]
    run: Callable[..., Awaitable[TurnResult]]
