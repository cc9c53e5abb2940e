"""FrameworkAgentAdapter: what the adapters of all agent frameworks have in common.

A framework talks to the model itself, so its adapter does more than run it: it distinguishes a
failing provider from a failing agent, prices the tokens, and converts messages to OpenAI's form.

An agent may work for another one, which a framework runs without an adapter. If it has an adapter
all the same, that one records its messages and usage; otherwise they are its leader's.
"""

import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import ClassVar
from weakref import WeakValueDictionary

from maseval.core.agent import AgentAdapter, AgentObserver
from maseval.core.clock import Clock
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.tracing import JsonObject, now
from maseval.core.usage import TOKEN_FIELDS, CostCalculator, TokenUsage
from maseval.interface import extras
from maseval.interface.agents.failures import causes, provider_failure
from maseval.interface.usage import LiteLLMCostCalculator


class AgentGaveUpError(AgentError):
    """The framework stopped the agent before it had an answer, as at a step limit."""


class FrameworkAgentAdapter(AgentAdapter):
    """An agent of a framework; a subclass implements ``_run_framework``.

    A failure of the model's provider is raised as a ``ProviderError``, so that it does not count
    against the agent. Without a ``cost_calculator``, LiteLLM's prices are used if that library is
    installed.
    """

    module: ClassVar[str]
    """The name under which the framework is imported."""
    extra: ClassVar[str]
    """The extra of maseval that installs it."""
    package: ClassVar[str | None] = None
    """The name under which it is installed, if that differs."""

    _automatic_calculator: CostCalculator | None = None

    def __init__(
        self,
        agent_instance: object,
        name: str,
        callbacks: Iterable[AgentObserver] | None = None,
        cost_calculator: CostCalculator | None = None,
        model_id: str | None = None,
    ) -> None:
        super().__init__(agent_instance, name, callbacks, cost_calculator, model_id)
        self.passed_on: list[TokenUsage] = []
        """Tokens that the framework counts here, but that belong to an agent with an adapter."""
        self._clock = Clock.here()
        _adapters[id(agent_instance), id(self._clock)] = self

    @abstractmethod
    def _run_framework(self, query: str) -> object:
        """The agent's answer to ``query``; the agent remembers the earlier turns."""

    def _gave_up(self, error: Exception) -> bool:
        """Whether the framework stopped the agent, as at a step limit."""
        return False

    def _run_agent(self, query: str) -> object:
        extras.load(self.module, extra=self.extra, package=self.package)
        token = _leading.set(self)
        try:
            return self._run_framework(query)
        except MASEvalError:
            raise
        except Exception as error:
            for cause in causes(error):
                if isinstance(cause, MASEvalError):  # raised in a tool, wrapped by the framework
                    raise cause from None
            model_id = self._model_id or self._resolve_model_id()
            failure = provider_failure(error, provider=self.extra, model_id=model_id)
            if failure is not None:
                # Not chained: the library's message may quote the key, and reports keep tracebacks.
                raise failure from None
            if self._gave_up(error):
                raise AgentGaveUpError(str(error), component=self.name) from error
            raise
        finally:
            _leading.reset(token)

    @contextmanager
    def _logged(self, query: str) -> Iterator[None]:
        """Log a turn that succeeds, with its tokens; ``run`` logs those that fail."""
        began, started, before = now(), time.perf_counter(), self._gather_usage()
        yield
        entry = {
            "timestamp": began,
            "query": query,
            "query_length": len(query),
            "duration_seconds": time.perf_counter() - started,
            "status": "success",
        }
        after = self._gather_usage()
        if isinstance(after, TokenUsage):
            for name in ("input_tokens", "output_tokens", "total_tokens"):
                entry[name] = getattr(after, name) - getattr(before, name, 0)
        self.logs.append(entry)

    def gather_config(self) -> JsonObject:
        model_id = self._model_id or self._resolve_model_id()
        return {**super().gather_config(), "model_id": model_id}

    def _resolve_cost_calculator(self) -> CostCalculator | None:
        if self._cost_calculator is not None:
            return self._cost_calculator
        if self._automatic_calculator is None and extras.is_installed("litellm"):
            self._automatic_calculator = LiteLLMCostCalculator()
        return self._automatic_calculator


# Repetitions may share an agent, but each has adapters of its own.
_adapters: WeakValueDictionary[tuple[int, int], FrameworkAgentAdapter] = WeakValueDictionary()


def adapter_of(agent: object) -> FrameworkAgentAdapter | None:
    """The adapter that an agent has in this repetition, if it has one; the latest of several."""
    found = adapter_by_id(id(agent))
    return found if found is not None and found.agent is agent else None


def adapter_by_id(agent_id: int) -> FrameworkAgentAdapter | None:
    """As ``adapter_of``, where only the ``id()`` of a living agent is known."""
    clock = Clock.here()
    found = _adapters.get((agent_id, id(clock)))
    return found if found is not None and found._clock is clock else None


_leading: ContextVar[FrameworkAgentAdapter | None] = ContextVar("maseval_leader", default=None)


def leader() -> FrameworkAgentAdapter | None:
    """The adapter that runs here, if one does."""
    return _leading.get()


def at_work(agent: object) -> FrameworkAgentAdapter | None:
    """The adapter of an agent that is run here, but not by an adapter of its own."""
    leading = leader()
    return adapter_of(agent) if leading is None or leading.agent is not agent else None


def without(total: TokenUsage, parts: Iterable[TokenUsage]) -> TokenUsage:
    """What is left of ``total``, of which ``parts`` belong to others."""
    others = list(parts)
    rest = {
        name: getattr(total, name) - sum(getattr(part, name) for part in others)
        for name in TOKEN_FIELDS
    }
    return replace(total, cost=total.cost - sum(part.cost for part in others), **rest)
