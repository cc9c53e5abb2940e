"""Evaluate agent systems: their architecture, prompts, tools and coordination, not only models.

Write a benchmark by subclassing ``Benchmark``, or use one that is here (``maseval.benchmark``).
"""

from maseval.core.agent import AgentAdapter
from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import (
    AgentCallback,
    BenchmarkCallback,
    CallbackHandler,
    EnvironmentCallback,
    MessageTracingAgentCallback,
)
from maseval.core.context import TaskContext
from maseval.core.environment import Environment
from maseval.core.evaluator import Evaluator
from maseval.core.exceptions import (
    AgentError,
    EnvironmentError,
    MASEvalError,
    TaskFrozenError,
    TaskTimeoutError,
    UserError,
    UserExhaustedError,
    validate_argument_type,
    validate_arguments_from_schema,
    validate_no_extra_arguments,
    validate_required_arguments,
)
from maseval.core.messages import ChatResponse, MessageHistory, ToolInvocationHistory, tool_call
from maseval.core.model import ModelAdapter, register_model, resolve_model
from maseval.core.registry import ComponentRegistry
from maseval.core.report import Report, TaskExecutionStatus, normalise
from maseval.core.scorer import (
    ModelScorer,
    ScriptedModelScorer,
    register_scorer,
    resolve_scorer,
)
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.seeding import DefaultSeedGenerator, SeedGenerator, SeedingError
from maseval.core.simulator import (
    SimulatorError,
    ToolLLMSimulator,
    ToolSimulatorError,
    UserLLMSimulator,
    UserSimulatorError,
)
from maseval.core.task import (
    AdaptiveTaskQueue,
    BaseTaskQueue,
    PriorityTaskQueue,
    SequentialTaskQueue,
    Task,
    TaskProtocol,
    TaskQueue,
    TimeoutAction,
)
from maseval.core.tool import tool_definition
from maseval.core.tracing import ConfigurableMixin, TraceableMixin
from maseval.core.usage import (
    CostCalculator,
    StaticPricingCalculator,
    TokenUsage,
    Usage,
    UsageReporter,
    UsageTrackableMixin,
)
from maseval.core.user import AgenticLLMUser, LLMUser, TerminationReason, User

__version__ = "0.7.0"

__all__ = [
    "AdaptiveTaskQueue",
    "AgentAdapter",
    "AgentCallback",
    "AgentError",
    "AgenticLLMUser",
    "BaseTaskQueue",
    "Benchmark",
    "BenchmarkCallback",
    "CallbackHandler",
    "ChatResponse",
    "ComponentRegistry",
    "ConfigurableMixin",
    "CostCalculator",
    "DefaultSeedGenerator",
    "Environment",
    "EnvironmentCallback",
    "EnvironmentError",
    "Evaluator",
    "LLMUser",
    "MASEvalError",
    "MessageHistory",
    "MessageTracingAgentCallback",
    "ModelAdapter",
    "ModelScorer",
    "PriorityTaskQueue",
    "Report",
    "ScriptedModelAdapter",
    "ScriptedModelScorer",
    "SeedGenerator",
    "SeedingError",
    "SequentialTaskQueue",
    "SimulatorError",
    "StaticPricingCalculator",
    "Task",
    "TaskContext",
    "TaskExecutionStatus",
    "TaskFrozenError",
    "TaskProtocol",
    "TaskQueue",
    "TaskTimeoutError",
    "TerminationReason",
    "TimeoutAction",
    "TokenUsage",
    "ToolInvocationHistory",
    "ToolLLMSimulator",
    "ToolSimulatorError",
    "TraceableMixin",
    "Usage",
    "UsageReporter",
    "UsageTrackableMixin",
    "User",
    "UserError",
    "UserExhaustedError",
    "UserLLMSimulator",
    "UserSimulatorError",
    "normalise",
    "register_model",
    "register_scorer",
    "resolve_model",
    "resolve_scorer",
    "tool_call",
    "tool_definition",
    "validate_argument_type",
    "validate_arguments_from_schema",
    "validate_no_extra_arguments",
    "validate_required_arguments",
]
