"""What is used of CAMEL's classes, which are not there for a type checker to look at."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypedDict

from maseval.core.messages import Message


class Models(Protocol):
    """The models that a ``ChatAgent`` asks: CAMEL's ``ModelManager``."""

    model_config_dict: Mapping[str, object]
    model_type: object

    def run(
        self, messages: object, response_format: object = None, tools: object = None
    ) -> object: ...
    async def arun(
        self, messages: object, response_format: object = None, tools: object = None
    ) -> object: ...


class SaidMessage(Protocol):
    """CAMEL's ``BaseMessage``."""

    content: str


class ToolCallRequest(Protocol):
    """A call that CAMEL leaves to its caller."""

    tool_name: str
    args: object
    tool_call_id: str


class ToolCallRecord(ToolCallRequest, Protocol):
    """A call that a tool has answered."""

    result: object
    images: Sequence[object] | None


class StepInfo(TypedDict, total=False):
    """What CAMEL reports of a step."""

    id: str | None
    num_tokens: int
    termination_reasons: list[str]
    tool_calls: Sequence[ToolCallRecord]
    external_tool_call_requests: Sequence[ToolCallRequest] | None


class StepResponse(Protocol):
    """CAMEL's ``ChatAgentResponse``."""

    msgs: Sequence[SaidMessage]
    terminated: bool
    info: StepInfo


class ChatAgent(Protocol):
    """CAMEL's ``ChatAgent``."""

    model_backend: Models
    system_message: SaidMessage | None
    tool_dict: Iterable[str]
    memory: object
    max_iteration: int | None
    step_timeout: float | None
    chat_history: Sequence[Message]
    role_name: str
    role_type: object
    record_message: Callable[[object], None]
    clear_memory: Callable[[], None]
    update_memory: Callable[[object, object], object]

    step: Callable[..., StepResponse]
    astep: Callable[..., Awaitable[StepResponse]]
