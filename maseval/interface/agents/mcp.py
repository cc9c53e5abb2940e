"""MCP: agents that connect as MCP clients, and tools served to any agent that speaks MCP.

Claude Code, an editor or a script connects and finds the tools of its task, and two more to talk to
the customer. The benchmark calls its agent as usual; a ``Conversation`` connects the two.

A server is reached over HTTP, or through the standard streams of this process. Either runs in a
thread of its own, so that the code that opened it can continue.
"""

import asyncio
import json
import os
import re
import socket
import threading
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from types import ModuleType
from typing import Any, TypeAlias

from maseval.core.agent import AgentAdapter, AgentObserver
from maseval.core.event_loop import in_thread
from maseval.core.exceptions import (
    AgentError,
    ConfigurationError,
    MASEvalError,
    NestedTooDeeplyError,
)
from maseval.core.recorded import mapping
from maseval.core.storage import strict_json
from maseval.core.words import excerpt
from maseval.interface import extras
from maseval.interface.agents.framework import Tool, Tools, as_text, describe_tools
from maseval.interface.agents.mcp_conversation import AgentOutOfTurnError, Conversation
from maseval.interface.inference.chat_completions import sendable

__all__ = ["Conversation", "McpAgentAdapter", "ServedTools", "conversation_server", "serve_tools"]

LOCAL = "127.0.0.1"
_PATH = "/mcp"

# For responses that are in flight when the server is stopped.
_GRACE_SECONDS = 2

# Each takes a thread; an agent may send thousands.
_CALLS_AT_ONCE = 32
_MOST_CONNECTIONS = 500
# A turn is over when its calls are; a tool that hangs does not hold it for ever.
_LONGEST_CALL = 60.0

AsgiApp = Callable[[Mapping[str, object], object, object], Awaitable[None]]
"""Answers an HTTP request, given its scope, and how to receive and send."""

MakeCall: TypeAlias = Callable[[str, dict[str, object], str | None], Awaitable[str]]
"""Calls a tool, given its name, its arguments and the client; the agent reads what it raises."""


class McpAgentAdapter(AgentAdapter):
    """The agent at the other end of a conversation, as the engine sees it."""

    agent: Conversation

    def __init__(
        self,
        conversation: Conversation,
        tools: Tools,
        name: str = "mcp_agent",
        callbacks: Iterable[AgentObserver] | None = None,
    ) -> None:
        super().__init__(conversation, name, callbacks)
        conversation.join(tools)
        self.messages = conversation.history

    def _run_agent(self, query: str) -> str:
        return self.agent.ask(query)

    def gather_config(self) -> dict[str, Any]:
        return {**super().gather_config(), "mcp_client": self.agent.client}


def conversation_server(
    conversation: Conversation, tools: Tools, *, name: str, instructions: str | None = None
) -> Any:
    """Return an MCP server with an agent's tools, and two more to talk to the customer.

    ``tools`` only describes the tools; calls go to those that the conversation was joined with.
    """
    talking: dict[str, Callable[..., Awaitable[str]]] = {
        "read_customer": conversation.read_customer,
        "reply_to_customer": conversation.reply_to_customer,
    }
    offered = describe_tools(tools)
    for tool in offered:
        if tool.name in talking:
            raise ConfigurationError(
                f"a tool is named {tool.name!r}, which is reserved for talking to the customer; "
                "give it another name"
            )

    async def call(name: str, arguments: dict[str, object], client: str | None) -> str:
        # Not every request says which client it is from.
        conversation.client = client or conversation.client
        if name in talking:
            return await talking[name](**arguments)
        return await in_thread(partial(conversation.call, name, arguments))

    return mcp_server(
        [*describe_tools(talking), *offered], call, name=name, instructions=instructions
    )


class TurnGate:
    """Lets an agent call its tools, or with ``by_turns`` during its turns alone."""

    def __init__(self, *, by_turns: bool = False) -> None:
        self.was_listed = False
        """True once the agent has asked which tools there are."""
        self._failure: MASEvalError | None = None
        self._is_open = not by_turns
        self._calls = 0
        self._changed = threading.Condition()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Accept calls while the block runs; those that have begun are finished with it.

        At its end, the first error of a tool that is not the agent's fault is raised.
        """
        with self._changed:
            self._is_open = True
        try:
            yield
        finally:
            with self._changed:
                self._is_open = False
                self._changed.wait_for(lambda: not self._calls, _LONGEST_CALL)
        self.raise_failure()

    def raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    @contextmanager
    def call(self) -> Iterator[None]:
        """Count a call; what a tool raises, and is not the agent's fault, is kept."""
        with self._changed:
            if not self._is_open:  # no failure of a tool, so it is not kept
                raise AgentOutOfTurnError(
                    "it is not your turn, so nothing was done and nothing was recorded; tools "
                    "answer while you work on a message, and not after your reply to it"
                )
            self._calls += 1
        try:
            yield
        except MASEvalError as error:
            if not isinstance(error, AgentError):
                # The first one is kept, as later ones may only follow from it.
                self._failure = self._failure or error
            raise
        finally:
            with self._changed:
                self._calls -= 1
                self._changed.notify_all()


