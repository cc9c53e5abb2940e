"""How an MCP server is reached: over HTTP, or through the standard streams of this process.

Either runs in a thread of its own, so that the code that opened it can continue.
"""

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from maseval.core.exceptions import ConfigurationError
from maseval.interface import extras

LOCAL = "127.0.0.1"
_PATH = "/mcp"

# For responses that are in flight when the server is stopped.
_GRACE_SECONDS = 2


AsgiApp = Callable[[Mapping[str, object], object, object], Awaitable[None]]
"""What answers an HTTP request: its scope, and how to receive and send."""


class McpServer(Protocol):
    """What is used of a server of the library ``mcp``."""

    def streamable_http_app(
        self, *, streamable_http_path: str, host: str, stateless_http: bool
    ) -> AsgiApp: ...
    def create_initialization_options(self) -> object: ...
    async def run(self, read_stream: object, write_stream: object, options: object, /) -> None: ...


@dataclass(frozen=True)
class OverHttp:
    """A server that is reached at an address."""

    url: str


@dataclass(frozen=True)
class OverStdio:
    """A server whose only client is at the other end of the standard streams."""

    closed: threading.Event = field(default_factory=threading.Event)
    """Set when the client has disconnected."""


@contextmanager
def over_http(server: McpServer, *, host: str = LOCAL, port: int = 0) -> Iterator[OverHttp]:
    """Serve over streamable HTTP while the block runs.

    On the local address, requests from web pages of other sites are refused.
    """
    uvicorn = extras.load("uvicorn", extra="mcp")
    with _listening(host, port) as listener:
        number = listener.getsockname()[1]
        # No sessions: the only state is one simulation, which is the same for every request.
        app = server.streamable_http_app(streamable_http_path=_PATH, host=host, stateless_http=True)
        config = uvicorn.Config(
            _without_streams(app),
            loop="asyncio",
            http="h11",
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        http = uvicorn.Server(config)
        thread = threading.Thread(
            target=http.run, args=([listener],), daemon=True, name="maseval-mcp"
        )
        # A client that connects before the thread is ready waits in the listener's queue.
        thread.start()
        try:
            yield OverHttp(f"http://{f'[{host}]' if ':' in host else host}:{number}{_PATH}")
        finally:
            http.should_exit = True
            thread.join()


def _without_streams(app: AsgiApp) -> AsgiApp:
    """The app without the streams that clients may open for notifications: there are none."""
    responses = extras.load("starlette.responses", extra="mcp")

    async def serve(scope: Mapping[str, object], receive: object, send: object) -> None:
        refused = scope["type"] == "http" and scope["method"] != "POST"
        answer = responses.Response(status_code=405, headers={"Allow": "POST"}) if refused else app
        await answer(scope, receive, send)

    return serve


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        raise ConfigurationError(
            f"cannot listen on {host}:{port}: {error}; give another port, or 0 for a free one"
        ) from error


@contextmanager
def over_stdio(server: McpServer) -> Iterator[OverStdio]:
    """Serve the client that started this process; nothing else may use its standard streams."""
    stdio = extras.load("mcp.server.stdio", extra="mcp")
    line = OverStdio()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with stdio.stdio_server(stdin=_lines(loop)) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    work = loop.create_task(serve())

    def run() -> None:
        try:
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(work)
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()
            line.closed.set()

    thread = threading.Thread(target=run, daemon=True, name="maseval-mcp")
    thread.start()
    try:
        yield line
    finally:
        with suppress(RuntimeError):  # the client has already gone, and the loop with it
            loop.call_soon_threadsafe(work.cancel)
        thread.join()


async def _lines(loop: asyncio.AbstractEventLoop) -> AsyncIterator[str]:
    """The lines from standard input.

    The library's own reader would keep the process alive while it waits for a line.
    """
    arrived: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        chunk = b"?"
        with suppress(RuntimeError):  # the loop is closed
            while chunk:
                chunk = _incoming()
                loop.call_soon_threadsafe(arrived.put_nowait, chunk)

    threading.Thread(target=read, daemon=True, name="maseval-stdin").start()
    rest = b""
    while chunk := await arrived.get():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", errors="replace")
    if rest:
        yield rest.decode("utf-8", errors="replace")


def _incoming() -> bytes:
    """The next bytes from standard input; none at its end."""
    try:
        return os.read(0, 65536)
    except OSError:  # standard input was never open
        return b""
