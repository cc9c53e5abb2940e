"""HTTP connections: requests are parsed, passed to whoever answers them, and answered."""

import logging
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol
from urllib.parse import unquote, urlsplit

from maseval.server.body import body_of, parsed
from maseval.server.completion import Completion, Refusal, RequestBody, encoded, streamed

_log = logging.getLogger(__name__)

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})
_CHAT = "/chat/completions"
_HEALTH = "/health"

Answer = Callable[[RequestBody, Mapping[str, str]], Completion]
"""What answers a request, given its body and its headers; it may raise a ``Refusal``."""


# As the standard library declares it; over TCP it is always a socket.
_Connection = socket.socket | tuple[bytes, socket.socket]


class Owner(Protocol):
    """Who answers, and which models it has."""

    answer: Answer
    models: Callable[[], Iterable[str]]

    def answering(self, connection: socket.socket) -> AbstractContextManager[None]:
        """While a client's request is being answered."""
        ...


class ChatHTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], owner: Owner) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        self.owner = owner
        self._connections: set[_Connection] = set()
        self._lock = threading.Lock()
        super().__init__(address, _ChatHandler)

    def server_bind(self) -> None:
        # The base class looks up the host's full name, which is not needed and may take seconds.
        socketserver.TCPServer.server_bind(self)

    def process_request(self, request: _Connection, client_address: object) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: _Connection) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that clients keep open; otherwise they would still be served."""
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    if isinstance(connection, socket.socket):
                        connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up, as after a time-out, is not an error."""
        _log.debug("a request was not answered to its end", exc_info=True)


class _ChatHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ChatHTTPServer
    # Headers and body go out in two writes; waiting for more to send would cost 40 ms an answer.
    disable_nagle_algorithm = True
    # Without it, a thread would wait forever for the rest of a request.
    timeout = 600

    def do_GET(self) -> None:
        try:
            self._send(HTTPStatus.OK, encoded(self._listed()))
        except Refusal as refusal:
            self._refuse(refusal)

    do_HEAD = do_GET

    def do_OPTIONS(self) -> None:
        self._send(HTTPStatus.NO_CONTENT, b"", {"Allow": "GET, HEAD, OPTIONS, POST"})

    def do_POST(self) -> None:
        try:
            request = self._request()
        except Refusal as refusal:
            self._refuse(refusal)
        else:
            with self.server.owner.answering(self.connection):
                self._answer(request)

    def _answer(self, request: RequestBody) -> None:
        try:
            answer = self.server.owner.answer(request, dict(self.headers.items()))
            content = list(_events(request, answer)) if request.get("stream") else encoded(answer)
        except Refusal as refusal:
            self._refuse(refusal)
        except Exception as error:
            _log.exception("the server failed to answer")
            self._refuse(Refusal(f"{type(error).__name__}: {error}", status=500, code="failure"))
        else:
            if isinstance(content, bytes):
                self._send(HTTPStatus.OK, content)
            else:
                self._stream(content)

    @property
    def _path(self) -> str:
        return self.path.partition("?")[0].rstrip("/")

    def _listed(self) -> dict[str, object]:
        if self._path == _HEALTH:
            return {"status": "ok"}
        names = list(self.server.owner.models())
        if self._path.endswith("/models"):
            return {"object": "list", "data": [_model(name) for name in names]}
        name = unquote(self._path.rpartition("/models/")[2])
        if name in names:
            return _model(name)
        raise _no_such_path(self._path)

    def _request(self) -> RequestBody:
        try:
            body = body_of(self.rfile, self.headers)
        except Refusal:
            # The rest of the request would be taken for the next one.
            self.close_connection = True
            raise
        if not self._path.endswith(_CHAT):
            raise _no_such_path(self._path)
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).hostname not in LOCAL_NAMES:
            raise Refusal(
                f"web pages from {origin} may not use this server", status=403, code="forbidden"
            )
        return parsed(body)

    def _stream(self, events: Iterable[bytes]) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(event)
        self.close_connection = True

    def _refuse(self, refusal: Refusal) -> None:
        self._send(refusal.status, encoded(refusal.body), refusal.headers)

    def _send(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Requests that are not HTTP, or use an unsupported method."""
        self.close_connection = True
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else code
        self._refuse(Refusal(message or HTTPStatus(code).phrase, status=status))

    def log_message(self, format: str, *args: object) -> None:
        _log.debug(format, *args)


def _events(request: RequestBody, answer: Completion) -> Iterator[bytes]:
    options = request.get("stream_options")
    wanted = isinstance(options, dict) and bool(options.get("include_usage"))
    return streamed(answer, with_usage=wanted)


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "maseval"}


def _no_such_path(path: str) -> Refusal:
    return Refusal(
        f"nothing is served at {path or '/'}; this server has only /v1/chat/completions and "
        "/v1/models, so choose chat completions in the client or framework",
        status=HTTPStatus.NOT_FOUND,
        code="not_found",
    )