@dataclass(frozen=True)
class ServedTools:
    """Tools while they are served."""

    url: str
    """The address of the MCP server (streamable HTTP)."""
    gate: TurnGate = field(default_factory=TurnGate)
    """Opened for each turn, if the tools are served by turns."""


@contextmanager
def serve_tools(
    tools: Tools,
    *,
    host: str = LOCAL,
    port: int = 0,
    instructions: str | None = None,
    name: str = "maseval",
    path: str = _PATH,
    by_turns: bool = False,
) -> Iterator[ServedTools]:
    """Serve functions, such as ``environment.tools``, as MCP tools while the block runs.

    Every tool has its full schema. Arguments reach the function as sent, unchecked, and its text
    reaches the agent unchanged. The agent reads what a tool raises; a maseval error that is not the
    agent's fault is also raised here, when the block ends. Calls out of turn are for the tools to
    refuse, as those of a tau2 simulation do.

    Args:
        tools: Tools by name, or functions that go by their own names.
        host: The address to listen on; by default this machine only.
        port: The port to listen on; 0 picks a free one.
        instructions: Sent to the agent when it connects, such as a policy; also the prompt
            ``instructions``, for clients that read prompts.
        name: The server's name.
        path: The path of the address; one that cannot be guessed keeps other programs away.
        by_turns: Refuse all calls, unless ``ServedTools.gate`` is open.
    """
    offered = {tool.name: tool for tool in describe_tools(tools)}
    # The server runs in its own thread; its tools run in the context of whoever opened it.
    context = copy_context()
    gate, few = TurnGate(by_turns=by_turns), asyncio.Semaphore(_CALLS_AT_ONCE)

    async def call(name: str, arguments: dict[str, object], client: str | None) -> str:
        work = partial(offered[name].function, **arguments)
        async with few:
            with gate.call():
                # A copy for each call, as no context can be entered twice at the same time.
                return as_text(await in_thread(partial(context.copy().run, work)))

    server = mcp_server(
        list(offered.values()),
        call,
        name=name,
        instructions=instructions,
        on_listed=partial(setattr, gate, "was_listed", True),
    )
    with over_http(server, host=host, port=port, path=path) as served:
        yield replace(served, gate=gate)
    gate.raise_failure()


def load_mcp() -> ModuleType:
    """Import the library's server module, which version 1 does not have."""
    return extras.load("mcp.server.mcpserver", extra="mcp", package="mcp 2")


def mcp_server(
    tools: Sequence[Tool],
    call: MakeCall,
    *,
    name: str,
    instructions: str | None = None,
    on_listed: Callable[[], object] = lambda: None,
) -> Any:
    """Return an MCP server with these tools; ``call`` makes each call.

    It uses the library's low-level server, which does not validate arguments.
    """
    load_mcp()
    types = extras.load("mcp_types", extra="mcp")
    lowlevel = extras.load("mcp.server.lowlevel", extra="mcp")
    listed = [
        types.Tool(name=tool.name, description=tool.description, input_schema=tool.parameters)
        for tool in tools
    ]
    names = [tool.name for tool in tools]

    def answer(text: str, *, is_error: bool = False) -> object:
        said = types.TextContent(text=sendable(text))
        return types.CallToolResult(content=[said], is_error=is_error)

    async def list_tools(context: object, params: object) -> object:
        on_listed()
        return types.ListToolsResult(tools=listed)

    async def call_tool(context: Any, params: Any) -> object:
        if params.name not in names:
            known = ", ".join(names)
            return answer(
                f"Error: Tool '{params.name}' not found. Available tools: {known}", is_error=True
            )
        try:
            about = context.session.client_params
            client = f"{about.client_info.name} {about.client_info.version}" if about else None
            return answer(await call(params.name, dict(params.arguments or {}), client))
        except Exception as error:  # a tool called by a model: its error is an answer
            return answer(f"Error: {error}", is_error=True)

    async def list_prompts(context: object, params: object) -> object:
        return types.ListPromptsResult(prompts=[types.Prompt(name="instructions")])

    async def get_prompt(context: object, params: object) -> object:
        text = types.TextContent(text=instructions)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])

    prompts = {"on_list_prompts": list_prompts, "on_get_prompt": get_prompt} if instructions else {}
    return lowlevel.Server(
        name,
        version=version("maseval"),
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        **prompts,
    )


@contextmanager
def over_http(
    server: Any, *, host: str = LOCAL, port: int = 0, path: str = _PATH
) -> Iterator[ServedTools]:
    """Serve over streamable HTTP while the block runs.

    On the local address, requests from web pages of other sites are refused.
    """
    uvicorn = extras.load("uvicorn", extra="mcp")
    with _listen(host, port) as listener:
        number = listener.getsockname()[1]
        # No sessions: the only state is one simulation, which is the same for every request.
        app = server.streamable_http_app(streamable_http_path=path, host=host, stateless_http=True)
        config = uvicorn.Config(
            _without_streams(app),
            loop="asyncio",
            http="h11",
            ws="none",
            # uvicorn would otherwise configure loggers of this process.
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
            limit_concurrency=_MOST_CONNECTIONS,
        )
        http = uvicorn.Server(config)
        thread = threading.Thread(
            target=http.run, args=([listener],), daemon=True, name="maseval-mcp"
        )
        # A client that connects before the thread is ready waits in the listener's queue.
        thread.start()
        try:
            yield ServedTools(f"http://{f'[{host}]' if ':' in host else host}:{number}{path}")
        finally:
            http.should_exit = True
            thread.join()


