"""A plain tool loop: one model calls tools until it answers in words.

maseval tau2 run --domain retail --agent examples/systems/tool_loop.py:agent --rehearse gold
"""

import json
from collections.abc import Callable, Mapping

from maseval import AgentAdapter, MessageHistory, ModelAdapter, tool_definition
from maseval.benchmark.tau2 import AgentBrief

INSTRUCTIONS = "You are a customer service agent. Obey this policy:\n\n{policy}"


class ToolLoop(AgentAdapter):
    """A model, its tools, and the conversation so far."""

    def __init__(
        self,
        model: ModelAdapter,
        tools: Mapping[str, Callable[..., str]],
        instructions: str,
        name: str = "agent",
    ) -> None:
        super().__init__(model, name)
        self.tools = tools
        self.messages = MessageHistory()
        self.messages.add_message("system", instructions)

    def _run_agent(self, query: str) -> str:
        self.messages.add_message("user", query)
        offered = [tool_definition(tool, name=name) for name, tool in self.tools.items()]
        while (response := self.agent.chat(self.messages, tools=offered or None)).tool_calls:
            self.messages.add_response(response)
            for call in response.tool_calls:
                self.messages.add_tool_response(call["id"], self._result(**call["function"]))
        self.messages.add_response(response)
        return response.content or ""

    def _result(self, name: str, arguments: str) -> str:
        if name not in self.tools:
            return f"Error: there is no tool {name}"
        return self.tools[name](**json.loads(arguments))


def agent(brief: AgentBrief) -> ToolLoop:
    instructions = INSTRUCTIONS.format(policy=brief.policy)
    return ToolLoop(brief.chat_model(), brief.tools, instructions)
