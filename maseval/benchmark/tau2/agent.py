"""DefaultTau2Agent: the reference agent, a model with the domain's policy and tools.

After tau2-bench v0.2.0, src/tau2/agent/llm_agent.py (MIT, Sierra Research).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from maseval.benchmark.tau2.conversation.chat import calls_of, cost_and_usage
from maseval.benchmark.tau2.conversation.messages import (
    STOP,
    assistant_message,
    is_tool_call,
)
from maseval.benchmark.tau2.conversation.orchestrator import NobodyListensError
from maseval.benchmark.tau2.conversation.speakers import MessageAgent, MessageAgentAdapter
from maseval.benchmark.tau2.formats.message import SpokenMessage, Tau2Message
from maseval.benchmark.tau2.texts.wording import OURS, Wording
from maseval.core.agent import AgentObserver
from maseval.core.messages import ChatResponse
from maseval.core.model import ModelAdapter
from maseval.core.storage.redaction import redact
from maseval.core.tool import tool_definition

_LINE = 100


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
        response = self.model.chat(
            [{"role": "system", "content": self.system_prompt}, *self.wording.chat(messages)],
            generation_params=self.llm_args,
            tools=self.tool_definitions or None,
            tool_choice=self.tool_choice if self.tool_definitions else None,
        )
        message = self._message(response)
        self._show(message)
        return message

    def _message(self, response: ChatResponse) -> SpokenMessage:
        return assistant_message(
            response.content,
            tool_calls=calls_of(response, "assistant"),
            **cost_and_usage(response),
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
            print(f"[agent] {text if whole else _in_brief(text)}")
        for call in message["tool_calls"] or ():
            arguments = json.dumps(call["arguments"], ensure_ascii=False)
            print(f"[agent] calls {call['name']}({arguments if whole else _in_brief(arguments)})")


def _in_brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"


class SoloAgent(DefaultTau2Agent):
    """Works from a ticket, with nobody to talk to, until it calls ``done``."""

    tool_choice = "required"

    def _message(self, response: ChatResponse) -> SpokenMessage:
        message = super()._message(response)
        if not is_tool_call(message):  # also one that writes the word of ``done`` itself
            raise NobodyListensError("LLMSoloAgent only supports tool calls.")
        if any(call["name"] == DONE["function"]["name"] for call in message["tool_calls"] or ()):
            return {**message, "content": STOP, "tool_calls": None}
        return message

    def is_stop(self, message: SpokenMessage) -> bool:
        """Whether the agent has called ``done``."""
        return not is_tool_call(message) and STOP in (message["content"] or "")


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
        return {
            **super().gather_config(),
            "model_id": self.agent.model.model_id,
            "llm_args": redact(self.agent.llm_args),
            "max_tool_calls": self.agent.max_tool_calls,
            "tool_names": [tool["function"]["name"] for tool in self.agent.tool_definitions],
        }