def _without_streams(app: AsgiApp) -> AsgiApp:
    """Refuse the streams that clients may open for notifications: there are none."""
    responses = extras.load("starlette.responses", extra="mcp")

    async def serve(scope: Mapping[str, object], receive: object, send: object) -> None:
        refused = scope["type"] == "http" and scope["method"] != "POST"
        answer = responses.Response(status_code=405, headers={"Allow": "POST"}) if refused else app
        await answer(scope, receive, send)

    return serve


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        raise ConfigurationError(
            f"cannot listen on {host}:{port}: {error}; give another port, or 0 for a free one"
        ) from error


@contextmanager
def over_stdio(server: Any, on_closed: Callable[[], object]) -> Iterator[threading.Event]:
    """Serve the client that started this process; nothing else may use its standard streams.

    When the client has disconnected, ``on_closed`` is called and the event that is yielded is set.
    """
    stdio = extras.load("mcp.server.stdio", extra="mcp")
    closed = threading.Event()
    loop = asyncio.new_event_loop()

    replies: asyncio.Queue[object] = asyncio.Queue()

    async def refuse(outgoing: Any) -> None:
        while True:
            await outgoing.send(await replies.get())

    async def serve() -> None:
        lines = _readable_lines(loop, replies.put_nowait)
        async with stdio.stdio_server(stdin=lines) as (incoming, outgoing):
            refusing = loop.create_task(refuse(outgoing))
            try:
                await server.run(incoming, outgoing, server.create_initialization_options())
            finally:
                refusing.cancel()

    work = loop.create_task(serve())

    def run() -> None:
        try:
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(work)
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()
            on_closed()
            closed.set()

    thread = threading.Thread(target=run, daemon=True, name="maseval-mcp")
    thread.start()
    try:
        yield closed
    finally:
        with suppress(RuntimeError):  # the client has already gone, and the loop with it
            loop.call_soon_threadsafe(work.cancel)
        thread.join()


async def _readable_lines(
    loop: asyncio.AbstractEventLoop, reply: Callable[[object], None]
) -> AsyncIterator[str]:
    """Yield the lines that the library can read, and reply to the others, which it passes over.

    Half a character is replaced, as it is wherever a model has written one.
    """
    types = extras.load("mcp_types", extra="mcp")
    messages = extras.load("mcp.shared.message", extra="mcp")
    async for line in _lines(loop):
        try:
            types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError as error:
            why = str(error)
        else:
            yield line
            continue
        try:
            known = json.dumps(sendable(strict_json.loads(line)))
            types.jsonrpc_message_adapter.validate_json(known, by_name=False)
        except ValueError as error:
            why = str(error) if isinstance(error, NestedTooDeeplyError) else why
            refusal = types.ErrorData(code=types.PARSE_ERROR, message=excerpt(why))
            answer = types.JSONRPCError(jsonrpc="2.0", id=_id_in(line), error=refusal)
            reply(messages.SessionMessage(answer))
        else:
            yield known


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*\\?(?:"|\Z)|[\[\]{}]|[^"\[\]{}]+')


def _id_in(line: str) -> Any:
    """Return the id of a message whose other parts may be nested to any depth; None without one."""
    # Not parsed as JSON, which fails for exactly the messages that this is for.
    depth, shallow = 0, []
    for token in _TOKEN.findall(line):
        depth -= token in ("]", "}")
        if depth == 0 or (depth == 1 and token not in ("[", "{", "]", "}")):
            shallow.append(token)
        elif depth == 1 and token in ("]", "}"):
            shallow.append("0")  # in place of all that was nested
        depth += token in ("[", "{")
    with suppress(ValueError):
        found = mapping(json.loads("".join(shallow))).get("id")
        return sendable(found) if isinstance(found, str | int) else None
    return None


async def _lines(loop: asyncio.AbstractEventLoop) -> AsyncIterator[str]:
    """Yield the lines from standard input.

    The library's own reader would keep the process alive while it waits for a line.
    """
    arrived: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        chunk = b"?"
        with suppress(RuntimeError):  # the loop is closed
            while chunk:
                chunk = _read_stdin()
                loop.call_soon_threadsafe(arrived.put_nowait, chunk)

    threading.Thread(target=read, daemon=True, name="maseval-stdin").start()
    rest = b""
    while chunk := await arrived.get():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", errors="replace")
    if rest:
        yield rest.decode("utf-8", errors="replace")


def _read_stdin() -> bytes:
    """Return the next bytes from standard input; none at its end."""
    try:
        return os.read(0, 65536)
    except OSError:  # standard input was never open
        return b""
