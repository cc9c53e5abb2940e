"""ProviderServer: a real HTTP server on loopback that answers by a script, well or badly.

``OpenAIProtocol`` writes texts, tool calls and errors as they are served by most.

Each request takes the next reply; what was asked is kept. A reply says what goes over the wire to
the byte, so that every way in which a provider can misbehave can be played.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, TypeVar, overload

from maseval.server.completion import Refusal, encode, parse_object, read_body, stream_events
from maseval.server.http import LOCAL, QuietHTTPServer


@dataclass(frozen=True)
class Reply:
    """The server's reaction to one request.

    Args:
        body: Bytes and texts go out as they are, anything else as JSON.
        status: The HTTP status.
        headers: Sent with it; they replace those that the server would send.
        delay: Seconds before anything is sent.
        drop: Hang up instead of answering.
        cut_after: Hang up after so many bytes of the body, whose length was announced.
        pause: Seconds before each further byte of the body.
        raw: Sent instead of everything else, status line and headers included.
    """

    body: object = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    cut_after: int | None = None
    pause: float = 0.0
    raw: bytes | None = None


@dataclass(frozen=True)
class Request:
    """A request that the server got; the names of headers are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    method: str = "POST"


class ProviderServer(QuietHTTPServer):
    """Plays ``replies`` in order and keeps ``requests``."""

    def __init__(self, host: str = LOCAL, port: int = 0) -> None:
        super().__init__(host, port, _ProviderHandler)
        self.replies: list[Reply] = []
        self.requests: list[Request] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://{self.server_name}:{self.server_port}"

    def will(self, *replies: Reply | object) -> None:
        """Add replies; anything but a ``Reply`` is the body of a good one."""
        self.replies += [r if isinstance(r, Reply) else Reply(r) for r in replies]

    def reply_to(self, request: Request) -> Reply:
        """Return the reply to a request; called in a thread of its own."""
        return self.replies.pop(0) if self.replies else _NOTHING_LEFT


class _ProviderHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ProviderServer

    def do_POST(self) -> None:
        try:
            request = self._request()
        except Refusal as refusal:
            reply = Reply(refusal.body, refusal.status, {"Connection": "close"})
            self._send(reply, encode(reply.body))
            return
        self.server.requests.append(request)
        reply = self.server.reply_to(request)
        # Unlike ``sleep`` this ends with the server.
        self.server.closing.wait(reply.delay)
        if reply.drop:
            self.close_connection = True
        elif reply.raw is not None:
            self.close_connection = True
            self.wfile.write(reply.raw)
        else:
            self._send(reply, _content(reply, request))

    do_GET = do_POST

    def _request(self) -> Request:
        body = parse_object(read_body(self.rfile, self.headers) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.path, headers, body, self.command)

    def _send(self, reply: Reply, content: bytes) -> None:
        self.send_response(reply.status)
        usual = {"Content-Type": "application/json", "Content-Length": str(len(content))}
        given = {name.lower() for name in reply.headers}
        usual = {name: value for name, value in usual.items() if name.lower() not in given}
        for name, value in {**usual, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if reply.cut_after is not None:
            self.close_connection = True
        self._write(content[: reply.cut_after], reply.pause)

    def _write(self, content: bytes, pause: float) -> None:
        if not pause:
            self.wfile.write(content)
            return
        for place in range(len(content)):
            self.wfile.write(content[place : place + 1])
            if self.server.closing.wait(pause):
                return

    def log_message(self, format: str, *args: object) -> None:
        pass


def _content(reply: Reply, request: Request) -> bytes:
    match reply.body:
        case bytes():
            return reply.body
        case str():
            return reply.body.encode("utf-8", "surrogatepass")
        case dict() if request.body.get("stream") and reply.status == 200:
            return b"".join(stream_events(reply.body, with_usage=True))
    return encode(reply.body)


_NOTHING_LEFT = Reply({"error": {"message": "the script has no more replies"}}, status=418)

ServerT = TypeVar("ServerT", bound=ProviderServer)


@overload
def serving() -> AbstractContextManager[ProviderServer]: ...
@overload
def serving(server: ServerT) -> AbstractContextManager[ServerT]: ...
def serving(server: ProviderServer | None = None) -> AbstractContextManager[ProviderServer]:
    """Run a server while the block runs; a plain one unless another is given."""
    return _serving(server or ProviderServer())


@contextmanager
def _serving(server: ServerT) -> Iterator[ServerT]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()


Call = tuple[str, dict[str, object]]


class OpenAIProtocol:
    """Chat completions, as OpenAI answers them."""

    filter_error = (400, "The response was filtered by the content management policy")
    overflow_error = (400, "This model's maximum context length is 8192 tokens")

    @staticmethod
    def text(text: str | None, **more: object) -> dict[str, object]:
        return completion({"role": "assistant", "content": text, **more}, "stop")

    @staticmethod
    def calls(*calls: Call) -> dict[str, object]:
        made = [
            {
                "id": f"id_{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(calls)
        ]
        return completion({"role": "assistant", "content": None, "tool_calls": made}, "tool_calls")

    @staticmethod
    def error(message: str, status: int = 400, code: str | None = None) -> dict[str, object]:
        return {"error": {"message": message, "type": "an_error", "code": code}}

    @staticmethod
    def empty() -> dict[str, object]:
        return {**completion({}, "stop"), "choices": []}

    @staticmethod
    def content_filter() -> dict[str, object]:
        return completion({"role": "assistant", "content": None}, "content_filter")


def completion(message: dict[str, object], reason: str) -> dict[str, object]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }
