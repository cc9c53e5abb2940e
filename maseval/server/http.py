"""ChatServer: OpenAI's chat completions over HTTP, answered by a function, or by models.

The server owns its connections: each has a thread, which ends with the connection. ``close`` waits
for answers in progress as long as the server's patience lasts, and then hangs up.
"""

import logging
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import urlsplit

from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.model import ModelAdapter
from maseval.core.provider_errors import ProviderError
from maseval.server.completion import (
    Completion,
    Refusal,
    RequestBody,
    completion,
    encode,
    parse_object,
    parse_request,
    read_body,
    stream_events,
)
from maseval.server.responses import KeptResponses, response_events

_log = logging.getLogger(__name__)

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})
CHAT = "/chat/completions"
RESPONSES = "/responses"

Answer = Callable[[RequestBody, Mapping[str, str]], Completion]
"""A function that answers a request, given its body and headers; it may raise a ``Refusal``."""


# As the standard library declares it; over TCP it is always a socket.
_Connection = socket.socket | tuple[bytes, socket.socket]


class QuietHTTPServer(ThreadingHTTPServer):
    """A server of threads that ends at once; it hangs up on clients that keep their connections."""

    # A client that keeps its connection open must not keep the program from ending.
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        self._connections: set[_Connection] = set()
        self._opening = threading.Lock()
        try:
            super().__init__((host, port), handler)
        except (OSError, OverflowError, UnicodeError) as error:
            raise ConfigurationError(
                f"cannot listen on {host}:{port}: {error}; give another port, or 0 for a free one"
            ) from error

    def server_bind(self) -> None:
        # The base class looks up the host's full name, which is not needed and may take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: _Connection, client_address: object) -> None:
        # ``hang_up`` goes through them in another thread.
        with self._opening:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: _Connection) -> None:
        with self._opening:
            self._connections.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that clients keep open; otherwise they would still be served."""
        with self._opening:
            for connection in self._connections:
                with suppress(OSError):
                    if isinstance(connection, socket.socket):
                        connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        # A client that hangs up, as after a time-out, is not an error.
        _log.debug("a request was not answered to its end", exc_info=True)


class _ChatHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "ChatServer"
    # Headers and body go out in two writes; waiting for more to send would cost 40 ms an answer.
    disable_nagle_algorithm = True
    # Without it, a thread would wait forever for the rest of a request.
    timeout = 600

    def do_GET(self) -> None:
        try:
            self._send(HTTPStatus.OK, encode(self._listing()))
        except Refusal as refusal:
            self._refuse(refusal)

    def do_POST(self) -> None:
        try:
            request = self._request()
        except Refusal as refusal:
            self._refuse(refusal)
        else:
            with self.server.answering():
                self._answer(request)

    def _answer(self, request: RequestBody) -> None:
        try:
            # All of it is made before the status is sent, so that a failure can still be told.
            streams = bool(request.get("stream"))
            kept = self.server.responses
            if kept is not None and self._path.endswith(RESPONSES):
                chat = kept.to_chat(request)
                answer = self.server.answer(chat, dict(self.headers.items()))
                answer = kept.to_response(chat, answer, request)
                events = list(response_events(answer)) if streams else []
            else:
                answer = self.server.answer(request, dict(self.headers.items()))
                options = request.get("stream_options")
                with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
                events = list(stream_events(answer, with_usage=with_usage)) if streams else []
            content = b"" if streams else encode(answer)
        except Refusal as refusal:
            self._refuse(refusal)
        except RecursionError:
            self._refuse(Refusal("the request or its answer is nested too deeply"))
        except Exception as error:
            _log.exception("the server failed to answer")
            self._refuse(Refusal(f"{type(error).__name__}: {error}", status=500, code="failure"))
        else:
            if streams:
                self._stream(events)
            else:
                self._send(HTTPStatus.OK, content)

    @property
    def _path(self) -> str:
        return self.path.partition("?")[0].rstrip("/")

    def _listing(self) -> dict[str, object]:
        if not self._path.endswith("/models"):
            raise _no_such_path(self._path)
        about = {"object": "model", "created": 0, "owned_by": "maseval"}
        names = self.server.models()
        return {"object": "list", "data": [{"id": name, **about} for name in names]}

    def _request(self) -> RequestBody:
        try:
            body = read_body(self.rfile, self.headers)
        except Refusal:
            # The rest of the request would be taken for the next one.
            self.close_connection = True
            raise
        has_responses = self.server.responses is not None and self._path.endswith(RESPONSES)
        if not has_responses and not self._path.endswith(CHAT):
            self.server.note_unserved(self._path, dict(self.headers.items()))
            raise _no_such_path(self._path)
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).hostname not in LOCAL_NAMES:
            raise Refusal(
                f"web pages from {origin} may not use this server", status=403, code="forbidden"
            )
        return parse_object(body) if has_responses else parse_request(body)

    def _stream(self, events: Iterable[bytes]) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        # Nobody knows the length beforehand: the end of the connection is that of the answer.
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(event)
        self.close_connection = True

    def _refuse(self, refusal: Refusal) -> None:
        self._send(refusal.status, encode(refusal.body), refusal.headers)

    def _send(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse requests that are not HTTP, or use an unsupported method."""
        self.close_connection = True
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else code
        self._refuse(Refusal(message or HTTPStatus(code).phrase, status=status))

    def log_message(self, format: str, *args: object) -> None:
        _log.debug(format, *args)


def _no_such_path(path: str) -> Refusal:
    return Refusal(
        f"nothing is served at {path or '/'}; this server has only /v1/chat/completions and "
        "/v1/models, so choose chat completions in the client or framework",
        status=HTTPStatus.NOT_FOUND,
        code="not_found",
    )


