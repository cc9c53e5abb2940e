"""tau2 with an agent that knows its tools only through MCP: an MCP client and OpenAI's SDK.

    pip install '.[mcp,openai]'
    python examples/tau2_benchmark/tau2_mcp.py --scripted
    python examples/tau2_benchmark/tau2_mcp.py --model gpt-4.1 --user-model gpt-4.1

The tools are served for as long as the agent has its turn. An agent in another process would be
given the address instead; one that is no program of yours plays by `maseval tau2 mcp`.
"""

import json
from typing import Any

from rehearse import main, needing

from maseval import MessageHistory, TokenUsage
from maseval.benchmark.tau2 import AgentBrief
from maseval.core.event_loop import run_async
from maseval.interface.agents.framework import FrameworkAgentAdapter
from maseval.interface.agents.mcp import serve_tools

with needing("mcp,openai"):
    from mcp import Client
    from openai import AsyncOpenAI


class McpClientAgent(FrameworkAgentAdapter):
    """Asks a model, makes the calls it wants by MCP, and answers with its words."""

    module, extra = "mcp", "mcp"

    def __init__(self, brief: AgentBrief) -> None:
        super().__init__(brief, "mcp_client", model_id=brief.model.name)
        self.messages = MessageHistory()
        self.messages.add_message("system", brief.policy)
        self.usage = TokenUsage()

    def _run_framework(self, query: str) -> str:
        self.messages.add_message("user", query)
        with serve_tools(self.agent.tools) as served:
            return run_async(self._turn(served.url))

    async def _turn(self, url: str) -> str:
        model = self.agent.model
        async with (
            Client(url) as tools,
            AsyncOpenAI(base_url=model.base_url, api_key=model.api_key) as llm,
        ):
            offered = [_as_openai_has_it(tool) for tool in (await tools.list_tools()).tools]
            while True:
                answer = await llm.chat.completions.create(
                    model=model.name, messages=self.messages.to_openai_format(), tools=offered
                )
                self._count(answer.usage)
                message = answer.choices[0].message
                if not message.tool_calls:
                    self.messages.add_message("assistant", message.content or "")
                    return message.content or ""
                calls = [call.model_dump() for call in message.tool_calls]
                self.messages.add_tool_call(calls, message.content)
                for call in message.tool_calls:
                    arguments = json.loads(call.function.arguments or "{}")
                    result = await tools.call_tool(call.function.name, arguments)
                    self.messages.add_tool_response(call.id, result.content[0].text)

    def _count(self, used: Any) -> None:
        if used:
            asked, answered = used.prompt_tokens, used.completion_tokens
            self.usage += TokenUsage(
                input_tokens=asked, output_tokens=answered, total_tokens=asked + answered
            )

    def _gather_usage(self) -> TokenUsage:
        return self.usage


def _as_openai_has_it(tool: Any) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    }
    return {"type": "function", "function": function}


def agent(brief: AgentBrief) -> McpClientAgent:
    return McpClientAgent(brief)


if __name__ == "__main__":
    main(agent)
