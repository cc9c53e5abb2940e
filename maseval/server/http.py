"""ChatServer: OpenAI's chat completions over HTTP, answered by a function."""

import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from maseval.core.exceptions import ConfigurationError
from maseval.server.completion import Completion, Refusal, streamed

_log = logging.getLogger(__name__)

LOCAL = "127.0.0.1"
_CHAT = "/chat/completions"
_LONGEST_REQUEST = 64 * 1024 * 1024

Request = dict[str, Any]
"""The body of a request, as the client sent it."""

Answer = Callable[[Request, Mapping[str, str]], Completion]
"""What answers a request, given its body and its headers; it may raise a ``Refusal``."""


class ChatServer:
    """Serves ``POST /v1/chat/completions`` and ``GET /v1/models``, streamed or not.

    Use it as a context manager, or call ``start`` and ``close``. It listens on this machine only,
    unless another ``host`` is given; port 0 is any that is free.
    """

    def __init__(
        self,
        answer: Answer,
        models: Callable[[], Iterable[str]] = tuple,
        *,
        host: str = LOCAL,
        port: int = 0,
    ) -> None:
        self.answer = answer
        self.models = models
        try:
            self._http = _Server((host, port), self)
        except (OSError, OverflowError) as error:
            raise ConfigurationError(
                f"cannot listen on {host}:{port}: {error}; give another port, or 0 for a free one"
            ) from error
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The base URL to give to a client."""
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}/v1"

    def start(self) -> Self:
        """Serve in a thread of its own."""
        self._thread = threading.Thread(target=self.serve, daemon=True, name="maseval-server")
        self._thread.start()
        return self

    def serve(self) -> None:
        """Serve in this thread until ``close`` is called in another, or Ctrl-C is pressed."""
        self._http.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        """Stop serving; requests that are being answered are given up."""
        if self._thread is not None:
            self._http.shutdown()
            self._thread.join()
            self._thread = None
        self._http.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], owner: ChatServer) -> None:
        super().__init__(address, _Handler)
        self.owner = owner

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up, as one does after a time-out, is nothing to report."""
        _log.debug("a request was not answered to its end", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    # Headers and body go out in two writes; waiting for more to send would cost 40 ms an answer.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if self._path.endswith("/models"):
            names = self.server.owner.models()
            listed = [
                {"id": n, "object": "model", "created": 0, "owned_by": "maseval"} for n in names
            ]
            self._send(HTTPStatus.OK, {"object": "list", "data": listed})
        else:
            self._refuse(_no_such_path(self._path))

    def do_POST(self) -> None:
        try:
            request = self._request()
            if not self._path.endswith(_CHAT):
                raise _no_such_path(self._path)
            answer = self.server.owner.answer(request, dict(self.headers.items()))
        except Refusal as refusal:
            self._refuse(refusal)
        except Exception as error:
            _log.exception("the server failed to answer")
            self._refuse(Refusal(f"{type(error).__name__}: {error}", status=500, code="failure"))
        else:
            self._send_answer(request, answer)

    @property
    def _path(self) -> str:
        return self.path.partition("?")[0].rstrip("/")

    def _request(self) -> Request:
        length = int(self.headers.get("Content-Length") or 0)
        if length > _LONGEST_REQUEST:
            self.close_connection = True
            raise Refusal(f"a request of {length} bytes is too long", status=413)
        try:
            request = json.loads(self.rfile.read(length))
        except ValueError as error:
            raise Refusal(f"the request is not JSON: {error}") from None
        if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
            raise Refusal("the request has no list of messages")
        return request

    def _send_answer(self, request: Request, answer: Completion) -> None:
        if not request.get("stream"):
            self._send(HTTPStatus.OK, answer)
            return
        wanted = (request.get("stream_options") or {}).get("include_usage")
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in streamed(answer, with_usage=bool(wanted)):
            self.wfile.write(event.encode())
        self.close_connection = True

    def _refuse(self, refusal: Refusal) -> None:
        self._send(refusal.status, refusal.body)

    def _send(self, status: int, body: Mapping[str, Any]) -> None:
        content = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        _log.debug(format, *args)


def _no_such_path(path: str) -> Refusal:
    return Refusal(
        f"nothing is served at {path or '/'}; this server has only /v1/chat/completions and "
        "/v1/models, so choose chat completions in the client or framework",
        status=HTTPStatus.NOT_FOUND,
        code="not_found",
    )
