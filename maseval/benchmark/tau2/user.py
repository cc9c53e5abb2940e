"""Tau2User: the simulated customer.

After tau2-bench v0.2.0, src/tau2/user/user_simulator.py (MIT, Sierra Research).
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from maseval.benchmark.tau2.conversation.chat import answer_of, calls_of, cost_and_usage, to_chat
from maseval.benchmark.tau2.conversation.messages import (
    OUT_OF_SCOPE,
    STOP,
    TRANSFER,
    assistant_message,
    is_tool_call,
    is_user_stop,
    message_text,
    user_message,
)
from maseval.benchmark.tau2.conversation.prompts import user_prompt
from maseval.benchmark.tau2.data_loader import load_guidelines
from maseval.benchmark.tau2.forms.message import SpokenMessage, Tau2Message
from maseval.core.exceptions import UserError, UserExhaustedError
from maseval.core.model import ModelAdapter
from maseval.core.storage.redaction import redact
from maseval.core.tool import tool_definition
from maseval.core.user import User


class MessageUser(User):
    """A customer that in every turn either speaks to the agent or uses its own tools.

    The run loop asks for one message at a time (``reply``) and carries out the tool calls itself.
    ``respond`` is the same for a loop that only exchanges texts: there the user makes its calls
    through ``tools``.
    """

    def __init__(
        self,
        initial_query: str = "",
        tools: Mapping[str, Callable[..., object]] | None = None,
        max_turns: int | None = 50,
        exhausted_response: str | None = None,
    ) -> None:
        self.initial_query = initial_query
        self.tools = dict(tools or {})
        self.max_turns = max_turns
        self.exhausted_response = exhausted_response
        self.messages: list[Tau2Message] = []
        self.turns = 0
        self.stopped = False

    @abstractmethod
    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        """What the user says or does next, given all it has seen."""

    # One message at a time, as the run loop asks for it.

    def begin(self, history: Sequence[Tau2Message]) -> None:
        """Start anew, with what the user has seen of a task's own history."""
        self.messages = list(history)
        self.turns, self.stopped = 0, False

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        """The user's next message: a text, or tool calls."""
        self.messages.extend(incoming)
        message = self._answer(self.messages)
        self.messages.append(message)
        self.stopped = is_user_stop(message)
        return message

    def is_stop(self, message: SpokenMessage) -> bool:
        """Whether the user's message ends the conversation."""
        return is_user_stop(message)

    # Text against text, for loops that know nothing of messages.

    def get_initial_query(self) -> str:
        """The query that was given to start the conversation with."""
        return self.initial_query

    def inject_greeting(self, greeting: str) -> None:
        """Let the conversation begin with the agent's greeting."""
        self.messages.insert(0, assistant_message(greeting, cost=0.0))

    def respond(self, message: str) -> str:
        """The user's answer to an agent's text; tools are called on the way."""
        self.turns += 1
        if self.stopped or (self.max_turns is not None and self.turns > self.max_turns):
            self.stopped = True
            if self.exhausted_response is not None:
                return self.exhausted_response
            raise UserExhaustedError(
                f"the user has nothing more to say after {self.turns - 1} turns", component="user"
            )
        answer = self.reply([assistant_message(message)])
        for _ in range(_MAX_TOOL_ROUNDS):
            calls = answer.get("tool_calls")
            if calls is None:
                return answer["content"] or ""
            answer = self.reply([answer_of(self.tools, call) for call in calls])
        raise UserError(
            f"the user made tool calls {_MAX_TOOL_ROUNDS} times without saying anything",
            component="user",
        )

    def is_done(self) -> bool:
        """Whether the user has stopped or used up its turns."""
        return self.stopped or (self.max_turns is not None and self.turns >= self.max_turns)

    def gather_traces(self) -> dict[str, object]:
        traces = {
            **super().gather_traces(),
            "max_turns": self.max_turns,
            "turns_used": self.turns,
            "stopped_by_user": self.stopped,
            "message_count": len(self.messages),
        }
        # In a run loop the conversation is the environment's trajectory and stands there alone.
        return {**traces, "messages": list(self.messages)} if self.turns else traces


class Tau2User(MessageUser):
    """A customer played by a model, which sees the conversation with the roles exchanged."""

    STOP = STOP
    TRANSFER = TRANSFER
    OUT_OF_SCOPE = OUT_OF_SCOPE

    def __init__(
        self,
        model: ModelAdapter,
        scenario: str,
        initial_query: str = "",
        tools: Mapping[str, Callable[..., object]] | None = None,
        tool_definitions: Sequence[dict[str, Any]] | None = None,
        llm_args: Mapping[str, object] | None = None,
        max_turns: int | None = 50,
        exhausted_response: str | None = None,
        *,
        guidelines: str | None = None,
    ) -> None:
        super().__init__(initial_query, tools, max_turns, exhausted_response)
        self.model = model
        self.scenario = scenario
        if tool_definitions is None and self.tools:
            tool_definitions = [tool_definition(tool) for tool in self.tools.values()]
        self.tool_definitions = list(tool_definitions or ()) or None
        self.llm_args = dict(llm_args or {})
        if guidelines is None:
            guidelines = load_guidelines(with_tools=bool(self.tool_definitions))
        self.system_prompt = user_prompt(guidelines, scenario)

    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        response = self.model.chat(
            [{"role": "system", "content": self.system_prompt}, *to_chat(flipped(messages))],
            generation_params=self.llm_args,
            tools=self.tool_definitions,
            tool_choice="auto" if self.tool_definitions else None,
        )
        return user_message(
            response.content,
            tool_calls=calls_of(response, "user"),
            **cost_and_usage(response),
        )

    def gather_config(self) -> dict[str, object]:
        return {
            **super().gather_config(),
            "model_id": self.model.model_id,
            "llm_args": redact(self.llm_args),
            "scenario": self.scenario,
            "max_turns": self.max_turns,
            "tool_names": [tool["function"]["name"] for tool in self.tool_definitions or ()],
        }


_MAX_TOOL_ROUNDS = 100


def flipped(messages: Sequence[Tau2Message]) -> list[Tau2Message]:
    """A conversation as the user's model sees it: its own part as the assistant's."""
    return [_flipped(message) for message in messages]


def _flipped(message: Tau2Message) -> Tau2Message:
    match message["role"]:
        case "user":
            return assistant_message(message["content"], tool_calls=message.get("tool_calls"))
        case "assistant" if is_tool_call(message):
            raise ValueError(
                f"Tool calls are not supported in the flipped messages: {message_text(message)}"
            )
        case "assistant":
            return user_message(message["content"])
        case "tool" if message.get("requestor", "assistant") == "user":
            return {"role": "tool", "id": message["id"], "content": message["content"]}
        case "tool":
            raise ValueError(
                "Tool messages should be sent to the user in this message history: "
                f"{message_text(message)}"
            )
        case role:
            raise ValueError(f"Unknown message role: {role}")
