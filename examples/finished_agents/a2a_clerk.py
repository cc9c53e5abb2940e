"""A finished agent that speaks A2A and calls no tool: `python a2a_clerk.py 9000` serves it.

It needs `pip install 'a2a-sdk[http-server]' uvicorn`.
"""

import json
import os
import sys

import uvicorn
from a2a.helpers import new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface
from starlette.applications import Starlette

LINES = json.loads(os.environ.get("CLERK_LINES", '["I am sorry, I cannot help you."]'))
turns = {}


class Clerk(AgentExecutor):
    async def execute(self, context, queue):
        turn = turns[context.context_id] = turns.get(context.context_id, -1) + 1
        text = LINES[min(turn, len(LINES) - 1)]
        await queue.enqueue_event(new_text_message(text, context_id=context.context_id))

    async def cancel(self, context, queue):
        pass


port = int(sys.argv[1])
where = AgentInterface(
    url=f"http://127.0.0.1:{port}/", protocol_binding="JSONRPC", protocol_version="1.0"
)
card = AgentCard(
    name="clerk",
    description="A clerk.",
    version="1",
    supported_interfaces=[where],
    capabilities=AgentCapabilities(streaming=True),
)
handler = DefaultRequestHandler(Clerk(), InMemoryTaskStore(), card)
routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")]
uvicorn.run(Starlette(routes=routes), port=port)
