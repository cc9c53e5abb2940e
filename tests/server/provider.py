"""A provider on loopback whose answers a test decides, and ways to ask a server."""

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


def asking(text: str, **more: Any) -> dict[str, Any]:
    """A request with one message."""
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def saying(text: str | None, **message: Any) -> dict[str, Any]:
    """An answer with one message."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m-2026",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


@dataclass
class Reply:
    """What comes back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.text)

    @property
    def content(self) -> str:
        return self.json["choices"][0]["message"]["content"]

    @property
    def error(self) -> dict[str, Any]:
        return self.json["error"]


def ask(
    url: str, body: object, path: str = "/chat/completions", method: str = "POST", **headers: str
) -> Reply:
    """One request over a connection of its own; an underscore in a header's name is a dash."""
    address = urlsplit(url)
    with closing(http.client.HTTPConnection(address.hostname, address.port, timeout=60)) as line:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        line.request(method, address.path + path, sent, named)
        response = line.getresponse()
        return Reply(response.status, response.headers, response.read().decode())


@dataclass
class Provider:
    """Plays ``replies`` in order, the last one for ever; keeps bodies and headers."""

    url: str
    replies: list[tuple[int, Mapping[str, str], object]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)

    def will(self, *answers: object) -> None:
        self.replies += [(200, {}, answer) for answer in answers]

    def will_fail(self, status: int, body: object, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.replies.append((status, named, body))


@contextmanager
def provider() -> Iterator[Provider]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            there.bodies.append(json.loads(self.rfile.read(length)))
            there.headers.append({name.lower(): value for name, value in self.headers.items()})
            there.paths.append(self.path)
            replies = there.replies
            status, headers, body = replies.pop(0) if len(replies) > 1 else replies[0]
            there.gate.wait(60)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Some clients are meant to hang up."""

    server = Server(("127.0.0.1", 0), Handler)
    there = Provider(f"http://127.0.0.1:{server.server_port}/v1")
    there.gate.set()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield there
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
