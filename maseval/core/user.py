"""User: the agent's conversation partner, and users simulated by a language model."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from maseval.core.clock import acting_as
from maseval.core.exceptions import (
    ConfigurationError,
    TaskTimeoutError,
    UserError,
    UserExhaustedError,
)
from maseval.core.messages import Message, MessageHistory
from maseval.core.model import ModelAdapter
from maseval.core.provider_errors import ProviderError
from maseval.core.simulator import AgenticUserLLMSimulator, LLMSimulator, UserLLMSimulator
from maseval.core.tool import tool_definition
from maseval.core.tracing import ConfigurableMixin, JsonObject, TraceableMixin, note_end, now

FAREWELL = "Thank you, that's all I needed!"
OUT_OF_STEPS = "I need to stop checking things now."


class TerminationReason(Enum):
    """The reason why a user stopped, if it did."""

    NOT_TERMINATED = "not_terminated"
    MAX_TURNS = "max_turns"
    USER_TERMINATED = "user_terminated"
    MAX_TURNS_AND_USER_TERMINATED = "max_turns_and_user_terminated"


class ConversationStartError(UserError, RuntimeError):
    """The initial query was requested in a conversation that the agent started."""


class User(ABC, TraceableMixin, ConfigurableMixin):
    """The other side of the conversation."""

    @abstractmethod
    def get_initial_query(self) -> str:
        """Return the user's first message."""

    @abstractmethod
    def respond(self, message: str) -> str:
        """Return the user's answer to the agent's ``message``."""

    @abstractmethod
    def is_done(self) -> bool:
        """Return whether the user has nothing more to say."""

    def get_tool(self) -> Any | None:
        """Return the user as a tool of the agent's framework, for agents that ask by a tool."""
        return None


class LLMUser(User):
    """A user simulated by a language model.

    It is done after ``max_turns`` messages, or when it says one of ``stop_tokens``, which it is
    instructed to do under ``early_stopping_condition``. Called again after that, it returns
    ``exhausted_response``, or raises ``UserExhaustedError`` if there is none. An ``initial_query``
    is its first message and its first turn; without one the model writes it.
    """

    def __init__(
        self,
        name: str,
        model: ModelAdapter,
        user_profile: Mapping[str, object] | str,
        scenario: str,
        initial_query: str | None = None,
        template: str | None = None,
        max_try: int = 3,
        max_turns: int = 1,
        stop_tokens: list[str] | None = None,
        early_stopping_condition: str | None = None,
        exhausted_response: str | None = None,
    ) -> None:
        _check_stopping(stop_tokens, early_stopping_condition)
        self.name = name
        self.model = model
        self.user_profile = user_profile
        self.scenario = scenario
        self.initial_query = initial_query
        self.template = template
        self.max_try = max_try
        self.max_turns = max_turns
        self.stop_tokens = list(stop_tokens or ())
        self.early_stopping_condition = early_stopping_condition
        self.exhausted_response = exhausted_response
        self.simulator: LLMSimulator[Any] = self._create_simulator()
        self.messages = MessageHistory()
        self.logs: list[dict[str, object]] = []
        self._turn_count = 0
        self._stop_reason: str | None = None
        if initial_query is not None:
            self._say(initial_query)

    def _create_simulator(self) -> LLMSimulator[Any]:
        return UserLLMSimulator(**self._simulator_settings())

    def _simulator_settings(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "user_profile": self.user_profile,
            "scenario": self.scenario,
            "template": self.template,
            "max_try": self.max_try,
            "stop_token": self.stop_tokens[0] if self.stop_tokens else None,
            "early_stopping_condition": self.early_stopping_condition,
        }

    def get_initial_query(self) -> str:
        if not self.messages:
            with acting_as("user"):
                return self._say(self._without_stop_token(self._ask(None)))
        first = self.messages[0]
        if first.get("role") != "user":
            raise ConversationStartError(
                f"the conversation of user {self.name!r} began with a message of "
                f"{first.get('role')!r}; ask for the initial query before calling respond()",
                component="user",
            )
        return str(first.get("content"))

    def respond(self, message: str) -> str:
        if self.is_done():
            if self.exhausted_response is not None:
                return self.exhausted_response
            raise UserExhaustedError(
                f"user {self.name!r} is done ({self.termination_reason.value}) after "
                f"{self._turn_count} of {self.max_turns} turns; check is_done() before respond(), "
                "or give the user an exhausted_response",
                component="user",
            )
        self.messages.add_message("assistant", message)
        with acting_as("user"):
            return self._say(self._without_stop_token(self._ask(message)))

    def is_done(self) -> bool:
        return self.termination_reason is not TerminationReason.NOT_TERMINATED

    @property
    def termination_reason(self) -> TerminationReason:
        out_of_turns = self._turn_count >= self.max_turns
        if self._stop_reason is None:
            return TerminationReason.MAX_TURNS if out_of_turns else TerminationReason.NOT_TERMINATED
        if out_of_turns:
            return TerminationReason.MAX_TURNS_AND_USER_TERMINATED
        return TerminationReason.USER_TERMINATED

    @property
    def _stopped(self) -> bool:
        """True if the user ended the conversation; subclasses may set it, as in MASEval."""
        return self._stop_reason is not None

    @_stopped.setter
    def _stopped(self, stopped: bool) -> None:
        self._stop_reason = (self._stop_reason or "stopped") if stopped else None

    def increment_turn(self) -> None:
        self._turn_count += 1

    def _say(self, text: str) -> str:
        self.messages.add_message("user", text)
        self.increment_turn()
        return text

    def _without_stop_token(self, text: str) -> str:
        for token in self.stop_tokens:
            rest, found = re.subn(re.escape(token), "", text, flags=re.IGNORECASE)
            if found:
                # The agent is not to read the token, and needs something to read.
                self._stop_reason = token
                return rest.strip() or FAREWELL
        return text

    def _ask(self, question: str | None) -> str:
        """Return the model's answer to ``question`` (None: its first words), with a log entry."""
        entry: dict[str, object] = {"timestamp": now(), "question": question, "status": "success"}
        self.logs.append(entry)
        with note_end(entry):
            answer = self._generate(entry)
        entry["response_preview"] = answer[:2000]
        return answer

    def _generate(self, entry: dict[str, object]) -> str:
        """Return the model's next message; more may be added to the log ``entry``."""
        answer: str = self.simulator(conversation_history=self.messages.to_list())
        return answer

    def gather_traces(self) -> JsonObject:
        return {
            **super().gather_traces(),
            "name": self.name,
            "profile": self.user_profile,
            "message_count": len(self.messages),
            "messages": self.messages.to_list(),
            "logs": list(self.logs),
            "termination_reason": self.termination_reason.value,
            "stop_reason": self._stop_reason,
            "max_turns": self.max_turns,
            "turns_used": self._turn_count,
            "stopped_by_user": self._stop_reason is not None,
        }

    def gather_config(self) -> JsonObject:
        return {
            **super().gather_config(),
            "name": self.name,
            "profile": self.user_profile,
            "scenario": self.scenario,
            "max_turns": self.max_turns,
            "stop_tokens": self.stop_tokens,
            "exhausted_response": self.exhausted_response,
        }


