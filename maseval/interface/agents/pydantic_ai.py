"""Pydantic AI: an ``Agent`` as the agent under evaluation."""

import inspect
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any

from pydantic_core import SchemaValidator, core_schema

from maseval.core import provider_errors as errors
from maseval.core.agent import AgentObserver
from maseval.core.clock import acting_as
from maseval.core.event_loop import in_thread, run_async
from maseval.core.exceptions import AgentError, ConfigurationError
from maseval.core.messages import MessageHistory
from maseval.core.usage import CostCalculator, TokenUsage, Usage
from maseval.interface import extras
from maseval.interface.agents.framework import (
    FrameworkAgentAdapter,
    Tool,
    Tools,
    as_text,
    bystanding_adapter,
    describe_tools,
    member_name,
    running_adapter,
)
from maseval.interface.inference.chat_completions import function_call

__all__ = ["PydanticAIAgentAdapter", "as_tools"]

MODULE, EXTRA, PACKAGE = "pydantic_ai", "pydantic-ai", "pydantic-ai-slim"


def pydantic_ai() -> ModuleType:
    return extras.load(MODULE, extra=EXTRA, package=PACKAGE)


ModelMessage = Any
"""A request to the model or its response, by ``kind``; its parts differ by ``part_kind``."""


class PydanticAIAgentAdapter(FrameworkAgentAdapter):
    """An ``Agent`` of Pydantic AI.

    The work of an agent that is run by a tool belongs to its own adapter, if it has one; otherwise
    to this one.

    Args:
        agent_instance: The agent.
        name: The name in reports.
        callbacks: Notified when a turn starts and ends.
        deps: Passed by the framework to tools and instructions.
        usage_limits: The framework's ``UsageLimits`` for each turn; its default is 50 requests.
        cost_calculator: Prices the tokens, instead of the framework.
        model_id: The model to report, if not the agent's.
    """

    module, extra, package = MODULE, EXTRA, PACKAGE
    models_package = "pydantic_ai.models"
    provider_errors = (
        ("ModelHTTPError", "", None),
        ("UnexpectedModelBehavior", "Invalid response from", errors.MalformedResponseError),
        ("ContentFilterError", "", errors.ContentFilterError),
        ("ModelRequestTimeout", "", errors.ProviderTimeoutError),
        ("ModelTimeoutError", "", errors.ProviderTimeoutError),
        ("ModelConnectionError", "", errors.ProviderConnectionError),
        ("ModelRateLimitError", "", errors.RateLimitError),
        ("ModelQuotaExceededError", "", errors.QuotaExhaustedError),
        ("ModelUnavailableError", "", errors.OverloadedError),
        ("ModelServerError", "", errors.OverloadedError),
        ("ModelContextWindowExceededError", "", errors.ContextOverflowError),
        ("ModelAuthenticationError", "", errors.AuthenticationError),
        ("ModelNotFoundError", "", errors.ModelNotFoundError),
        ("ModelRequestRejectedError", "", errors.MalformedRequestError),
        ("ModelAPIError", "", errors.MalformedResponseError),  # the parent of most of those above
    )
    limit_errors = ("UsageLimitExceeded", "UnexpectedModelBehavior")

    def __init__(
        self,
        agent_instance: object,
        name: str,
        callbacks: Iterable[AgentObserver] | None = None,
        deps: object = None,
        usage_limits: object = None,
        cost_calculator: CostCalculator | None = None,
        model_id: str | None = None,
    ) -> None:
        super().__init__(agent_instance, name, callbacks, cost_calculator, model_id)
        self.messages: MessageHistory = MessageHistory()
        self.deps = deps
        self.usage_limits = usage_limits
        if hasattr(agent_instance, "iter"):
            _observe_runs()
        self._memory: list[ModelMessage] = []
        self._usages: list[Any] = []  # one per turn, because limits apply to a turn

    def _run_framework(self, query: str) -> str:
        return run_async(self._turn(query))

    async def _turn(self, query: str) -> str:
        library = pydantic_ai()
        self._usages.append(library.RunUsage())
        result: Any = None
        with library.capture_run_messages() as captured:
            try:
                result = await self.agent.run(
                    query,
                    message_history=self._memory or None,
                    deps=self.deps,
                    usage_limits=self.usage_limits,
                    usage=self._usages[-1],
                )
            finally:
                # A failed turn has no result, and what was captured of it begins with the memory
                # sent along.
                so_far = captured[len(self._memory) :] if result is None else result.new_messages()
                add_messages(self.messages, so_far)
                self.call_seconds += seconds_of(so_far)
        self._memory = result.all_messages()
        if isinstance(result.output, library.DeferredToolRequests):
            waiting = [*result.output.calls, *result.output.approvals]
            raise ConfigurationError(
                f"agent {self.name!r} waits for an answer to or approval of its calls to: "
                f"{', '.join(call.tool_name for call in waiting)}; an evaluation cannot give it, "
                "so use tools that run immediately"
            )
        return as_text(result.output)

    def _gather_usage(self) -> Usage:
        counted = [usage for usage in self._usages if usage.total_tokens]
        used = [*map(token_usage, counted), *self.used]
        total = self._without_delegated(sum(used) or Usage())
        known = self._cost_calculator is None and all(usage.cost is not None for usage in counted)
        # A cost of 0 has the base class price all tokens; the sum here may lack that of a turn.
        return total if known else replace(total, cost=0.0)

    @property
    def turn_usage(self) -> object:
        """The object in which the framework counts the tokens of this turn."""
        return self._usages[-1] if self._usages else None

    def _resolve_model_id(self) -> str | None:
        model = getattr(self.agent, "model", None)
        name = model if isinstance(model, str) else getattr(model, "model_name", None)
        return None if name is None else str(name)

    def _settings(self) -> dict[str, Any]:
        system = self.messages.filter_by_role("system")
        return {
            "agent_name": self.agent.name,
            "model": self._resolve_model_id(),
            "system_prompt": system[0]["content"] if system else None,
            "tools": [
                name for toolset in self.agent.toolsets for name in getattr(toolset, "tools", ())
            ],
            "output_type": str(self.agent.output_type),
            "model_settings": getattr(self.agent, "model_settings", None),
            "usage_limits": None if self.usage_limits is None else repr(self.usage_limits),
        }