LOCAL = "127.0.0.1"

_STEP = 0.1


class ChatServer(QuietHTTPServer):
    """Serves ``POST /v1/chat/completions`` and ``GET /v1/models``, streamed or not.

    Use it as a context manager, or call ``start`` and ``close``. It listens on this machine only,
    unless another ``host`` is given; port 0 is any that is free.
    """

    patience: float = 0.0
    """The seconds that ``close`` waits for answers in progress before it drops them."""
    responses: KeptResponses | None = None
    """Translates the Responses API, where it is served as well."""

    def note_unserved(self, path: str, headers: Mapping[str, str]) -> None:
        """Note a request to a path that is not served."""

    def __init__(
        self,
        answer: Answer,
        models: Callable[[], Iterable[str]] = tuple,
        *,
        host: str = LOCAL,
        port: int = 0,
    ) -> None:
        super().__init__(host, port, _ChatHandler)
        self.answer = answer
        self.models = models
        self._thread: threading.Thread | None = None
        self._serving = False
        self._no_more = threading.Condition()
        self._under_way = 0

    @property
    def url(self) -> str:
        """The base URL to give to a client."""
        host = {"0.0.0.0": LOCAL, "::": "::1"}.get(self.server_name, self.server_name)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}/v1"

    def start(self) -> Self:
        """Serve in a thread of its own."""
        if self._thread is None:
            self._serving = True
            self._thread = threading.Thread(target=self.serve, daemon=True, name="maseval-server")
            self._thread.start()
        return self

    def serve(self) -> None:
        """Serve in this thread until ``close`` is called in another, or Ctrl-C is pressed."""
        self._serving = True
        try:
            self.serve_forever(poll_interval=0.05)
        finally:
            self._serving = False

    def close(self) -> None:
        """Stop serving; may be called twice, as after Ctrl-C while it waits."""
        if self._serving:
            self.shutdown()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        # From here on nobody can connect; what is under way is waited for.
        self.server_close()
        self._wait_for_answers()
        self.hang_up()

    def _wait_for_answers(self) -> None:
        # In short steps: a signal that comes just before a wait is noticed only when it ends.
        deadline = time.monotonic() + self.patience
        with self._no_more:
            while self._under_way and (left := deadline - time.monotonic()) > 0:
                self._no_more.wait(min(left, _STEP))

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a client's request as being answered until its answer is sent."""
        with self._no_more:
            self._under_way += 1
        try:
            yield
        finally:
            with self._no_more:
                self._under_way -= 1
                self._no_more.notify_all()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()


# Not parameters of generation: who is asked, what is asked, and in which form to answer.
_OF_THE_PROTOCOL = frozenset(
    {"model", "messages", "tools", "tool_choice", "stream", "stream_options"}
)


class ModelServer(ChatServer):
    """Serves model adapters under their names; with scripted ones any framework runs for free.

    It speaks the Responses API as well. A client whose key is the name of a model reaches that one,
    whichever it names. ``on_unserved`` is called for every other path, with the model of the key.
    """

    on_unserved: Callable[[str, ModelAdapter | None], object] | None = None

    def __init__(self, *models: ModelAdapter, host: str = LOCAL, port: int = 0) -> None:
        super().__init__(self._ask, lambda: list(self._served), host=host, port=port)
        self.responses = KeptResponses()
        self._served: dict[str, ModelAdapter] = {}
        for model in models:
            self.add(model)

    def note_unserved(self, path: str, headers: Mapping[str, str]) -> None:
        if self.on_unserved is not None:
            self.on_unserved(path, self._served.get(_key_of(headers)))

    def add(self, model: ModelAdapter, name: str | None = None) -> str:
        """Serve ``model`` under ``name``, by default its id; return the name."""
        name = name or model.model_id
        if self._served.setdefault(name, model) is not model:
            raise ConfigurationError(
                f"another model is already served as {name!r}; give one of them another name"
            )
        return name

    def remove(self, name: str) -> None:
        self._served.pop(name, None)

    def _ask(self, request: RequestBody, headers: Mapping[str, str]) -> Completion:
        name = str(request.get("model"))
        model = self._served.get(_key_of(headers)) or self._served.get(name)
        if model is None:
            raise Refusal(
                f"no model is served as {name!r}; available: {', '.join(self._served) or 'none'}",
                status=HTTPStatus.NOT_FOUND,
                code="model_not_found",
            )
        return _answer_of(model, request)


def _key_of(headers: Mapping[str, str]) -> str:
    sent = {name.lower(): value for name, value in headers.items()}
    key = sent.get("authorization") or sent.get("x-api-key") or sent.get("api-key") or ""
    return key.removeprefix("Bearer ")


def _answer_of(model: ModelAdapter, request: RequestBody) -> Completion:
    """Ask ``model`` and return its answer in the protocol's form; its failures are refusals."""
    params = {key: value for key, value in request.items() if key not in _OF_THE_PROTOCOL}
    try:
        response = model.chat(
            request["messages"],
            generation_params={key: value for key, value in params.items() if value is not None},
            tools=request.get("tools"),
            tool_choice=request.get("tool_choice"),
        )
    except ProviderError as error:
        raise _refusal(error) from None
    except MASEvalError as error:
        # Not 500, after which clients would retry.
        raise Refusal(str(error), status=422, code=type(error).__name__) from None
    return completion(response, str(request.get("model")))


def _refusal(error: ProviderError) -> Refusal:
    wait = error.retry_after
    return Refusal(
        str(error),
        status=error.status or (502 if error.transient else 422),
        code=type(error).__name__,
        headers={} if wait is None else {"Retry-After": f"{wait:g}"},
    )
