"""What is used of LangGraph's and LangChain's classes, which a type checker does not see here."""

from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence, Sized
from typing import Protocol, TypedDict

State = Mapping[str, object]
"""What a graph keeps while it runs."""

RunnableConfig = dict[str, object]


class LangChainCall(TypedDict):
    """A tool call; the arguments of an invalid one are the text that the model wrote."""

    id: str | None
    name: str | None
    args: object


class LangChainMessage(Protocol):
    """A message of LangChain."""

    id: str | None
    type: str
    name: str | None
    content: str | list[str | dict[str, object]]


class InputTokenDetails(TypedDict, total=False):
    """What the tokens of a request were."""

    cache_read: int
    cache_creation: int
    audio: int


class OutputTokenDetails(TypedDict, total=False):
    """What the tokens of an answer were."""

    reasoning: int
    audio: int


class UsageMetadata(TypedDict, total=False):
    """What a model's answer used."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_token_details: InputTokenDetails
    output_token_details: OutputTokenDetails


class AIMessage(LangChainMessage, Protocol):
    """A model's answer."""

    tool_calls: Sequence[LangChainCall]
    usage_metadata: UsageMetadata | None


class Generation(Protocol):
    """One of a model's answers to a request."""

    message: AIMessage


class LLMResult(Protocol):
    """All answers of a model, by request."""

    generations: Sequence[Sequence[Generation]]


class Interrupt(Protocol):
    """What a graph that interrupted itself wants to know."""

    id: str
    value: object


class StateSnapshot(Protocol):
    """The state that a checkpointer keeps."""

    values: State
    interrupts: Sequence[Interrupt]
    metadata: Mapping[str, object] | None
    created_at: str | None


class DrawableGraph(Protocol):
    """A graph's structure."""

    nodes: Sized
    edges: Sized


class CompiledGraph(Protocol):
    """A graph that can be run."""

    def stream(
        self, input: object, config: RunnableConfig, *, stream_mode: str
    ) -> Iterator[State]: ...
    def astream(
        self, input: object, config: RunnableConfig, *, stream_mode: str
    ) -> AsyncIterator[State]: ...
    def get_state(self, config: RunnableConfig) -> StateSnapshot: ...
    def aget_state(self, config: RunnableConfig) -> Coroutine[object, None, StateSnapshot]: ...
    def get_graph(self) -> DrawableGraph: ...
