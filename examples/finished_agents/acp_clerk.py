"""A finished agent that speaks ACP: a tool loop over chat completions.

It needs `pip install agent-client-protocol mcp openai`.
"""

import asyncio
import json
import os

from acp import (
    Agent,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    run_agent,
    update_agent_message_text,
)
from acp.schema import AgentCapabilities, McpCapabilities
from mcp import Client
from openai import AsyncOpenAI


class Clerk(Agent):
    def on_connect(self, conn):
        self.conn = conn

    async def initialize(self, protocol_version, **more):
        http = AgentCapabilities(mcp_capabilities=McpCapabilities(http=True))
        return InitializeResponse(protocol_version=1, agent_capabilities=http)

    async def new_session(self, cwd, mcp_servers=None, **more):
        self.url, self.said = (mcp_servers[0].url if mcp_servers else None), []
        return NewSessionResponse(session_id="the only one")

    async def prompt(self, session_id, prompt, **more):
        self.said += [{"role": "user", "content": each.text} for each in prompt]
        async with Client(self.url) as tools, AsyncOpenAI() as model:
            names = [
                {"name": t.name, "description": t.description, "parameters": t.input_schema}
                for t in (await tools.list_tools()).tools
            ]
            offered = [{"type": "function", "function": each} for each in names]
            while True:
                answer = await model.chat.completions.create(
                    model=os.environ["OPENAI_MODEL"], messages=self.said, tools=offered
                )
                message = answer.choices[0].message
                self.said.append(message.model_dump(exclude_none=True))
                for call in message.tool_calls or ():
                    wanted = json.loads(call.function.arguments)
                    result = await tools.call_tool(call.function.name, wanted)
                    self.said.append(
                        {"role": "tool", "tool_call_id": call.id, "content": result.content[0].text}
                    )
                if not message.tool_calls:
                    break
        await self.conn.session_update(session_id, update_agent_message_text(message.content))
        return PromptResponse(stop_reason="end_turn")


asyncio.run(run_agent(Clerk()))
