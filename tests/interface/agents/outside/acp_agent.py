"""An agent of the SDK as a program of its own: it does what the customer's words say.

``play`` makes the calls of a script, which the file in argv names, and says its words; the script
is found by the policy. The other words are what an agent may do that nobody asked for.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import acp
from acp.schema import (
    AgentCapabilities,
    Implementation,
    McpCapabilities,
    PermissionOption,
    Usage,
)

FOLDER = Path(os.environ.get("AGENT_FOLDER", "."))
OPTIONS = set(sys.argv[1].split(",")) if len(sys.argv) > 1 else set()


class Session:
    def __init__(self, server: Any) -> None:
        self.server, self.client, self.script = server, None, None
        self.cancelled = asyncio.Event()

    async def tools(self) -> Any:
        if self.client is None:
            from mcp import Client  # it takes long to load, and most tests need none of it

            place = getattr(self.server, "url", None)
            if place is None:
                from mcp import StdioServerParameters
                from mcp.client.stdio import stdio_client

                given = StdioServerParameters(command=self.server.command, args=self.server.args)
                place = stdio_client(given)
            self.client = await Client(place).__aenter__()
        return self.client

    async def call(self, name: str, /, **arguments: Any) -> Any:
        result = await (await self.tools()).call_tool(name, arguments)
        return result.content[0].text


class Agent(acp.Agent):
    def __init__(self) -> None:
        self.sessions = {}

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: Any, **more: Any) -> Any:
        if "mute" in OPTIONS:
            await asyncio.sleep(3600)
        return acp.InitializeResponse(
            protocol_version=7 if "newer" in OPTIONS else protocol_version,
            agent_info=Implementation(name="clerk", version="1.2"),
            agent_capabilities=AgentCapabilities(
                mcp_capabilities=McpCapabilities(http="stdio" not in OPTIONS),
            ),
        )

    async def new_session(self, cwd: Any, mcp_servers: Any = None, **more: Any) -> Any:
        if "locked" in OPTIONS:
            raise acp.RequestError.auth_required()
        name = f"session {len(self.sessions)}"
        self.sessions[name] = Session(mcp_servers[0] if mcp_servers else None)
        return acp.NewSessionResponse(session_id=name)

    async def cancel(self, session_id: Any, **more: Any) -> None:
        (FOLDER / "cancelled").touch()
        self.sessions[session_id].cancelled.set()

    async def prompt(self, session_id: Any, prompt: Any, **more: Any) -> Any:
        session, words = self.sessions[session_id], prompt[-1].text.split()
        self.told = prompt[0].text
        act = getattr(self, words[0], None) or self.play
        act = self.stay if "stubborn" in OPTIONS else act
        stop = await act(session_id, session, *words[1:])
        return acp.PromptResponse(stop_reason=stop or "end_turn", usage=self.usage())

    def usage(self) -> Usage:
        counts = {"cached_read_tokens": 3, "thought_tokens": 4}
        return Usage(input_tokens=10, output_tokens=5, total_tokens=15, **counts)

    async def say(self, name: str, text: str) -> None:
        await self.conn.session_update(name, acp.update_agent_message_text(text))

    async def play(self, name: str, session: Any, *words: Any) -> None:
        if session.script is None:
            scripts = json.loads((FOLDER / "scripts.json").read_text())
            key = self.told.partition("<policy>\n")[2].partition("\n</policy>")[0]
            session.script = iter(scripts[key])
        *calls, text = next(session.script)
        for tool, arguments in calls:
            await session.call(tool, **arguments)
        await self.say(name, text)

    # What a good agent does.

    async def weigh_all(self, name: str, session: Any, number: int) -> None:
        calls = [session.call("weigh", item=str(each)) for each in range(int(number))]
        await self.say(name, str((await asyncio.gather(*calls)).count("1 kg")))

    async def think(self, name: str, session: Any) -> None:
        await self.conn.session_update(name, acp.update_agent_thought_text("Hm."))
        plan = acp.update_plan([acp.plan_entry("look")])
        await self.conn.session_update(name, plan)
        await self.say(name, "I will weigh it.")
        await self.conn.session_update(name, acp.start_tool_call("1", "weigh"))
        weight = await session.call("weigh", item="tea")
        await self.say(name, "It weighs ")
        await self.say(name, weight)

    async def trail_off(self, name: str, session: Any) -> None:
        await self.say(name, "Let me see.")
        await self.conn.session_update(name, acp.start_tool_call("1", "note"))

    async def told_first(self, name: str, session: Any) -> None:
        await self.say(name, self.told)

    async def read_policy(self, name: str, session: Any) -> None:
        tools = await session.tools()
        (prompt,) = (await tools.list_prompts()).prompts
        text = (await tools.get_prompt(prompt.name)).messages[0].content.text
        await self.say(name, f"{tools.instructions} / {text}")

    async def ask(self, name: str, session: Any, kind: Any, *title: Any) -> None:
        options = [
            PermissionOption(option_id=f"{each} it", name=each, kind=each)
            for each in ("allow_always", "allow_once", "reject_once", "reject_always")
        ]
        call = acp.schema.ToolCallUpdate(tool_call_id="1", title=" ".join(title), kind=kind)
        answer = await self.conn.request_permission(name, call, options)
        await self.say(name, answer.outcome.option_id)

    async def give_up(self, name: str, session: Any) -> str:
        return "max_turn_requests"

    # What nobody asked for.

    async def late(self, name: str, session: Any) -> None:
        async def later():
            await asyncio.sleep(0.3)
            self.heard = await session.call("weigh", item="late")

        await session.tools()
        self.working = asyncio.ensure_future(later())
        await self.say(name, "Soon.")

    async def heard_late(self, name: str, session: Any) -> None:
        await self.working
        await self.say(name, self.heard)

    async def flood(self, name: str, session: Any, number: int) -> None:
        """Send so many calls at once, each over a connection of its own."""
        place = urlsplit(session.server.url)
        given = {"name": "weigh", "arguments": {"item": "tea"}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": given}
        body = json.dumps(call).encode()
        head = (
            f"POST {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )

        async def send():
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            writer.write(head.encode() + body)
            answer = await reader.read()
            writer.close()
            return b" 503 " if b" 503 " in answer[:15] else b"1 kg" in answer

        done = await asyncio.gather(*(send() for _ in range(int(number))), return_exceptions=True)
        made, refused = done.count(True), done.count(b" 503 ")
        await self.say(name, f"{made} made, {refused} refused, {len(done)} sent")

    async def pry(self, name: str, session: Any) -> None:
        refused = []
        for work in (
            self.conn.read_text_file(name, "/etc/passwd"),
            self.conn.write_text_file(name, "/tmp/x", "x"),
            self.conn.create_terminal(name, "ls"),
            self.conn.ext_method("anything", {}),
        ):
            try:
                await work
            except acp.RequestError as error:
                refused.append(error.code)
        await self.say("session of another", "I was never there.")
        await self.say(name, f"{refused} {' '.join(sorted(os.environ))}")

    async def shout(self, name: str, session: Any, megabytes: int) -> None:
        os.set_blocking(1, True)
        os.write(
            1, b'"text" \xff\n[1]\n{"jsonrpc": "2.0", "id": {}, "result": 1}\n{"id": 999999}\n'
        )
        os.write(1, b'{"method": 5, "id": 1}\n{"method": "session/update", "params": [1]}\n')
        os.write(1, b'{"method": "session/update"}\n' + b"[" * 100_000 + b"\n")
        for _ in range(int(megabytes)):
            os.write(2, b"x" * 2**20)
        await self.say(name, "Excuse me.")

    async def ramble(self, name: str, session: Any) -> None:
        os.set_blocking(1, True)
        line = b'{"method": "x", "params": "' + b"x" * 2**20 + b'"}\n'
        while True:
            os.write(1, line)
            await asyncio.sleep(0)

    async def unending(self, name: str, session: Any) -> None:
        os.set_blocking(1, True)
        for _ in range(40):
            os.write(1, b"x" * 2**20)
            await asyncio.sleep(0)
        await asyncio.sleep(3600)

    async def nonsense(self, name: str, session: Any) -> None:
        os.write(1, b'{"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "because"}}\n')

    async def fail(self, name: str, session: Any) -> None:
        raise acp.RequestError(-32603, "my model is out of tea", {"status": 500})

    async def die(self, name: str, session: Any) -> None:
        os.write(2, b"Brewing with sk-abcdefghijklmnopqrstuvwx\nKeyError: 'tea'\n")
        os._exit(3)

    async def hang(self, name: str, session: Any) -> str:
        await session.cancelled.wait()
        return "cancelled"

    async def stay(self, name: str, session: Any, *words: Any) -> None:
        """Ignore everything that asks to go, with a child that does the same."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 600 & wait; sleep 600"])
        (FOLDER / "pids").write_text(f"{os.getpid()} {child.pid}")
        time.sleep(600)


asyncio.run(acp.run_agent(Agent()))
