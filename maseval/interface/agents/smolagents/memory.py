"""What is used of smolagents' classes, which a type checker does not see here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol


class Timing(Protocol):
    """When a step was taken."""

    start_time: float
    end_time: float | None
    duration: float | None


class StepTokens(Protocol):
    """What the model used in a step."""

    input_tokens: int
    output_tokens: int


class StepCall(Protocol):
    """A call that smolagents made: of a tool, or of the code that a model wrote."""

    id: str
    name: str
    arguments: object


class AgentStep(Protocol):
    """A step of planning, which has a ``plan``, or of action, which has the rest."""

    timing: Timing
    token_usage: StepTokens | None
    plan: str
    step_number: int
    error: Exception | None
    tool_calls: Sequence[StepCall] | None
    model_output_message: object
    model_output: object
    code_action: str | None
    observations: str | None
    observations_images: Sequence[object] | None
    action_output: object
    is_final_answer: bool


class SystemPromptStep(Protocol):
    """The instructions that an agent's memory begins with."""

    system_prompt: str


class TaskStep(Protocol):
    """What an agent was asked to do; other steps of a memory have no ``task``."""

    task: str


class AgentMemory(Protocol):
    """What an agent remembers."""

    system_prompt: SystemPromptStep
    steps: Sequence[TaskStep]


class CallbackRegistry(Protocol):
    """Who is told of an agent's steps."""

    def register(self, step_cls: type, callback: Callable[[AgentStep], None]) -> None: ...


class MultiStepAgent(Protocol):
    """An agent of smolagents."""

    memory: AgentMemory
    step_callbacks: CallbackRegistry
    managed_agents: Mapping[str, "MultiStepAgent"]
    tools: Mapping[str, object]
    max_tool_threads: int | None

    def run(self, task: str, *, stream: bool, reset: bool) -> Iterator[object]: ...
