"""Functions as tools of an MCP server, for agents that get their tools through MCP."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from types import ModuleType
from typing import Protocol, TypeAlias

from maseval.core.event_loop import in_thread
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.interface import extras
from maseval.interface.agents.mcp.transports import LOCAL, McpServer, over_http
from maseval.interface.agents.tools import Tool, Tools, as_text, described

MakeCall: TypeAlias = Callable[[str, dict[str, object], str | None], Awaitable[str]]
"""Calls a tool, given its name, its arguments and the client; the agent reads what it raises."""


class ClientInfo(Protocol):
    """The name and version of a client."""

    name: str
    version: str


class ClientParams(Protocol):
    """What a client said when it connected."""

    client_info: ClientInfo


class McpSession(Protocol):
    """A client's connection."""

    client_params: ClientParams | None


class RequestContext(Protocol):
    """Whose request it is."""

    session: McpSession


class CallParams(Protocol):
    """Which tool to call."""

    name: str
    arguments: Mapping[str, object] | None


@dataclass(frozen=True)
class ServedTools:
    """Tools while they are served."""

    url: str
    """The address of the MCP server (streamable HTTP)."""


@contextmanager
def serve_tools(
    tools: Tools,
    *,
    host: str = LOCAL,
    port: int = 0,
    instructions: str | None = None,
    name: str = "maseval",
) -> Iterator[ServedTools]:
    """Serve functions, such as ``environment.tools``, as MCP tools while the block runs.

    Every tool has its full schema. Arguments reach the function as sent, unchecked, and its text
    reaches the agent unchanged. The agent reads what a tool raises; a maseval error that is not the
    agent's fault is also raised here, when the block ends.

    Args:
        tools: Tools by name, or functions that go by their own names.
        host: The address to listen on; by default this machine only.
        port: The port to listen on; 0 picks a free one.
        instructions: Sent to the agent when it connects, such as a policy.
        name: The server's name.
    """
    offered = {tool.name: tool for tool in described(tools)}
    # The server runs in its own thread; its tools run in the context of whoever opened it.
    context = copy_context()
    failures: list[MASEvalError] = []

    async def call(name: str, arguments: dict[str, object], client: str | None) -> str:
        work = partial(offered[name].function, **arguments)
        try:
            return as_text(await in_thread(partial(context.copy().run, work)))
        except MASEvalError as error:
            if not isinstance(error, AgentError):
                failures.append(error)
            raise

    server = mcp_server(list(offered.values()), call, name=name, instructions=instructions)
    with over_http(server, host=host, port=port) as running:
        yield ServedTools(running.url)
    if failures:
        raise failures[0]


def load_mcp() -> ModuleType:
    """The library's server module, which version 1 does not have."""
    return extras.load("mcp.server.mcpserver", extra="mcp", package="mcp 2")


def mcp_server(
    tools: Sequence[Tool], call: MakeCall, *, name: str, instructions: str | None = None
) -> McpServer:
    """An MCP server with these tools; ``call`` makes each call.

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
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)

    async def list_tools(context: object, params: object) -> object:
        return types.ListToolsResult(tools=listed)

    async def call_tool(context: RequestContext, params: CallParams) -> object:
        if params.name not in names:
            known = ", ".join(names)
            return answer(
                f"Error: Tool '{params.name}' not found. Available tools: {known}", is_error=True
            )
        try:
            client = _client(context.session.client_params)
            return answer(await call(params.name, dict(params.arguments or {}), client))
        except Exception as error:  # a tool called by a model: its error is an answer
            return answer(f"Error: {error}", is_error=True)

    server: McpServer = lowlevel.Server(
        name,
        version=version("maseval"),
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    return server


def _client(params: ClientParams | None) -> str | None:
    """The name and version of the client, if known."""
    return f"{params.client_info.name} {params.client_info.version}" if params else None
