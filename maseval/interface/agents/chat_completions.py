"""ChatCompletionsAgentAdapter: an agent served as OpenAI chat completions.

Such an agent may call its tools itself, for example through MCP, and only answer. If it requests a
tool call instead, as a bare model does, the call is made here and its result sent back.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from maseval.core.agent import AgentAdapter, AgentObserver
from maseval.core.clock import Clock
from maseval.core.context import TaskContext
from maseval.core.exceptions import DuplicateComponentError
from maseval.core.messages import ChatResponse, MessageHistory, ToolCall, arguments_of
from maseval.core.model import ModelAdapter
from maseval.core.usage import Usage
from maseval.interface.agents.framework import (
    AgentGaveUpError,
    Tools,
    answer_call,
    describe_tools,
)

MAX_TOOL_CALLS = 100


class ChatCompletionsAgentAdapter(AgentAdapter):
    """An agent behind an HTTP address, called like a model; each turn sends the whole conversation.

    Args:
        model: How to reach it: ``resolve_model("openai/my-agent", base_url="http://...")``.
            Retries, throttling and named errors work as for every model.
        name: The agent's name in reports.
        tools: The functions it may call.
        instructions: Sent as the system message.
        callbacks: Notified when a turn starts and ends.
    """

    agent: ModelAdapter

    def __init__(
        self,
        model: ModelAdapter,
        name: str = "http_agent",
        *,
        tools: Tools | None = None,
        instructions: str | None = None,
        callbacks: Iterable[AgentObserver] | None = None,
    ) -> None:
        super().__init__(model, name, callbacks)
        self.tools = {tool.name: tool for tool in describe_tools(tools or {})}
        self.messages: MessageHistory = MessageHistory()
        if instructions is not None:
            self.messages.add_message("system", instructions)
        self._instructed = len(self.messages)
        self._counted_as_model = False

    def _run_agent(self, query: str) -> str:
        self._register_model()
        self.messages.add_message("user", query)
        calls = 0
        while (response := self._ask()).tool_calls:
            calls += len(response.tool_calls)
            # Each costs a request, and a model that repeats itself would go on for ever.
            if calls > MAX_TOOL_CALLS:
                raise AgentGaveUpError(
                    f"{calls} tool calls in one turn and no answer; {MAX_TOOL_CALLS} are allowed",
                    component=self.name,
                )
            self.messages.add_response(response)
            for call in response.tool_calls:
                self._make(call)
        self.messages.add_response(response)
        return response.content or ""

    def load_messages(self, messages: MessageHistory) -> None:
        """Continue a conversation; the instructions stay."""
        self.messages = MessageHistory([*self.messages.to_list()[: self._instructed], *messages])

    def _ask(self) -> ChatResponse:
        definitions = [tool.definition for tool in self.tools.values()]
        return self.agent.chat(self.messages, tools=definitions or None)

    def _make(self, call: ToolCall) -> None:
        function = call.get("function") or {}
        name = str(function.get("name") or "")
        answer = answer_call(self.tools, name, arguments_of(function.get("arguments")))
        self.messages.add_tool_response(str(call.get("id") or ""), answer, name=name or None)

    def _register_model(self) -> None:
        """Let the running repetition report the model, unless it is registered already."""
        context = Clock.here()
        if isinstance(context, TaskContext):
            # The benchmark may have made the model by ``get_model_adapter``.
            with suppress(DuplicateComponentError):
                context.registry.register("models", f"{self.name}_model", self.agent)
            # The model reports its usage itself, so the agent must not report it once more.
            self._counted_as_model = True

    def _gather_usage(self) -> Usage:
        return Usage() if self._counted_as_model else self.agent.gather_usage()

    def gather_config(self) -> dict[str, Any]:
        return {
            **super().gather_config(),
            "model_id": self.agent.model_id,
            "tool_names": list(self.tools),
        }
