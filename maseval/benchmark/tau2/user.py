"""Tau2User: the simulated customer.

After tau2-bench v0.2.0, src/tau2/user/user_simulator.py (MIT, Sierra Research).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from maseval.benchmark.tau2.conversation.chat import calls_of, cost_and_usage
from maseval.benchmark.tau2.conversation.messages import (
    OUT_OF_SCOPE,
    STOP,
    TRANSFER,
    assistant_message,
    is_tool_call,
    message_text,
    user_message,
)
from maseval.benchmark.tau2.conversation.speakers import MessageUser
from maseval.benchmark.tau2.data_loader import load_guidelines
from maseval.benchmark.tau2.formats.message import SpokenMessage, Tau2Message
from maseval.benchmark.tau2.texts.wording import OURS, Wording
from maseval.core.model import ModelAdapter
from maseval.core.provider_errors import model_of
from maseval.core.storage.redaction import redact
from maseval.core.tool import tool_definition


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
        heard = self.wording.chat(flipped(messages))
        with model_of("user"):
            response = self.model.chat(
                [{"role": "system", "content": self.system_prompt}, *heard],
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
