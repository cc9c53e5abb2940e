"""A real local HTTP server that misbehaves on request."""

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

Answer = Callable[[BaseHTTPRequestHandler], None]


def content(data: bytes, *, promised: int | None = None) -> Answer:
    """Send ``data``; a larger ``promised`` length makes it a download that breaks off."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(data) if promised is None else promised))
        request.end_headers()
        request.wfile.write(data)

    return answer


def status(code: int, *, retry_after: int | None = None) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        if retry_after is not None:
            request.send_header("Retry-After", str(retry_after))
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


def dripping(data: bytes, *, pause: float) -> Answer:
    """Send ``data`` byte by byte."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        for byte in data:
            try:
                request.wfile.write(bytes([byte]))
            except OSError:  # the client has had enough
                return
            time.sleep(pause)

    return answer


def silence(seconds: float) -> Answer:
    return lambda request: time.sleep(seconds)


class FileServer:
    """Serves the given paths, answers 404 for all others, and records the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                server.answers.get(self.path, status(404))(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.block_on_close = False
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._http.shutdown()
        self._http.server_close()
