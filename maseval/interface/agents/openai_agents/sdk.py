"""What is used of the OpenAI Agents SDK, whose classes a type checker does not see here."""

from collections.abc import Sequence
from types import ModuleType
from typing import Protocol, TypedDict

from maseval.core.usage import TokenUsage
from maseval.interface import extras

MODULE, EXTRA, PACKAGE = "agents", "openai-agents", "openai-agents"


def sdk_module() -> ModuleType:
    """The SDK, which is imported as ``agents``."""
    return extras.load(MODULE, extra=EXTRA, package=PACKAGE)


class Named(Protocol):
    """A tool, an agent or a handoff."""

    name: str


class InputContent(TypedDict, total=False):
    """A part of a message as it is sent to a model."""

    type: str
    text: str
    refusal: str
    annotations: list[object]


class InputItem(TypedDict, total=False):
    """An item as it is sent to a model; what it holds depends on its ``type``."""

    type: str
    id: str
    role: str
    status: str
    content: str | list[InputContent]
    call_id: str
    name: str
    arguments: str
    output: object


class RunItem(Protocol):
    """One thing that happened in a run: a message, a call, a result."""

    type: str
    agent: Named

    def to_input_item(self) -> InputItem: ...


class Interruption(Protocol):
    """A call that waits for approval."""

    tool_name: str | None


class SdkRunResult(Protocol):
    """What came of a run."""

    new_items: Sequence[RunItem]
    last_agent: "SdkAgent"
    interruptions: Sequence[Interruption]
    final_output: object

    def to_input_list(self, *, mode: str) -> list[InputItem]: ...


class InputDetails(Protocol):
    """What the tokens of requests were."""

    cached_tokens: int


class OutputDetails(Protocol):
    """What the tokens of answers were."""

    reasoning_tokens: int


class RunUsage(Protocol):
    """The tokens of all requests so far."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: InputDetails
    output_tokens_details: OutputDetails


class ModelAnswer(Protocol):
    """What a model answered."""

    usage: RunUsage

    def to_input_items(self) -> list[InputItem]: ...


def tokens_of(usage: RunUsage) -> TokenUsage:
    """The SDK's count of tokens."""
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


class RunContext(Protocol):
    """What runs share."""

    usage: RunUsage


class Session(Protocol):
    """What keeps a conversation for the SDK."""

    async def get_items(self) -> list[InputItem]: ...
    async def add_items(self, items: list[InputItem]) -> None: ...


class ModelSettings(Protocol):
    """An agent's settings of its model."""

    def to_json_dict(self) -> dict[str, object]: ...


class SdkAgent(Protocol):
    """An ``Agent`` of the SDK."""

    name: str
    instructions: object
    model: object
    model_settings: ModelSettings
    tools: Sequence[Named]
    handoffs: Sequence["SdkAgent"]
    hooks: object
    output_type: object
