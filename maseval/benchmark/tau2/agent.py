"""DefaultTau2Agent: the reference agent, a model with the domain's policy and tools.

``MessageAgent`` is the base of every agent that gives one message at a time: a text, or tool calls.
The orchestrator asks it with ``reply`` and carries out the calls itself. In a loop that only
exchanges texts, the agent makes the calls through its own ``tools``.

After tau2-bench v0.2.0, src/tau2/agent/llm_agent.py (MIT, Sierra Research).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from maseval.benchmark.tau2.formats.message import (
    STOP,
    Reply,
    SpokenMessage,
    Tau2Message,
    assistant_message,
    calls_of,
    is_tool_call,
    reply_facts,
    to_chat,
    user_message,
)
from maseval.benchmark.tau2.texts.original import Wording
from maseval.benchmark.tau2.wording import OURS
from maseval.benchmark.tau2.world.world import answer_call
from maseval.core.agent import AgentAdapter, AgentObserver
from maseval.core.clock import acting_as
from maseval.core.exceptions import AgentError
from maseval.core.messages import ChatResponse, Message, MessageHistory
from maseval.core.model import ModelAdapter
from maseval.core.storage.redaction import redact
from maseval.core.tool import tool_definition
from maseval.core.words import shorten_line

_LINE = 100


class NobodyListensError(AgentError, ValueError):
    """The agent answered with text in solo mode, where there is no user."""


SORRY = (
    "I'm sorry, I have used all the steps that I may take for one message and have no answer yet."
)
"""The answer of an agent that has made ``max_tool_calls`` calls in one turn."""


class MessageAgent(ABC):
    """An agent that in every turn either speaks to the user or calls tools.

    The run loop asks for one message at a time (``reply``) and carries out the calls itself.
    ``run`` does a whole turn, text against text, and makes the calls through ``tools``. After
    ``max_tool_calls`` calls in a turn the model is not asked again, and the agent apologises.
    In a run, ``listener`` makes and records the calls of such a turn.
    """

    listener: Callable[[str, Reply], str] | None = None

    def __init__(
        self, tools: Mapping[str, Callable[..., object]], max_tool_calls: int | None = 50
    ) -> None:
        self.tools = dict(tools)
        self.max_tool_calls = max_tool_calls
        self._messages: list[Tau2Message] = []
        self._calls_in_turn = 0

    @abstractmethod
    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        """Return the agent's next message, given all it has seen."""

    def begin(self, history: Sequence[Tau2Message]) -> None:
        """Start anew, with what the agent has seen of a task's own history."""
        self.reset()
        self._messages = list(history)

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        """Return the agent's next message: a text, or tool calls."""
        self._hear(incoming)
        return self._excuse() or self._say(self._answer(self._messages))

    async def reply_async(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        """Return the next message, and leave the event loop free while a model answers."""
        self._hear(incoming)
        return self._excuse() or self._say(await self._answer_async(self._messages))

    async def _answer_async(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        return self._answer(messages)

    def _excuse(self) -> SpokenMessage | None:
        """Return the answer of an agent that may make no further calls in this turn."""
        limit = self.max_tool_calls
        if limit is None or self._calls_in_turn < limit:
            return None
        return assistant_message(SORRY, cost=0.0)

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        """Take a message of an earlier conversation for the agent's own answer."""
        self._hear(incoming)
        self._say(message)

    def _hear(self, incoming: Sequence[Tau2Message]) -> None:
        # Words of the user begin a new turn, and results of tools do not. An agent that works alone
        # hears nothing before its first turn.
        if not incoming or incoming[-1]["role"] == "user":
            self._calls_in_turn = 0
        self._messages.extend(incoming)

    def _say(self, message: SpokenMessage) -> SpokenMessage:
        self._messages.append(message)
        self._calls_in_turn += len(message.get("tool_calls") or ())
        return message

    def is_stop(self, message: SpokenMessage) -> bool:
        """Return True if the message ends the conversation; most agents leave that to the user."""
        return False

    def run(self, query: str) -> str:
        """Answer a user's message, calling tools until the agent speaks."""
        if self.listener is not None:
            return self.listener(query, self.reply)
        answer = self.reply([user_message(query)])
        while (calls := answer.get("tool_calls")) is not None:
            answer = self.reply([answer_call(self.tools, call) for call in calls])
        return answer["content"] or ""

    def answer_apart(self, question: str) -> str:
        """Answer a question that is no part of the conversation, and is forgotten at once."""
        return self._answer([*self._messages, user_message(question)])["content"] or ""

    def reset(self) -> None:
        self._messages = []

    def get_messages(self) -> list[Message]:
        """Return the conversation as the agent has seen it, in OpenAI's form."""
        return to_chat(self._messages)


class MessageAgentAdapter(AgentAdapter):
    """An agent that gives one message at a time, as the engine sees it."""

    agent: MessageAgent

    def begin(self, history: Sequence[Tau2Message]) -> None:
        self.agent.begin(history)

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        """Return the agent's next message; callbacks see whole turns, from query to answer."""
        self._note_start(incoming)
        with acting_as(self.name):
            message = self.agent.reply(incoming)
        return self._note_end(message)

    async def reply_async(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        self._note_start(incoming)
        with acting_as(self.name):
            message = await self.agent.reply_async(incoming)
        return self._note_end(message)

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        self._note_start(incoming)
        self.agent.recall(incoming, message)
        self._note_end(message)

    # To callbacks a whole turn is one run, from the user's words to the agent's, however many tools
    # are called on the way.
    def _note_start(self, incoming: Sequence[Tau2Message]) -> None:
        if not incoming or incoming[-1]["role"] == "user":
            for callback in self.callbacks:
                callback.on_run_start(self)

    def _note_end(self, message: SpokenMessage) -> SpokenMessage:
        for callback in self.callbacks if not is_tool_call(message) else ():
            callback.on_run_end(self, message["content"])
        return message

    def is_stop(self, message: SpokenMessage) -> bool:
        return self.agent.is_stop(message)

    def _run_agent(self, query: str) -> str:
        return self.agent.run(query)

    def get_messages(self) -> MessageHistory:
        return MessageHistory(self.agent.get_messages())

    def gather_traces(self) -> dict[str, object]:
        return {**super().gather_traces(), "adapter_type": type(self).__name__}


class DefaultTau2Agent(MessageAgent):
    """The reference agent: a model with the domain's policy and tools.

    With ``verbose`` it prints what it does: 1 shows tool calls and answers in a line each, 2 all
    that it reads and writes, with arguments and results.
    """

    tool_choice = "auto"

    def __init__(
        self,
        tools: Mapping[str, Callable[..., object]],
        policy: str,
        model: ModelAdapter,
        llm_args: Mapping[str, object] | None = None,
        max_tool_calls: int | None = 50,
        verbose: int = 0,
        *,
        tool_definitions: Sequence[dict[str, Any]] | None = None,
        system_prompt: str | None = None,
        wording: Wording = OURS,
    ) -> None:
        super().__init__(tools, max_tool_calls)
        self.policy = policy
        self.model = model
        self.llm_args = dict(llm_args or {})
        self.verbose = verbose
        self.tool_definitions = (
            list(tool_definitions)
            if tool_definitions is not None
            else [tool_definition(tool, name=name) for name, tool in self.tools.items()]
        )
        self.wording = wording
        self.system_prompt = system_prompt or wording.agent_prompt(policy)

    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        message = self._message(self.model.chat(**self._request(messages)))
        self._show(message)
        return message

    async def _answer_async(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        message = self._message(await self.model.chat_async(**self._request(messages)))
        self._show(message)
        return message

    def _request(self, messages: Sequence[Tau2Message]) -> dict[str, Any]:
        return {
            "messages": [
                {"role": "system", "content": self.system_prompt},
                *self.wording.chat(messages),
            ],
            "generation_params": self.llm_args,
            "tools": self.tool_definitions or None,
            # Providers refuse a choice among no tools.
            "tool_choice": self.tool_choice if self.tool_definitions else None,
        }

    def _message(self, response: ChatResponse) -> SpokenMessage:
        return assistant_message(
            response.content, tool_calls=calls_of(response, "assistant"), **reply_facts(response)
        )

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        if self.verbose > 1:
            for message in incoming:
                print(f"[{message['role']}] {message.get('content') or ''}")
        return super().reply(incoming)

    def _show(self, message: SpokenMessage) -> None:
        if not self.verbose:
            return
        whole, text = self.verbose > 1, message["content"] or ""
        if text:
            print(f"[agent] {text if whole else shorten_line(text, _LINE)}")
        for call in message["tool_calls"] or ():
            arguments = json.dumps(call["arguments"], ensure_ascii=False)
            shown = arguments if whole else shorten_line(arguments, _LINE)
            print(f"[agent] calls {call['name']}({shown})")


class SoloAgent(DefaultTau2Agent):
    """Works from a ticket, with nobody to talk to, until it calls ``done``."""

    tool_choice = "required"

    def _message(self, response: ChatResponse) -> SpokenMessage:
        message = super()._message(response)
        if not is_tool_call(message):  # also one that writes the word of ``done`` itself
            raise NobodyListensError("LLMSoloAgent only supports tool calls.")
        if any(call["name"] == DONE["function"]["name"] for call in message["tool_calls"] or ()):
            # As in the original, the call becomes the stop word, so that no call is left without an
            # answer.
            return {**message, "content": STOP, "tool_calls": None}
        return message

    def is_stop(self, message: SpokenMessage) -> bool:
        """Return True if the agent has called ``done``, or writes its word beside other calls."""
        return STOP in (message["content"] or "")


DONE: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "done",
        "description": "Say that the ticket is settled, or that nothing more can be done for it.",
        "parameters": {"properties": {}, "title": "parameters", "type": "object"},
    },
}


class DefaultTau2AgentAdapter(MessageAgentAdapter):
    """The reference agent as the engine sees it."""

    agent: DefaultTau2Agent

    def __init__(
        self,
        agent: DefaultTau2Agent,
        name: str = "default_agent",
        callbacks: Iterable[AgentObserver] | None = None,
    ) -> None:
        super().__init__(agent, name, callbacks)

    def gather_config(self) -> dict[str, object]:
        policy = self.agent.model.reasoning_policy  # told if the experiment differs by it
        usual = policy == self.agent.model.default_reasoning_policy
        return {
            **super().gather_config(),
            "model_id": self.agent.model.model_id,
            "llm_args": redact(self.agent.llm_args),
            "max_tool_calls": self.agent.max_tool_calls,
            "tool_names": [tool["function"]["name"] for tool in self.agent.tool_definitions],
            **({} if usual else {"reasoning_policy": str(policy)}),
        }