def as_tools(tools: Tools) -> list[Any]:
    """Return functions, such as ``environment.tools``, as ``Tool`` with full schemas."""
    return [_tool(tool) for tool in describe_tools(tools)]


def _tool(tool: Tool) -> object:
    library = pydantic_ai()
    # Not the wrapped function's signature: a tool that accepts anything checks by itself.
    signature = inspect.signature(tool.function, follow_wrapped=False)

    async def call(context: Any, /, **arguments: object) -> str:
        try:
            signature.bind(**arguments)
        except TypeError as error:
            raise library.ModelRetry(str(error)) from None
        try:
            with acting_as(member_name(context.agent)):
                return as_text(await in_thread(lambda: tool.function(**arguments)))
        except AgentError as error:  # the agent's own mistake, which it may correct
            raise library.ModelRetry(str(error)) from error

    made = library.Tool.from_schema(
        call,
        name=tool.name,
        description=tool.description,
        json_schema=tool.parameters,
        takes_ctx=True,
        sequential=True,  # in the order of the calls in the model's answer
    )
    made.strict = False  # strict mode would rewrite the schema
    # Any JSON object passes unchanged; anything else is refused, and the model can try again.
    made.function_schema.validator = SchemaValidator(core_schema.dict_schema())
    return made


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


def seconds_of(messages: Iterable[ModelMessage]) -> list[float]:
    """Return how long the model worked on each of its responses."""
    found, asked = [], None
    for message in messages:
        if message.kind == "response":
            found.append((message.timestamp - (asked or message.timestamp)).total_seconds())
        else:
            asked = next((part.timestamp for part in message.parts if _time(part)), None)
    return found


def add_messages(history: MessageHistory, messages: Iterable[ModelMessage]) -> None:
    """Add the messages of a turn; thoughts, files and tools run by the provider are left out."""
    for message in messages:
        if message.kind == "response":
            _add_response(history, message)
            continue
        # Every request repeats the instructions, and a history has them once.
        if message.instructions and not history:
            history.add_message("system", message.instructions, timestamp=_time(message.parts[0]))
        for part in message.parts:
            _add_request_part(history, part)


def _time(part: Any) -> str | None:
    """Return when it was made, as records have it; None, for now, if the framework has no time."""
    made = getattr(part, "timestamp", None)
    return None if made is None else made.astimezone().replace(tzinfo=None).isoformat()


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
        history.add_tool_call(calls, text, timestamp=_time(response))
    elif text is not None:
        history.add_message("assistant", text, timestamp=_time(response))


def _add_request_part(history: MessageHistory, part: Any) -> None:
    match part.part_kind:
        case "system-prompt":
            history.add_message("system", as_text(part.content), timestamp=_time(part))
        case "user-prompt":
            history.add_message("user", as_text(part.content), timestamp=_time(part))
        case "tool-return":
            text = part.model_response_str()
            history.add_tool_response(part.tool_call_id, text, part.tool_name, None, _time(part))
        case "retry-feedback":  # from the framework, about an invalid answer
            history.add_message("user", part.model_response())


@cache
def _observe_runs() -> None:
    """Let adapters record each run that others make of an agent: all go through ``iter``."""
    kind = pydantic_ai().Agent
    own = kind.iter

    @asynccontextmanager
    async def iterate(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async with own(self, *args, **kwargs) as run:
            try:
                yield run
            finally:
                _record_run(self, run, kwargs.get("usage"))

    kind.iter = iterate


def _record_run(agent: object, run: Any, shared: object) -> None:
    adapter = bystanding_adapter(agent, PydanticAIAgentAdapter)
    if adapter is None:
        return
    messages, history = run.new_messages(), MessageHistory()
    add_messages(history, messages)
    used = [token_usage(message.usage) for message in messages if message.kind == "response"]
    adapter.messages_for_others += history
    adapter.used += used
    adapter.call_seconds += seconds_of(messages)
    # If the tool passes its own count to the agent, the framework adds the tokens to the leader's.
    leader = running_adapter()
    if leader is not None and shared is not None and shared is getattr(leader, "turn_usage", None):
        leader.delegated_usage += used
