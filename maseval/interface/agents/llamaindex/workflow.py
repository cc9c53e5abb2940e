"""What is used of LlamaIndex, whose classes a type checker does not see here."""

from collections.abc import AsyncIterator, Awaitable, Sequence
from functools import cache
from types import ModuleType
from typing import Protocol, TypedDict

from maseval.interface import extras

MODULE, EXTRA, PACKAGE = "llama_index.core", "llamaindex", "llama-index-core"


@cache
def library(module: str = MODULE) -> ModuleType:
    """A module of LlamaIndex."""
    return extras.load(module, extra=EXTRA, package=PACKAGE)


class ModelResponse(Protocol):
    """What a model answered; ``raw`` is the provider's own answer."""

    raw: object


class MessageRole(Protocol):
    """Who said something."""

    value: str


class ContentBlock(Protocol):
    """A part of a message; those that call a tool have these attributes."""

    tool_call_id: str | None
    tool_name: str
    tool_kwargs: object


class AdditionalKwargs(TypedDict, total=False):
    """What a message carries beside its blocks."""

    tool_calls: Sequence[object]
    tool_call_id: str
    name: str


class ChatMessage(Protocol):
    """A message of LlamaIndex."""

    role: MessageRole
    content: str | None
    blocks: Sequence[ContentBlock]
    additional_kwargs: AdditionalKwargs


class AgentCall(Protocol):
    """A tool call that an agent made, or the result of one."""

    tool_id: str
    tool_name: str
    tool_kwargs: object


class AgentOutput(Protocol):
    """What an agent said or called."""

    response: ChatMessage
    tool_calls: Sequence[AgentCall]
    current_agent_name: str


class Store(Protocol):
    """What the agents of a workflow share."""

    async def set(self, path: str, value: object) -> None: ...


class Memory(Protocol):
    """What keeps a conversation."""

    async def aget_all(self) -> Sequence[ChatMessage]: ...
    async def aput_messages(self, messages: Sequence[ChatMessage]) -> None: ...


class Context(Protocol):
    """The state of a workflow."""

    store: Store


class Handler(Awaitable[object], Protocol):
    """A workflow that runs."""

    def stream_events(self) -> AsyncIterator[object]: ...
    async def cancel_run(self) -> None: ...
