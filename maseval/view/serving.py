"""ViewServer: serves the viewer in a thread of its own until it is closed."""

import os
import socket
import threading
from types import TracebackType
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from maseval.core.exceptions import ConfigurationError

LOCAL = "127.0.0.1"
# Pages that stay connected for events do not end by themselves.
_PATIENCE = 1
_STEP = 0.2


class ViewServer:
    """Listens as soon as it is made; ``start`` serves, ``close`` ends it.

    ``token`` is what ``address`` has to bring along for the first time, if anything.
    """

    def __init__(
        self, app: ASGIApp, *, host: str = LOCAL, port: int = 0, token: str | None = None
    ) -> None:
        self.host, self.token = host, token
        self._socket = _listening(host, port)
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=_PATIENCE,
            )
        )
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def address(self, path: str = "/") -> str:
        """Return the address to open in a browser, with the token if there is one."""
        host = {"0.0.0.0": LOCAL, "::": "::1"}.get(self.host, self.host)
        named = f"[{host}]" if ":" in host else host
        token = "" if self.token is None else f"?token={self.token}"
        return f"http://{named}:{self.port}{path}{token}"

    def start(self) -> Self:
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, daemon=True, name="maseval-view")
            self._thread.start()
        return self

    def wait(self) -> None:
        """Wait until it is closed by another thread, or a signal raises."""
        # In short steps: a signal that another thread receives does not end a wait in this one.
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(_STEP)

    def close(self) -> None:
        """Stop serving; may be called twice."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only for sockets that say TCP does asyncio send small packets at once; others wait for 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError, UnicodeError) as error:
        listening.close()
        raise ConfigurationError(
            f"cannot listen on {host}:{port}: {error}; give another --port, or 0 for a free one"
        ) from error
    return listening
