"""CamelAgentAdapter: a ``ChatAgent`` of CAMEL as the agent under evaluation."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from maseval.core.agent import AgentObserver
from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import Message, MessageHistory, openai_form
from maseval.core.provider_errors import MalformedResponseError
from maseval.core.storage.redaction import redact
from maseval.core.usage import CostCalculator, TokenUsage, Usage
from maseval.interface.agents.camel.chat_agent import (
    ChatAgent,
    StepResponse,
    ToolCallRecord,
)
from maseval.interface.agents.camel.memory import remember
from maseval.interface.agents.camel.models import (
    Ask,
    AskAsync,
    followed,
    is_out_of_attempts,
)
from maseval.interface.agents.camel.society import listen
from maseval.interface.agents.camel.tools import Escape
from maseval.interface.agents.earlier import named_results
from maseval.interface.agents.framework import AgentGaveUpError, FrameworkAgentAdapter
from maseval.interface.inference.chat_completions import get, usage_of

# The settings beside the model that influence a turn: recorded, so that runs can be compared.
_SETTINGS = (
    *("max_iteration", "token_limit", "summarize_threshold", "prune_tool_calls_from_memory"),
    *("retry_attempts", "step_timeout"),
)
_ROLES = {"developer": "system", "function": "tool"}


class CamelAgentAdapter(FrameworkAgentAdapter):
    """A ``ChatAgent``, which keeps the conversation in its own memory.

    Steps that a society lets the agent take, without this adapter, are recorded as well.
    """

    module, extra, package = "camel", "camel", "camel-ai"
    agent: ChatAgent

    def __init__(
        self,
        agent_instance: object,
        name: str,
        callbacks: Iterable[AgentObserver] | None = None,
        cost_calculator: CostCalculator | None = None,
        model_id: str | None = None,
    ) -> None:
        super().__init__(agent_instance, name, callbacks, cost_calculator, model_id)
        self._requests: list[TokenUsage] = []
        self._refusal: Exception | None = None  # why the latest request failed
        if hasattr(agent_instance, "astep"):
            listen(self.agent)

    def load_messages(self, messages: MessageHistory) -> None:
        """Continue a conversation; the system message stays."""
        remember(self.agent, messages)

    def run(self, query: str) -> Any:
        logged, number = len(self.logs), len(self._finished) + 1
        try:
            return super().run(query)
        finally:
            for entry in self.logs[logged:]:
                entry |= {"step_number": number, "query": query[:500]}

    def _run_framework(self, query: str) -> str:
        if self.agent.model_backend.model_config_dict.get("stream"):
            raise ConfigurationError(
                f"the model of agent {self.name!r} streams, and CAMEL turns a failed stream into "
                "an answer; create the model without 'stream' in its model_config_dict"
            )
        with self._logged(query):
            response = self._step(query)
        if len(response.msgs) > 1:  # CAMEL leaves the choice of what to remember to its caller
            self.agent.record_message(response.msgs[0])
        self.logs[-1] |= _told(response)
        unanswered = self._why_unanswered(response)
        if unanswered:
            self.logs[-1]["status"] = "error"
            raise AgentGaveUpError(unanswered, component=self.name)
        return str(response.msgs[0].content) if response.msgs else ""

    def _step(self, query: str) -> StepResponse:
        with self._following():
            try:
                return self.agent.step(query)
            except Escape as escape:
                raise escape.error from None

    @contextmanager
    def _following(self) -> Iterator[None]:
        models = self.agent.model_backend
        self.agent.model_backend = followed(models, self)
        try:
            yield
        except Exception as error:
            if self._refusal is not None and is_out_of_attempts(error):
                raise self._refusal from error
            raise
        finally:
            self.agent.model_backend = models

    @contextmanager
    def witness(self, query: str) -> Iterator[Callable[[StepResponse], None]]:
        """Record a step that a society lets the agent take; it is told of the response."""
        number = len(self._finished) + 1
        with self._logged(query), self._following():
            responses: list[StepResponse] = []
            yield responses.append
        told = _told(responses[0]) if responses else {}
        self.logs[-1] |= {"step_number": number, "query": query[:500], **told}

    def request(self, ask: Ask) -> object:
        """Make one request, count its tokens, and check that CAMEL can read the answer."""
        with self._asking():
            answer = ask()
        return self._checked(answer)

    async def request_async(self, ask: AskAsync) -> object:
        """As ``request``, in an event loop."""
        with self._asking():
            answer = await ask()
        return self._checked(answer)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        self._refusal = None
        try:
            yield
        except json.JSONDecodeError as error:
            raise self._unreadable(error) from error
        except Exception as error:
            self._refusal = error
            raise

    def _checked(self, answer: object) -> object:
        if usage := usage_of(get(answer, "usage")):
            cost = usage.pop("cost", 0.0)
            self._requests.append(TokenUsage.from_chat_response_usage(usage, cost=cost))
        choices = get(answer, "choices")
        if not choices:
            raise self._unreadable(f"no choices in the answer {answer!s:.200}")
        for call in choices[0].message.tool_calls or ():
            self._check_arguments(call.function.arguments)
        return answer

    def _unreadable(self, why: object) -> MalformedResponseError:
        return MalformedResponseError(
            f"the answer could not be read: {why}",
            provider=self.extra,
            model_id=self._model_id or self._resolve_model_id(),
        )

    def _check_arguments(self, arguments: str) -> None:
        """Refuse what is not a JSON object: CAMEL's parser would fail without saying so."""
        try:
            is_object = isinstance(json.loads(arguments), dict)
        except ValueError:
            is_object = False
        if not is_object:
            raise AgentGaveUpError(
                f"called a tool with arguments that are not a JSON object: {arguments!r:.200}",
                component=self.name,
            )

    def _why_unanswered(self, response: StepResponse) -> str | None:
        """Why the turn ended without an answer, if it did: CAMEL does not raise."""
        waiting = response.info.get("external_tool_call_requests")
        if waiting:
            names = ", ".join(request.tool_name for request in waiting)
            return f"called an external tool, which nobody here answers: {names}; pass it in tools="
        if response.terminated and not response.msgs:
            return f"CAMEL ended the turn: {', '.join(response.info['termination_reasons'])}"
        if response.msgs and self.agent.chat_history[-1]["role"] != "assistant":
            return f"reached max_iteration={self.agent.max_iteration} before it had an answer"
        return None

    def _gave_up(self, error: Exception) -> bool:
        return isinstance(error, TimeoutError) and self.agent.step_timeout is not None

    @property
    def _finished(self) -> list[dict[str, Any]]:
        return [entry for entry in self.logs if "response_count" in entry]

    def get_messages(self) -> MessageHistory:
        """The messages in the agent's memory."""
        return MessageHistory(list(_plain(self.agent.chat_history)))

    def _gather_usage(self) -> Usage:
        return sum(self._requests[1:], self._requests[0]) if self._requests else Usage()

    def _resolve_model_id(self) -> str | None:
        kind = getattr(getattr(self.agent, "model_backend", None), "model_type", None)
        return None if kind is None else str(getattr(kind, "value", kind))

    def gather_traces(self) -> dict[str, Any]:
        finished = self._finished
        return {
            **super().gather_traces(),
            "total_steps": len(finished),
            "total_tool_calls": sum(len(entry["tool_calls"]) for entry in finished),
            "last_terminated": finished[-1]["terminated"] if finished else None,
        }

    def gather_config(self) -> dict[str, Any]:
        agent = self.agent
        told = {
            "system_message": agent.system_message and agent.system_message.content,
            "model_type": self._resolve_model_id(),
            "model_config": dict(agent.model_backend.model_config_dict),
            "tools": list(agent.tool_dict),
            "memory_type": type(agent.memory).__name__,
            **{name: getattr(agent, name, None) for name in _SETTINGS},
        }
        safe = json.loads(json.dumps(redact(told), default=str))
        return {**super().gather_config(), "camel_config": safe}


def _told(response: StepResponse) -> dict[str, object]:
    """What CAMEL reports of a finished turn."""
    info = response.info
    return {
        "terminated": response.terminated,
        "response_count": len(response.msgs),
        "response_preview": str(response.msgs[0].content)[:200] if response.msgs else "",
        "context_tokens": info.get("num_tokens"),
        "termination_reasons": list(info.get("termination_reasons") or ()),
        "response_id": info.get("id"),
        "tool_calls": [_called(record) for record in info.get("tool_calls") or ()],
        "external_tool_call_requests": [
            {"name": request.tool_name, "arguments": request.args, "id": request.tool_call_id}
            for request in info.get("external_tool_call_requests") or ()
        ],
    }


def _called(record: ToolCallRecord) -> dict[str, object]:
    return {
        "name": record.tool_name,
        "arguments": record.args,
        "result": str(record.result)[:500],
        "id": record.tool_call_id,
        "images_count": len(record.images or ()),
    }


def _plain(context: Iterable[Message]) -> Iterator[Message]:
    """Messages in OpenAI's form; tool results carry the name of the tool."""
    for message in named_results(context):
        plain = openai_form(message)
        plain["role"] = _ROLES.get(plain["role"], plain["role"])
        yield plain
