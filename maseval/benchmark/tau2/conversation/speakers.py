"""Agents and users that give one message at a time: a text, or tool calls.

The orchestrator asks them with ``reply`` and carries out the calls itself. In a loop that only
exchanges texts they make the calls through their own ``tools``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from maseval.benchmark.tau2.conversation.chat import answer_of, as_history, to_chat
from maseval.benchmark.tau2.conversation.messages import (
    assistant_message,
    has_text,
    is_tool_call,
    is_user_stop,
    user_message,
)
from maseval.benchmark.tau2.formats.message import SpokenMessage, Tau2Message
from maseval.core.agent import AgentAdapter
from maseval.core.exceptions import AgentError, UserError, UserExhaustedError
from maseval.core.messages import MessageHistory
from maseval.core.user import User

_MAX_TOOL_ROUNDS = 100


class QuestionRecorder(Protocol):
    """Records what an agent asks the user in the midst of its own turn."""

    def question(self, text: str, reply: Callable[[Sequence[Tau2Message]], SpokenMessage]) -> str:
        """The user's answer to a question, its tool calls carried out on the way."""


class TooManyToolCallsError(AgentError):
    """The agent kept calling tools without answering."""


class MessageAgent(ABC):
    """An agent that in every turn either speaks to the user or calls tools.

    The run loop asks for one message at a time (``reply``) and carries out the calls itself.
    ``run`` does a whole turn, text against text, and makes the calls through ``tools``.
    """

    def __init__(
        self, tools: Mapping[str, Callable[..., object]], max_tool_calls: int | None = 50
    ) -> None:
        self.tools = dict(tools)
        self.max_tool_calls = max_tool_calls
        self._messages: list[Tau2Message] = []
        self._calls_in_turn = 0

    @abstractmethod
    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        """What the agent says or does next, given all it has seen."""

    def begin(self, history: Sequence[Tau2Message]) -> None:
        """Start anew, with what the agent has seen of a task's own history."""
        self._messages = list(history)

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        """The agent's next message: a text, or tool calls."""
        self._hear(incoming)
        message = self._answer(self._messages)
        self._say(message)
        return message

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        """Take a message of an earlier conversation for the agent's own answer."""
        self._hear(incoming)
        self._say(message)

    def _hear(self, incoming: Sequence[Tau2Message]) -> None:
        if not incoming or incoming[-1]["role"] == "user":
            self._calls_in_turn = 0
        self._messages.extend(incoming)

    def _say(self, message: SpokenMessage) -> None:
        self._messages.append(message)
        self._count(message)

    def _count(self, message: SpokenMessage) -> None:
        self._calls_in_turn += len(message.get("tool_calls") or ())
        if self.max_tool_calls is not None and self._calls_in_turn > self.max_tool_calls:
            raise TooManyToolCallsError(
                f"the agent made {self._calls_in_turn} tool calls in one turn without answering; "
                f"max_tool_calls is {self.max_tool_calls}",
                component="default_agent",
            )

    def is_stop(self, message: SpokenMessage) -> bool:
        """Whether the message ends the conversation; most agents leave that to the user."""
        return False

    def run(self, query: str) -> str:
        """Answer a user's message, calling tools until the agent speaks."""
        answer = self.reply([user_message(query)])
        while (calls := answer.get("tool_calls")) is not None:
            answer = self.reply([answer_of(self.tools, call) for call in calls])
        return answer["content"] or ""

    def reset(self) -> None:
        """Forget the conversation."""
        self._messages = []

    def get_messages(self) -> list[Tau2Message]:
        """The conversation as the agent has seen it."""
        return list(self._messages)


class MessageAgentAdapter(AgentAdapter):
    """An agent that gives one message at a time, as the engine sees it."""

    agent: MessageAgent

    def begin(self, history: Sequence[Tau2Message]) -> None:
        """Start anew."""
        self.agent.begin(history)

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        """The agent's next message; callbacks are called for whole turns, from query to answer."""
        self._note_start(incoming)
        message = self.agent.reply(incoming)
        self._note_end(message)
        return message

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        """Take a message of an earlier conversation for the agent's own answer."""
        self._note_start(incoming)
        self.agent.recall(incoming, message)
        self._note_end(message)

    def _note_start(self, incoming: Sequence[Tau2Message]) -> None:
        if not incoming or incoming[-1]["role"] == "user":
            for callback in self.callbacks:
                callback.on_run_start(self)

    def _note_end(self, message: SpokenMessage) -> None:
        if not is_tool_call(message):
            for callback in self.callbacks:
                callback.on_run_end(self, message["content"])

    def is_stop(self, message: SpokenMessage) -> bool:
        """Whether the agent's message ends the conversation."""
        return self.agent.is_stop(message)

    def _run_agent(self, query: str) -> str:
        return self.agent.run(query)

    def get_messages(self) -> MessageHistory:
        """The conversation as the agent has seen it, in OpenAI's form."""
        return MessageHistory(to_chat(self.agent.get_messages()))

    def gather_traces(self) -> dict[str, object]:
        return {**super().gather_traces(), "adapter_type": type(self).__name__}


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
        self.listener: QuestionRecorder | None = None

    @property
    def _stopped(self) -> bool:
        """``stopped``, as subclasses written for MASEval call it."""
        return self.stopped

    @_stopped.setter
    def _stopped(self, stopped: bool) -> None:
        self.stopped = stopped

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
        self._hear(incoming)
        message = self._answer(self.messages)
        self._say(message)
        return message

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        """Take a message of an earlier conversation for the user's own answer."""
        self._hear(incoming)
        self._say(message)

    def _hear(self, incoming: Sequence[Tau2Message]) -> None:
        self.messages.extend(message for message in incoming if self._hears(message))

    def _say(self, message: SpokenMessage) -> None:
        self.messages.append(message)
        self.stopped = is_user_stop(message)
        self.turns += not is_tool_call(message)

    def _hears(self, message: Tau2Message) -> bool:
        return not self.skips_blank_messages or message["role"] == "tool" or has_text(message)

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
        if self.is_done():
            self.stopped = True
            if self.exhausted_response is not None:
                return self.exhausted_response
            raise UserExhaustedError(
                f"the user has nothing more to say after {self.turns} turns", component="user"
            )
        if self.listener is not None:
            return self.listener.question(message, self.reply)
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
        return {
            **super().gather_traces(),
            "max_turns": self.max_turns,
            "turns_used": self.turns,
            "stopped_by_user": self.stopped,
            "message_count": len(self.messages),
            "messages": as_history(self.messages),
        }
