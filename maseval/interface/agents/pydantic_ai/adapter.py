"""PydanticAIAgentAdapter: agents of Pydantic AI."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from maseval.core.agent import AgentObserver
from maseval.core.event_loop import run_async
from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import MessageHistory
from maseval.core.provider_errors import (
    AuthenticationError,
    ContentFilterError,
    ContextOverflowError,
    MalformedRequestError,
    MalformedResponseError,
    ModelNotFoundError,
    OverloadedError,
    ProviderConnectionError,
    ProviderError,
    ProviderTimeoutError,
    QuotaExhaustedError,
    RateLimitError,
)
from maseval.core.storage.redaction import redact
from maseval.core.usage import CostCalculator, TokenUsage, Usage
from maseval.interface.agents.earlier import named_results
from maseval.interface.agents.failures import is_unreadable_answer
from maseval.interface.agents.framework import FrameworkAgentAdapter, without
from maseval.interface.agents.pydantic_ai.agent import (
    EXTRA,
    MODULE,
    PACKAGE,
    ModelMessage,
    PydanticAgent,
    TurnResult,
    TurnUsage,
    pydantic_ai,
    token_usage,
)
from maseval.interface.agents.pydantic_ai.messages import (
    add_messages,
    instructions_in,
    model_messages,
)
from maseval.interface.agents.pydantic_ai.team import Work, listen
from maseval.interface.agents.tools import as_text

_UNUSABLE = "Invalid response from"
_KINDS: tuple[tuple[str, type[ProviderError]], ...] = (
    ("ContentFilterError", ContentFilterError),
    ("ModelRequestTimeout", ProviderTimeoutError),
    ("ModelTimeoutError", ProviderTimeoutError),
    ("ModelConnectionError", ProviderConnectionError),
    ("ModelRateLimitError", RateLimitError),
    ("ModelQuotaExceededError", QuotaExhaustedError),
    ("ModelUnavailableError", OverloadedError),
    ("ModelServerError", OverloadedError),
    ("ModelContextWindowExceededError", ContextOverflowError),
    ("ModelAuthenticationError", AuthenticationError),
    ("ModelNotFoundError", ModelNotFoundError),
    ("ModelRequestRejectedError", MalformedRequestError),
    ("ModelAPIError", MalformedResponseError),  # the parent of most of those above
)


class PydanticAIAgentAdapter(FrameworkAgentAdapter):
    """An ``Agent`` of Pydantic AI.

    What an agent does that is run by a tool belongs to its own adapter, if it has one. Otherwise it
    counts here, if the tool passes on its count: ``await other.run(..., usage=ctx.usage)``.

    Args:
        agent_instance: The agent.
        name: The name in reports.
        callbacks: Notified when a turn starts and ends.
        deps: Passed by the framework to tools and instructions.
        usage_limits: The framework's ``UsageLimits`` for each turn; its default is 50 requests.
        cost_calculator: Prices the tokens, instead of the framework.
        model_id: The model to report, if not the agent's.
    """

    module = MODULE
    extra = EXTRA
    package = PACKAGE
    agent: PydanticAgent

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
        self.work = Work()
        """What the agent did for others, without this adapter."""
        if hasattr(agent_instance, "iter"):
            listen(self.agent)
        self._memory: list[ModelMessage] = []
        self._took_over = False
        self._usages: list[TurnUsage] = []  # one per turn, because limits apply to a turn

    def load_messages(self, messages: MessageHistory) -> None:
        """Continue a conversation, under the agent's own instructions."""
        self._memory = model_messages(messages)
        self.messages = MessageHistory(list(named_results(messages)))
        self._took_over = True

    def _run_framework(self, query: str) -> str:
        with self._logged(query):
            return run_async(self._turn(query))

    async def _turn(self, query: str) -> str:
        library = pydantic_ai()
        self._usages.append(library.RunUsage())
        result: TurnResult | None = None
        with library.capture_run_messages() as captured:
            try:
                result = await self.agent.run(
                    query,
                    message_history=self._memory or None,
                    deps=self.deps,
                    usage_limits=self.usage_limits,
                    usage=self._usages[-1],
                    capabilities=self._capabilities,
                )
            except Exception as error:
                self._raise_if_the_providers(error)
                raise
            finally:
                self._note_instructions(captured)
                so_far = captured[len(self._memory) :] if result is None else result.new_messages()
                add_messages(self.messages, so_far)
        self._memory = result.all_messages()
        if isinstance(result.output, library.DeferredToolRequests):
            waiting = [*result.output.calls, *result.output.approvals]
            raise ConfigurationError(
                f"agent {self.name!r} waits for an answer to or approval of its calls to: "
                f"{', '.join(call.tool_name for call in waiting)}; an evaluation cannot give it, "
                "so use tools that run immediately"
            )
        return as_text(result.output)

    @property
    def _capabilities(self) -> list[object] | None:
        # A conversation that is given to the framework is taken to have the system prompt in it.
        if not self._took_over:
            return None
        return [pydantic_ai().capabilities.ReinjectSystemPrompt(id=None)]

    def _note_instructions(self, conversation: Sequence[ModelMessage]) -> None:
        """Record what the agent is told to do, if it took over a conversation without that."""
        if self._took_over and not self.messages.filter_by_role("system"):
            self.messages = MessageHistory([*instructions_in(conversation), *self.messages])

    def _raise_if_the_providers(self, error: Exception) -> None:
        """Raise a provider's failure, for which the framework has errors of its own.

        Errors with an HTTP status are handled like those of all frameworks.
        """
        errors = pydantic_ai().exceptions
        if isinstance(error, errors.ModelHTTPError):
            return
        kind = next((k for name, k in _KINDS if isinstance(error, getattr(errors, name))), None)
        is_unusable = isinstance(error, errors.UnexpectedModelBehavior) and _UNUSABLE in str(error)
        if is_unusable or is_unreadable_answer(error, "pydantic_ai.models"):
            kind = MalformedResponseError
        if kind is not None:
            raise kind(
                str(error),
                provider=self.extra,
                model_id=self._model_id or self._resolve_model_id(),
                retry_after=getattr(error, "retry_after", None),
            ) from None

    def _gave_up(self, error: Exception) -> bool:
        library = pydantic_ai()
        return isinstance(error, library.UsageLimitExceeded | library.UnexpectedModelBehavior)

    def _gather_usage(self) -> Usage:
        counted = [usage for usage in self._usages if usage.total_tokens]
        used = [*map(token_usage, counted), *self.work.usage]
        total = sum(used) or Usage()
        if isinstance(total, TokenUsage):
            total = without(total, self.passed_on)
        known = self._cost_calculator is None and all(one.cost is not None for one in counted)
        return total if known else replace(total, cost=0.0)

    def get_messages(self) -> MessageHistory:
        return MessageHistory([*self.messages, *self.work.messages])

    @property
    def count(self) -> TurnUsage | None:
        """What the framework counts in this turn."""
        return self._usages[-1] if self._usages else None

    def _resolve_model_id(self) -> str | None:
        model = getattr(self.agent, "model", None)
        name = model if isinstance(model, str) else getattr(model, "model_name", None)
        return None if name is None else str(name)

    def gather_config(self) -> dict[str, Any]:
        settings = getattr(self.agent, "model_settings", None)
        system = self.messages.filter_by_role("system")
        config = {
            "agent_name": self.agent.name,
            "model": self._resolve_model_id(),
            "system_prompt": system[0]["content"] if system else None,
            "tools": [
                name for toolset in self.agent.toolsets for name in getattr(toolset, "tools", ())
            ],
            "output_type": str(self.agent.output_type),
            "model_settings": json.loads(as_text(settings)),
            "usage_limits": None if self.usage_limits is None else repr(self.usage_limits),
        }
        return {**super().gather_config(), "pydantic_ai_config": redact(config)}
