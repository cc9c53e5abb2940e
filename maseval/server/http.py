"""ChatServer: OpenAI's chat completions over HTTP, answered by a function."""

import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

from maseval.core.exceptions import ConfigurationError
from maseval.server.handling import Answer, ChatHTTPServer

LOCAL = "127.0.0.1"

_STEP = 0.1


class ChatServer:
    """Serves ``POST /v1/chat/completions`` and ``GET /v1/models``, streamed or not.

    Use it as a context manager, or call ``start`` and ``close``. It listens on this machine only,
    unless another ``host`` is given; port 0 is any that is free.
    """

    patience: float = 0.0
    """How many seconds ``close`` waits for answers in progress before it drops them."""

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
            self._http = ChatHTTPServer((host, port), self)
        except (OSError, OverflowError, UnicodeError) as error:
            raise ConfigurationError(
                f"cannot listen on {host}:{port}: {error}; give another port, or 0 for a free one"
            ) from error
        self._thread: threading.Thread | None = None
        self._serving = False
        self._client = threading.local()
        self._no_more = threading.Condition()
        self._under_way = 0

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """The base URL to give to a client."""
        host = str(self._http.server_address[0])
        host = {"0.0.0.0": LOCAL, "::": "::1"}.get(host, host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/v1"

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
            self._http.serve_forever(poll_interval=0.05)
        finally:
            self._serving = False

    def close(self) -> None:
        """Stop serving; may be called twice, as after Ctrl-C while it waits."""
        if self._serving:
            self._http.shutdown()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._http.server_close()
        self._wait_for_answers()
        self._finish()
        self._http.hang_up()

    def _wait_for_answers(self) -> None:
        # In short steps: a signal that comes just before a wait is noticed only when it ends.
        deadline = time.monotonic() + self.patience
        with self._no_more:
            while self._under_way and (left := deadline - time.monotonic()) > 0:
                self._no_more.wait(min(left, _STEP))

    @contextmanager
    def answering(self, connection: socket.socket) -> Iterator[None]:
        """While this thread answers a client's request, until the answer is sent."""
        self._client.connection = connection
        with self._no_more:
            self._under_way += 1
        try:
            yield
        finally:
            with self._no_more:
                self._under_way -= 1
                self._no_more.notify_all()

    def _client_waits(self) -> bool:
        """Whether the client of the request that this thread answers has not hung up yet."""
        connection: socket.socket | None = getattr(self._client, "connection", None)
        if connection is None:
            return True
        with suppress(OSError, ValueError), selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            return not selector.select(0) or connection.recv(1, socket.MSG_PEEK) != b""
        return False

    def _finish(self) -> None:
        """Clean-up after the last answer."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
