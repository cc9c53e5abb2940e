"""FrameworkAgentAdapter: what the adapters of all agent frameworks have in common.

A framework talks to the model itself, so its adapter does more than run it: it distinguishes a
failing provider from a failing agent, prices the tokens, and converts messages to OpenAI's form.
"""

import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from maseval.core.agent import AgentAdapter
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.tracing import now
from maseval.core.usage import CostCalculator, TokenUsage
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

    @abstractmethod
    def _run_framework(self, query: str) -> object:
        """The agent's answer to ``query``; the agent remembers the earlier turns."""

    def _gave_up(self, error: Exception) -> bool:
        """Whether the framework stopped the agent, as at a step limit."""
        return False

    def _run_agent(self, query: str) -> object:
        extras.load(self.module, extra=self.extra, package=self.package)
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

    def _resolve_cost_calculator(self) -> CostCalculator | None:
        if self._cost_calculator is not None:
            return self._cost_calculator
        if self._automatic_calculator is None and extras.is_installed("litellm"):
            self._automatic_calculator = LiteLLMCostCalculator()
        return self._automatic_calculator