class AgenticLLMUser(LLMUser):
    """A user simulated by a model that may use tools before it answers.

    Its thoughts and tool calls, at most ``max_internal_steps`` rounds, stay in the log; only its
    final message enters the conversation. Further arguments are those of ``LLMUser``.
    """

    def __init__(
        self,
        name: str,
        model: ModelAdapter,
        user_profile: Mapping[str, object] | str,
        scenario: str,
        tools: Mapping[str, Callable[..., object]] | None = None,
        max_internal_steps: int = 5,
        **kwargs: Any,
    ) -> None:
        if max_internal_steps < 1:
            raise ConfigurationError(
                f"max_internal_steps must be at least 1, not {max_internal_steps}"
            )
        self.tools = dict(tools or {})
        self.max_internal_steps = max_internal_steps
        super().__init__(name, model, user_profile, scenario, **kwargs)

    def _create_simulator(self) -> LLMSimulator[Any]:
        definitions = [_definition(fn, name) for name, fn in self.tools.items()]
        return AgenticUserLLMSimulator(**self._simulator_settings(), tools=definitions)

    def _generate(self, entry: dict[str, object]) -> str:
        history = self.messages.to_list()
        steps: list[JsonObject] = []
        entry["internal_steps"] = steps
        for number in range(1, self.max_internal_steps + 1):
            text, tool_calls = self.simulator(conversation_history=list(history))
            step: JsonObject = {"step": number, "thought": text, "tool_calls": tool_calls}
            steps.append(step)
            if not tool_calls:
                break
            step["tool_outputs"] = [self._use(call) for call in tool_calls]
            # For its own model alone: the agent hears only the last message.
            history.extend(_as_messages(step))
        else:
            entry["status"], text = "max_internal_steps_reached", OUT_OF_STEPS
        entry["final_response"] = text[:200]
        return str(text)

    def _use(self, call: JsonObject) -> JsonObject:
        name, arguments = str(call.get("name")), call.get("arguments") or {}
        output: JsonObject = {"name": name, "arguments": arguments, "status": "error"}
        if name not in self.tools:
            return {**output, "result": f"Error: Tool '{name}' not found"}
        try:
            result = self.tools[name](**arguments)
        except (TaskTimeoutError, ProviderError):
            raise
        except Exception as error:  # a model made the call: what went wrong is for it to read
            return {**output, "result": f"Error: {error}"}
        return {**output, "result": str(result), "status": "success"}


def _check_stopping(stop_tokens: list[str] | None, condition: str | None) -> None:
    if bool(stop_tokens) != (condition is not None):
        raise ConfigurationError(
            "stop_tokens and early_stopping_condition must both be set or both be None, not "
            f"{stop_tokens!r} and {condition!r}"
        )
    if "" in (stop_tokens or ()):
        raise ConfigurationError(f"an empty stop token is in every text: {stop_tokens!r}")


def _definition(fn: Callable[..., object], name: str) -> dict[str, object]:
    function = tool_definition(fn, name=name)["function"]
    properties = function["parameters"]["properties"]
    return {
        "name": name,
        "description": function["description"],
        "inputs": {argument: _input(argument, schema) for argument, schema in properties.items()},
    }


def _input(argument: str, schema: JsonObject) -> dict[str, str]:
    alternatives = [schema, *schema.get("anyOf", ())]
    types = [kind["type"] for kind in alternatives if kind.get("type", "null") != "null"]
    description = schema.get("description", f"Parameter {argument}")
    return {"type": types[0] if types else "string", "description": description}


def _as_messages(step: JsonObject) -> list[Message]:
    spoken = [step["thought"]]
    spoken += [f"Tool Output [{o['name']}]: {o['result']}" for o in step["tool_outputs"]]
    return [{"role": "user", "content": text} for text in spoken]
