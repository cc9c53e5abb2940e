"""AgentAdapter: an agent of any framework, as the engine sees it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

from maseval.core.clock import acting_as
from maseval.core.event_loop import settle
from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import MessageHistory
from maseval.core.tracing import ConfigurableMixin, JsonObject, TraceableMixin, note_end, now
from maseval.core.usage import CostCalculator, TokenUsage, Usage, UsageTrackableMixin

HUMAN = "human"
"""The name of a person, where others have that of a scripted agent or a model."""


class AgentObserver(Protocol):
    """The events an agent reports to its callbacks."""

    def on_run_start(self, agent: "AgentAdapter", /) -> None: ...
    def on_run_end(self, agent: "AgentAdapter", result: object, /) -> None: ...


class AgentAdapter(ABC, TraceableMixin, ConfigurableMixin, UsageTrackableMixin):
    """Wraps one agent; a framework implements :meth:`_run_agent` and fills ``messages``.

    ``agent`` is the framework's own object, of which this class knows nothing.
    """

    def __init__(
        self,
        agent_instance: Any,
        name: str,
        callbacks: Iterable[AgentObserver] | None = None,
        cost_calculator: CostCalculator | None = None,
        model_id: str | None = None,
    ) -> None:
        self.agent = agent_instance
        self.name = name
        self.callbacks: list[AgentObserver] = list(callbacks or ())
        self.messages: MessageHistory | None = None
        self.logs: list[JsonObject] = []
        self._cost_calculator = cost_calculator
        self._model_id = model_id
        self._assumed_model_id: str | None = None

    def __repr__(self) -> str:
        return f"AgentAdapter(name={self.name!r}, agent_type={self._agent_type!r})"

    @abstractmethod
    def _run_agent(self, query: str) -> Any:
        """Let the agent work on ``query`` and return its answer; may be ``async``."""

    def run(self, query: str) -> Any:
        """Return the agent's answer to ``query``; what it raises is logged and passed on."""
        for callback in self.callbacks:
            callback.on_run_start(self)
        entry = {"timestamp": now(), "query": query}
        try:
            with note_end(entry), acting_as(self.name):
                result = settle(self._run_agent(query))
        except Exception:
            # A turn that succeeds is logged by its adapter, which knows the tokens.
            self.logs.append(entry)
            raise
        for callback in self.callbacks:
            callback.on_run_end(self, result)
        return result

    def use_prices(self, calculator: CostCalculator, model_id: str | None = None) -> None:
        """Compute costs with ``calculator``, unless the agent was made with one.

        ``model_id`` is the model to assume where neither the adapter nor the framework names one.
        """
        self._cost_calculator = self._cost_calculator or calculator
        self._assumed_model_id = model_id

    def get_messages(self) -> MessageHistory:
        """Return the conversation so far; empty if the agent keeps none."""
        return MessageHistory() if self.messages is None else self.messages

    def openai_messages(self) -> MessageHistory:
        """Return the conversation in OpenAI's form, as traces have it.

        An adapter overrides this if its ``get_messages`` returns a framework's own form.
        """
        return self.get_messages()

    def load_messages(self, messages: MessageHistory) -> None:
        """Continue an earlier conversation, which begins with the user's first query.

        A framework that can be given one implements this; by default it is refused.
        """
        raise ConfigurationError(
            f"{type(self).__name__} (agent {self.name!r}) cannot be given an earlier conversation; "
            "implement load_messages, or continue with another agent"
        )

    @property
    def loads_messages(self) -> bool:
        """Return True if the agent can continue an earlier conversation."""
        return type(self).load_messages is not AgentAdapter.load_messages

    def gather_usage(self) -> Usage:
        usage = self._gather_usage()
        calculator = self._resolve_cost_calculator()
        model_id = self._model_id or self._resolve_model_id() or self._assumed_model_id
        if calculator is None or model_id is None:
            return usage
        # What the provider itself says it cost is nearer to the bill than any list of prices.
        if not isinstance(usage, TokenUsage) or usage.cost != 0.0:
            return usage
        cost = calculator.calculate_cost(usage, model_id)
        return usage if cost is None else replace(usage, cost=cost)

    def _gather_usage(self) -> Usage:
        """Return the usage that the framework counted; the cost may be left at zero."""
        return Usage()

    def _resolve_cost_calculator(self) -> CostCalculator | None:
        return self._cost_calculator

    def _resolve_model_id(self) -> str | None:
        """Return the model the framework uses, for an adapter created without a ``model_id``."""
        return None

    def gather_traces(self) -> JsonObject:
        # One form for all frameworks: whoever reads a report need not know which it was.
        messages = self.openai_messages().to_list()
        return {
            **super().gather_traces(),
            "name": self.name,
            "agent_type": self._agent_type,
            "message_count": len(messages),
            "messages": messages,
            "callbacks": self._callback_names,
            "logs": list(self.logs),
        }

    def gather_config(self) -> JsonObject:
        return {
            **super().gather_config(),
            "name": self.name,
            "agent_type": self._agent_type,
            "adapter_type": type(self).__name__,
            "callbacks": self._callback_names,
        }

    @property
    def _agent_type(self) -> str:
        return type(self.agent).__name__

    @property
    def _callback_names(self) -> list[str]:
        return [type(callback).__name__ for callback in self.callbacks]
