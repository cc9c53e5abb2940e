"""CAMEL: a ``ChatAgent`` as the agent under evaluation, or as the user it talks to."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any

from maseval.core.clock import acting_as
from maseval.core.exceptions import ConfigurationError, UnreadableAnswerError, UserError
from maseval.core.messages import Message, MessageHistory, openai_form
from maseval.core.provider_errors import ContentFilterError, MalformedResponseError
from maseval.core.usage import TokenUsage, Usage, UsageTrackableMixin
from maseval.core.user import User
from maseval.interface.agents.camel_library import (
    CamelRolePlayingTracer,
    CamelWorkforceTracer,
    Escape,
    as_tools,
    camel_module,
    camel_role_playing_execution_loop,
    observe_models,
    token_counter,
)
from maseval.interface.agents.framework import (
    AgentGaveUpError,
    AskedLLMUser,
    FrameworkAgentAdapter,
    asking_function,
    bystanding_adapter,
    name_tool_results,
)
from maseval.interface.inference.chat_completions import (
    chat_response,
    get,
    usage_of,
)
from maseval.interface.inference.http import RefusedAnswer

__all__ = [
    "CamelAgentAdapter",
    "CamelAgentUser",
    "CamelLLMUser",
    "CamelRolePlayingTracer",
    "CamelWorkforceTracer",
    "as_tools",
    "camel_role_playing_execution_loop",
    "token_counter",
]

# The settings beside the model that influence a turn: recorded, so that runs can be compared.
_SETTINGS = (
    "max_iteration",
    "token_limit",
    "summarize_threshold",
    "prune_tool_calls_from_memory",
    "retry_attempts",
    "step_timeout",
)
_ROLES = {"developer": "system", "function": "tool"}


class CamelAgentAdapter(FrameworkAgentAdapter):
    """A ``ChatAgent``, which keeps the conversation in its own memory.

    Steps that a society lets the agent take, without this adapter, are recorded as well.
    """

    module, extra, package = "camel", "camel", "camel-ai"
    logs_turns = False

    def _prepare(self) -> None:
        self._refusal: Exception | None = None  # why the latest request failed
        if hasattr(self.agent, "astep"):
            _observe_steps()

    def run(self, query: str) -> Any:
        logged, number = len(self.logs), len(self._finished_steps) + 1
        try:
            return super().run(query)
        finally:
            # A turn that failed is logged by the base class, which knows nothing of steps.
            for entry in self.logs[logged:]:
                entry |= {"step_number": number, "query": query[:500]}

    def _run_framework(self, query: str) -> str:
        if (_model_config(self.agent) or {}).get("stream"):
            raise ConfigurationError(
                f"the model of agent {self.name!r} streams, and CAMEL turns a failed stream into "
                "an answer; create the model without 'stream' in its model_config_dict"
            )
        with self.record_step(query) as note:
            note(response := self.agent.step(query))
        if len(response.msgs) > 1:  # CAMEL leaves the choice of what to remember to its caller
            self.agent.record_message(response.msgs[0])
        if unanswered := self._why_unanswered(response):
            self.logs[-1]["status"] = "error"
            raise AgentGaveUpError(unanswered, component=self.name)
        return str(response.msgs[0].content) if response.msgs else ""

    @contextmanager
    def record_step(self, query: str) -> Iterator[Callable[[Any], None]]:
        """Record a step, also one of a society; pass the response to what it yields."""
        number, models = len(self._finished_steps) + 1, getattr(self.agent, "model_backend", None)
        responses: list[Any] = []
        with self._log_turn(query), acting_as(self.name):
            if models is not None:
                # For this step alone: between turns the agent is as its owner made it.
                self.agent.model_backend = observe_models(models, self)
            try:
                yield responses.append
            except Escape as escape:
                raise escape.error from None
            except Exception as error:
                given_up = camel_module("models").ModelProcessingError  # after several attempts
                if self._refusal is not None and isinstance(error, given_up):
                    raise self._refusal from error
                raise
            finally:
                if models is not None:
                    self.agent.model_backend = models
        entry = _step_entry(responses[0]) if responses else {}
        self.logs[-1] |= {"step_number": number, "query": query[:500], **entry}

    @contextmanager
    def observe_request(self) -> Iterator[None]:
        """Keep the reason why a request failed."""
        self._refusal = None
        try:
            yield
        except json.JSONDecodeError as error:
            raise self._unreadable(error) from error
        except Exception as error:
            self._refusal = error
            raise

    def check_answer(self, answer: object) -> object:
        """Count the tokens of an answer, and check that CAMEL can read it."""
        self.note_times(len(self.agent.chat_history) + 1)  # with what will be made of it
        if usage := usage_of(get(answer, "usage")):
            cost = usage.pop("cost", 0.0)
            self.used.append(TokenUsage.from_chat_response_usage(usage, cost=cost))
        try:
            chat_response(answer)
        except RefusedAnswer as refused:
            if refused.kind is not ContentFilterError:  # of which CAMEL tells its agent
                raise self._provider_error(refused.kind, refused) from None
        except UnreadableAnswerError as error:
            raise self._unreadable(error) from None
        for call in get(get(get(answer, "choices")[0], "message"), "tool_calls") or ():
            self._check_arguments(call.function.arguments)
        return answer

    def _unreadable(self, why: object) -> Exception:
        return self._provider_error(MalformedResponseError, f"the answer could not be read: {why}")

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

    def _why_unanswered(self, response: Any) -> str | None:
        """Explain why the turn ended without an answer, if it did: CAMEL does not raise."""
        waiting = response.info.get("external_tool_call_requests")
        if waiting:
            names = ", ".join(request.tool_name for request in waiting)
            return f"called a tool that this adapter cannot answer: {names}; pass it in tools="
        if response.terminated and not response.msgs:
            return f"CAMEL ended the turn: {', '.join(response.info['termination_reasons'])}"
        history = getattr(self.agent, "chat_history", None)
        if response.msgs and history and history[-1]["role"] != "assistant":
            return f"reached max_iteration={self.agent.max_iteration} before it had an answer"
        return None

    def _gave_up(self, error: Exception) -> bool:
        return isinstance(error, TimeoutError) and self.agent.step_timeout is not None

    @property
    def _finished_steps(self) -> list[dict[str, Any]]:
        return [entry for entry in self.logs if "response_count" in entry]

    def get_messages(self) -> MessageHistory:
        history = name_tool_results(getattr(self.agent, "chat_history", None) or [])
        return MessageHistory([_openai_message(message) for message in history])

    def _resolve_model_id(self) -> str | None:
        kind = getattr(getattr(self.agent, "model_backend", None), "model_type", None)
        return None if kind is None else str(getattr(kind, "value", kind))

    def gather_traces(self) -> dict[str, Any]:
        finished = self._finished_steps
        return {
            **super().gather_traces(),
            "total_steps": len(finished),
            "total_tool_calls": sum(len(entry["tool_calls"]) for entry in finished),
            "last_terminated": finished[-1]["terminated"] if finished else None,
        }

    def _settings(self) -> dict[str, Any]:
        agent = self.agent
        return {
            "system_message": getattr(getattr(agent, "system_message", None), "content", None),
            "model_type": self._resolve_model_id(),
            "model_config": _model_config(agent),
            "tools": list(getattr(agent, "tool_dict", ())),
            "memory_type": type(getattr(agent, "memory", None)).__name__,
            **{name: getattr(agent, name, None) for name in _SETTINGS},
        }


def _model_config(agent: object) -> dict[str, object] | None:
    models = getattr(agent, "model_backend", None)
    return None if models is None else dict(models.model_config_dict)


def _step_entry(response: Any) -> dict[str, object]:
    info = response.info
    return {
        "terminated": response.terminated,
        "response_count": len(response.msgs),
        "response_preview": str(response.msgs[0].content)[:200] if response.msgs else "",
        "context_tokens": info.get("num_tokens"),
        "termination_reasons": list(info.get("termination_reasons") or ()),
        "response_id": info.get("id"),
        "tool_calls": [
            {
                "name": record.tool_name,
                "arguments": record.args,
                "result": str(record.result)[:500],
                "id": record.tool_call_id,
                "images_count": len(record.images or ()),
            }
            for record in info.get("tool_calls") or ()
        ],
        "external_tool_call_requests": [
            {"name": request.tool_name, "arguments": request.args, "id": request.tool_call_id}
            for request in info.get("external_tool_call_requests") or ()
        ],
    }


def _openai_message(message: Message) -> Message:
    plain = openai_form(message)
    plain["role"] = _ROLES.get(plain["role"], plain["role"])
    return plain


@cache
def _observe_steps() -> None:
    """Let adapters record the steps that others let an agent take: a society, or a tool."""
    kind = camel_module("agents").ChatAgent
    own, own_async = kind.step, kind.astep

    @contextmanager
    def recorded(agent: Any, message: object) -> Iterator[Callable[[Any], None]]:
        if (adapter := bystanding_adapter(agent, CamelAgentAdapter)) is None:
            yield lambda response: None
        else:
            with adapter.record_step(_text(message)) as note:
                yield note

    @wraps(own)
    def step(self: Any, input_message: object, *args: object, **kwargs: object) -> Any:
        with recorded(self, input_message) as note:
            note(response := own(self, input_message, *args, **kwargs))
            return response

    @wraps(own_async)
    async def astep(self: Any, input_message: object, *args: object, **kwargs: object) -> Any:
        with recorded(self, input_message) as note:
            note(response := await own_async(self, input_message, *args, **kwargs))
            return response

    # For the whole process, and cached: replaced twice, each step would be recorded twice.
    kind.step, kind.astep = step, astep


def _text(message: object) -> str:
    return message if isinstance(message, str) else str(getattr(message, "content", message))


class CamelLLMUser(AskedLLMUser):
    """A simulated user that a CAMEL agent can ask through a ``FunctionTool``."""

    as_tools = staticmethod(as_tools)


class CamelAgentUser(User, UsageTrackableMixin):
    """A user played by a ``ChatAgent``.

    It says ``initial_query`` first and is done after ``max_turns`` answers, or when one of the
    agent's terminators ends the conversation; from then on it answers with an empty text.
    """

    def __init__(
        self,
        user_agent: object,
        initial_query: str,
        name: str = "camel_agent_user",
        max_turns: int = 10,
    ) -> None:
        self.name = name
        self.initial_query = initial_query
        self.max_turns = max_turns
        self._adapter = CamelAgentAdapter(user_agent, name)
        self._turns_used = 0
        self._has_begun = False
        self._terminated = False

    def get_initial_query(self) -> str:
        return self.initial_query

    def respond(self, message: str) -> str:
        if self.is_done():
            return ""
        if not self._has_begun:
            self._remember_first_words()
        try:
            answer = str(self._adapter.run(message))
        except AgentGaveUpError as error:
            raise UserError(f"user {self.name!r}: {error.message}", component="user") from error
        self._turns_used += 1
        self._terminated = self._adapter.logs[-1]["terminated"]
        return answer

    def _remember_first_words(self) -> None:
        """Put the initial query into the agent's memory, so that it knows what it asked."""
        self._has_begun = True
        make = camel_module("messages").BaseMessage.make_assistant_message
        self._adapter.agent.record_message(make(self.name, self.initial_query))

    def get_tool(self) -> Any:
        """Return the user as a tool ``ask_user``, for agents that ask questions while they work."""
        return as_tools([asking_function(self)])[0]

    def is_done(self) -> bool:
        return self._terminated or self._turns_used >= self.max_turns

    def gather_usage(self) -> Usage:
        return self._adapter.gather_usage()

    def gather_traces(self) -> dict[str, Any]:
        return {
            **super().gather_traces(),
            "name": self.name,
            "turns_used": self._turns_used,
            "max_turns": self.max_turns,
            "logs": list(self._adapter.logs),
            "agent_type": self._agent_type,
        }

    def gather_config(self) -> dict[str, Any]:
        return {
            **super().gather_config(),
            "name": self.name,
            "max_turns": self.max_turns,
            "agent_type": self._agent_type,
            "initial_query": self.initial_query[:200],
        }

    @property
    def _agent_type(self) -> str:
        return type(self._adapter.agent).__name__
