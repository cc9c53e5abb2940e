"""A provider on loopback whose answers a test decides, and ways to ask a server."""

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from maseval.testing import ProviderServer, Reply, Request, serving


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
class Answered:
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
) -> Answered:
    """One request over a connection of its own; an underscore in a header's name is a dash."""
    address = urlsplit(url)
    with closing(http.client.HTTPConnection(address.hostname, address.port, timeout=60)) as line:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        line.request(method, address.path + path, sent, named)
        response = line.getresponse()
        return Answered(response.status, response.headers, response.read().decode())


class Provider(ProviderServer):
    """Plays its replies in order, the last one for ever, and each once the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Event()

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    @property
    def headers(self) -> list[Mapping[str, str]]:
        return [request.headers for request in self.requests]

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def will_fail(self, status: int, body: object, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.will(Reply(body, status, named))

    def reply_to(self, request: Request) -> Reply:
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        self.asked.set()
        self.gate.wait(60)
        return reply


@contextmanager
def provider() -> Iterator[Provider]:
    with serving(Provider()) as there:
        yield there
