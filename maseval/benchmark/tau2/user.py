"""Tau2User: the simulated customer.

``MessageUser`` is the base of every user that gives one message at a time: a text, or tool calls.

After tau2-bench v0.2.0, src/tau2/user/user_simulator.py (MIT, Sierra Research).
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from maseval.benchmark.tau2.data_loader import load_guidelines
from maseval.benchmark.tau2.formats.message import (
    OUT_OF_SCOPE,
    STOP,
    TRANSFER,
    Reply,
    SpokenMessage,
    Tau2Message,
    assistant_message,
    calls_of,
    has_text,
    is_tool_call,
    is_user_stop,
    message_text,
    reply_facts,
    to_history,
    user_message,
)
from maseval.benchmark.tau2.texts.original import Wording
from maseval.benchmark.tau2.wording import OURS
from maseval.benchmark.tau2.world.world import answer_call
from maseval.core.clock import acting_as
from maseval.core.exceptions import UserError, UserExhaustedError
from maseval.core.messages import ChatResponse
from maseval.core.model import ModelAdapter
from maseval.core.provider_errors import model_of
from maseval.core.storage.redaction import redact
from maseval.core.tool import tool_definition
from maseval.core.user import User
from maseval.core.words import count_of

# A model that does nothing but call tools would keep the agent waiting for ever.
_MAX_TOOL_ROUNDS = 100


class MessageUser(User):
    """A customer that in every turn either speaks to the agent or uses its own tools.

    The run loop asks for one message at a time (``reply``) and carries out the tool calls itself.
    ``respond`` is the same for a loop that only exchanges texts: there the user makes its calls
    through ``tools``. During a simulation, ``respond`` is how an agent asks the user in the midst
    of its own turn; ``listener`` then records what both say and do.
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
        self.skips_blank_messages = False
        self.listener: Callable[[str, Reply], str] | None = None

    @property
    def _stopped(self) -> bool:
        """``stopped``, as subclasses written for MASEval call it."""
        return self.stopped

    @_stopped.setter
    def _stopped(self, stopped: bool) -> None:
        self.stopped = stopped

    @abstractmethod
    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        """Return the user's next message, given all it has seen."""

    # One message at a time, as the run loop asks for it.

    def begin(self, history: Sequence[Tau2Message]) -> None:
        """Start anew, with what the user has seen of a task's own history."""
        self.messages = list(history)
        self.turns, self.stopped = 0, False

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        """Return the user's next message: a text, or tool calls."""
        self._hear(incoming)
        with acting_as("user"):
            return self._say(self._answer(self.messages))

    async def reply_async(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        """Return the next message, and leave the event loop free while a model answers."""
        self._hear(incoming)
        with acting_as("user"):
            return self._say(await self._answer_async(self.messages))

    async def _answer_async(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        return self._answer(messages)

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        """Take a message of an earlier conversation for the user's own answer."""
        self._hear(incoming)
        self._say(message)

    def _hear(self, incoming: Sequence[Tau2Message]) -> None:
        self.messages.extend(
            message
            for message in incoming
            if not self.skips_blank_messages or message["role"] == "tool" or has_text(message)
        )

    def _say(self, message: SpokenMessage) -> SpokenMessage:
        self.messages.append(message)
        self.stopped = is_user_stop(message)
        self.turns += not is_tool_call(message)
        return message

    def is_stop(self, message: SpokenMessage) -> bool:
        """Return True if the user's message ends the conversation."""
        return is_user_stop(message)

    def has_ended(self, message: SpokenMessage) -> bool:
        """Return True if the user has ended the conversation: with this message, or being done."""
        if is_tool_call(message):
            return False
        # A subclass that has a way of its own to be done decides by that alone.
        by_words = is_user_stop(message) and type(self).is_done is MessageUser.is_done
        return by_words or self.is_done()

    # Text against text, for loops that know nothing of messages.

    def get_initial_query(self) -> str:
        """Return the query that was given to start the conversation with."""
        return self.initial_query

    def inject_greeting(self, greeting: str) -> None:
        """Let the conversation begin with the agent's greeting."""
        self.messages.insert(0, assistant_message(greeting, cost=0.0))

    def respond(self, message: str) -> str:
        """Return the user's answer to an agent's text; tools are called on the way."""
        if self.is_done():
            self.stopped = True
            if self.exhausted_response is not None:
                return self.exhausted_response
            raise UserExhaustedError(
                f"the user has nothing more to say after {count_of(self.turns, 'turn')}",
                component="user",
            )
        if self.listener is not None:
            return self.listener(message, self.reply)
        answer = self.reply([assistant_message(message)])
        for _ in range(_MAX_TOOL_ROUNDS):
            calls = answer.get("tool_calls")
            if calls is None:
                return answer["content"] or ""
            answer = self.reply([answer_call(self.tools, call) for call in calls])
        raise UserError(
            f"the user made tool calls {_MAX_TOOL_ROUNDS} times without saying anything",
            component="user",
        )

    def is_done(self) -> bool:
        """Return True if the user has stopped or used up its turns."""
        return self.stopped or (self.max_turns is not None and self.turns >= self.max_turns)

    def gather_traces(self) -> dict[str, object]:
        return {
            **super().gather_traces(),
            "max_turns": self.max_turns,
            "turns_used": self.turns,
            "stopped_by_user": self.stopped,
            "message_count": len(self.messages),
            "messages": to_history(self.messages),
        }


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
        skips_blank_messages: bool = False,
        wording: Wording = OURS,
    ) -> None:
        super().__init__(initial_query, tools, max_turns, exhausted_response)
        self.skips_blank_messages = skips_blank_messages
        self.model = model
        self.scenario = scenario
        if tool_definitions is None and self.tools:
            named = self.tools.items()
            tool_definitions = [tool_definition(tool, name=name) for name, tool in named]
        self.tool_definitions = list(tool_definitions or ()) or None
        self.llm_args = dict(llm_args or {})
        if guidelines is None:
            guidelines = load_guidelines(with_tools=bool(self.tool_definitions))
        self.wording = wording
        self.system_prompt = wording.user_prompt(guidelines, scenario)

    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        request = self._request(messages)
        with model_of("user"):
            return self._message(self.model.chat(**request))

    async def _answer_async(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        request = self._request(messages)
        with model_of("user"):
            return self._message(await self.model.chat_async(**request))

    def _request(self, messages: Sequence[Tau2Message]) -> dict[str, Any]:
        heard = self.wording.chat(flip_roles(messages))
        return {
            "messages": [{"role": "system", "content": self.system_prompt}, *heard],
            "generation_params": self.llm_args,
            "tools": self.tool_definitions,
            "tool_choice": "auto" if self.tool_definitions else None,
        }

    def _message(self, response: ChatResponse) -> SpokenMessage:
        return user_message(
            response.content, tool_calls=calls_of(response, "user"), **reply_facts(response)
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


def flip_roles(messages: Sequence[Tau2Message]) -> list[Tau2Message]:
    """Return a conversation as the user's model sees it: its own part as the assistant's."""
    return [_flip(message) for message in messages]


def _flip(message: Tau2Message) -> Tau2Message:
    match message["role"]:
        case "user":
            calls, thought = message.get("tool_calls"), message.get("raw_data")
            return assistant_message(message["content"], tool_calls=calls, raw_data=thought)
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
