"""An agent of the A2A SDK as a server of its own: it does what the customer's words say.

``a2a_agent.py PORT OPTIONS``: it is version 1.0 unless ``old`` is among the options. ``play`` plays
a script as the agent that speaks ACP does.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import uvicorn
from a2a.helpers import new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as pb
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

PORT, OPTIONS = int(sys.argv[1]), set(sys.argv[2].split(","))
FOLDER = Path(os.environ.get("AGENT_FOLDER", "."))


class Conversation:
    def __init__(self, address: Any, told: Any) -> None:
        self.address, self.told, self.client, self.script = address, told, None, None
        self.act, self.heard = None, []

    async def call(self, name: str, /, **arguments: Any) -> Any:
        if self.client is None:
            from mcp import Client  # it takes long to load, and most tests need none of it

            self.client = await Client(self.address).__aenter__()
        return (await self.client.call_tool(name, arguments)).content[0].text


class Agent(AgentExecutor):
    def __init__(self) -> None:
        self.conversations = {}

    async def execute(self, context: Any, queue: Any) -> None:
        text = context.get_user_input()
        metadata = dict(context.message.metadata)
        talk = self.conversations.setdefault(
            context.context_id, Conversation(metadata.get("maseval/mcp"), text)
        )
        words = text.split("\n\n")[-1].split()
        act = talk.act or getattr(self, words[0], None) or self.play
        answer = await act(talk, context, queue, text)
        if answer is not None and context.current_task:
            updater = TaskUpdater(queue, context.task_id, context.context_id)
            await updater.complete(updater.new_agent_message([pb.Part(text=answer)]))
        elif answer is not None:
            await queue.enqueue_event(new_text_message(answer, context_id=context.context_id))

    async def cancel(self, context: Any, queue: Any) -> None:
        (FOLDER / "cancelled").touch()
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()

    async def task(self, context: Any, queue: Any) -> Any:
        submitted = pb.TaskStatus(state=pb.TASK_STATE_SUBMITTED)
        await queue.enqueue_event(
            context.current_task
            or pb.Task(id=context.task_id, context_id=context.context_id, status=submitted)
        )
        updater = TaskUpdater(queue, context.task_id, context.context_id)
        await updater.start_work(updater.new_agent_message([pb.Part(text="Let me see.")]))
        return updater

    # What a good agent does.

    async def play(self, talk: Any, context: Any, queue: Any, text: str) -> Any:
        if talk.script is None:
            scripts = json.loads((FOLDER / "scripts.json").read_text())
            key = text.partition("<policy>\n")[2].partition("\n</policy>")[0]
            turns = scripts[key]
            if "text" in OPTIONS:
                turns = [step for *calls, said in turns for step in (*calls, said)]
            talk.script = iter(turns)
        step = next(talk.script)
        if "text" in OPTIONS:
            name, arguments = ("respond", {"content": step}) if isinstance(step, str) else step
            return f"<json>{json.dumps({'name': name, 'arguments': arguments})}</json>"
        *calls, said = step
        for tool, arguments in calls:
            await talk.call(tool, **arguments)
        return said

    async def weigh(self, talk: Any, context: Any, queue: Any, text: str) -> None:
        updater = await self.task(context, queue)
        weight = await talk.call("weigh", item="tea")
        await updater.add_artifact([pb.Part(text=f"It weighs {weight}")])
        await updater.complete()

    async def ask_back(self, talk: Any, context: Any, queue: Any, text: str) -> None:
        updater = await self.task(context, queue)
        message = updater.new_agent_message([pb.Part(text=f"Which? ({context.task_id})")])
        await updater.requires_input(message)

    async def which_task(self, talk: Any, context: Any, queue: Any, text: str) -> str:
        return f"{context.task_id} {context.context_id}"

    async def told_first(self, talk: Any, context: Any, queue: Any, text: str) -> Any:
        return talk.told

    async def typed(self, talk: Any, context: Any, queue: Any, text: str) -> Any:
        """Say one thing after the other, whatever comes, and write down what comes."""
        talk.act = self.typed
        talk.heard.append(text)
        (FOLDER / "heard.json").write_text(json.dumps(talk.heard))
        return TYPED[len(talk.heard) - 1]

    # What nobody asked for.

    async def picture(self, talk: Any, context: Any, queue: Any, text: str) -> None:
        updater = await self.task(context, queue)
        await updater.add_artifact([pb.Part(raw=b"\x89PNG", media_type="image/png")])
        await updater.complete()

    async def refuse(self, talk: Any, context: Any, queue: Any, text: str) -> None:
        updater = await self.task(context, queue)
        await updater.failed(updater.new_agent_message([pb.Part(text="no tea")]))

    async def crash(self, talk: Any, context: Any, queue: Any, text: str) -> None:
        raise KeyError("tea")

    async def hang(self, talk: Any, context: Any, queue: Any, text: str) -> None:
        await self.task(context, queue)
        await asyncio.sleep(600)


def card() -> Any:
    name = "localhost" if "named" in OPTIONS else "127.0.0.1"
    url = "http://169.254.169.254/rpc" if "elsewhere" in OPTIONS else f"http://{name}:{PORT}/rpc"
    version = "0.3" if "old" in OPTIONS else "1.0"
    interface = pb.AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=version)
    return pb.AgentCard(
        name="clerk",
        description="sells tea",
        version="1.2",
        supported_interfaces=[interface],
        capabilities=pb.AgentCapabilities(streaming="whole" not in OPTIONS),
        default_input_modes=["text"],
        default_output_modes=["text"],
        skills=[pb.AgentSkill(id="sell", name="sell", description="sell", tags=["tea"])],
    )


async def bad(request: Any) -> Any:
    if "gateway" in OPTIONS:
        return Response("busy", 503)
    if "redirect" in OPTIONS:
        return RedirectResponse("http://169.254.169.254/latest", 307)
    if "endless" in OPTIONS:
        return StreamingResponse(b" " * 2**20 for _ in range(100_000))
    return JSONResponse(["nonsense"])


handler = DefaultRequestHandler(Agent(), InMemoryTaskStore(), card())
routes = create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat="old" in OPTIONS)
if OPTIONS & {"gateway", "redirect", "endless", "nonsense"}:
    routes = [Route("/rpc", bad, methods=["POST"])]
app = Starlette(routes=[*routes, *create_agent_card_routes(card())])
TYPED = json.loads(os.environ.get("AGENT_TYPED", "[]"))
uvicorn.run(app, port=PORT, log_level="warning")
