"""A real HTTP server on loopback that speaks the providers' protocols, by a script.

Each request takes the next reply; what was asked is kept. ``PROTOCOLS`` says how each provider
would put a text, a tool call or an error, so that one test can be run against all of them.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar


@dataclass(frozen=True)
class Reply:
    """What the server does with one request; ``drop`` hangs up instead of answering."""

    body: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False


@dataclass(frozen=True)
class Request:
    """What the server was asked; the names of headers are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class ProviderServer(ThreadingHTTPServer):
    """Plays ``replies`` in order and keeps ``requests``."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: list[Reply] = []
        self.requests: list[Request] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def will(self, *replies: Reply | object) -> None:
        """Add replies; anything but a ``Reply`` is the body of a good one."""
        self.replies += [r if isinstance(r, Reply) else Reply(r) for r in replies]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up, as one does after a time-out, is nothing to report."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ProviderServer

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(Request(self.path, headers, body))
        reply = self.server.replies.pop(0) if self.server.replies else _NOTHING_LEFT
        time.sleep(reply.delay)
        if reply.drop:
            self.close_connection = True
            return
        text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        content = text.encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


_NOTHING_LEFT = Reply({"error": {"message": "the script has no more replies"}}, status=418)


@contextmanager
def serving() -> Iterator[ProviderServer]:
    server = ProviderServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


Call = tuple[str, dict[str, Any]]


class OpenAIProtocol:
    """Chat completions."""

    filter_error: ClassVar = (400, "The response was filtered by the content management policy")
    overflow_error: ClassVar = (400, "This model's maximum context length is 8192 tokens")

    @staticmethod
    def text(text: str | None, **more: Any) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, **more}
        return _completion(message, "stop")

    @staticmethod
    def calls(*calls: Call) -> dict[str, Any]:
        made = [
            {
                "id": f"id_{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(calls)
        ]
        return _completion({"role": "assistant", "content": None, "tool_calls": made}, "tool_calls")

    @staticmethod
    def error(message: str, status: int = 400, code: str | None = None) -> dict[str, Any]:
        return {"error": {"message": message, "type": "an_error", "code": code}}

    @staticmethod
    def empty() -> dict[str, Any]:
        return {**_completion({}, "stop"), "choices": []}

    @staticmethod
    def filtered() -> dict[str, Any]:
        return _completion({"role": "assistant", "content": None}, "content_filter")


def _completion(message: dict[str, Any], reason: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


class AnthropicProtocol:
    """Anthropic's messages."""

    filter_error: ClassVar = (400, "Output blocked by content filtering policy: content_filter")
    overflow_error: ClassVar = (400, "prompt is too long: 210000 tokens > 200000 maximum")

    @staticmethod
    def text(text: str) -> dict[str, Any]:
        return _message([{"type": "text", "text": text}], "end_turn")

    @staticmethod
    def calls(*calls: Call) -> dict[str, Any]:
        blocks = [
            {"type": "tool_use", "id": f"id_{number}", "name": name, "input": arguments}
            for number, (name, arguments) in enumerate(calls)
        ]
        return _message(blocks, "tool_use")

    @staticmethod
    def error(message: str, status: int = 400, code: str | None = None) -> dict[str, Any]:
        return {"type": "error", "error": {"type": code or "an_error", "message": message}}

    @staticmethod
    def empty() -> dict[str, Any]:
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "served-model"}

    @staticmethod
    def filtered() -> dict[str, Any]:
        return _message([], "refusal")


def _message(blocks: Sequence[dict[str, Any]], reason: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served-model",
        "content": list(blocks),
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }


class GoogleProtocol:
    """Gemini's ``generateContent``."""

    filter_error: ClassVar = (400, "Blocked by the safety settings")
    overflow_error: ClassVar = (400, "The input token count (1048577) exceeds the maximum number")

    @staticmethod
    def text(text: str) -> dict[str, Any]:
        return _candidate([{"text": text}])

    @staticmethod
    def calls(*calls: Call) -> dict[str, Any]:
        return _candidate(
            [{"functionCall": {"name": name, "args": arguments}} for name, arguments in calls]
        )

    @staticmethod
    def error(message: str, status: int = 400, code: str | None = None) -> dict[str, Any]:
        return {"error": {"code": status, "message": message, "status": code or "AN_ERROR"}}

    @staticmethod
    def empty() -> dict[str, Any]:
        return {"candidates": [], "usageMetadata": {"promptTokenCount": 100}}

    @staticmethod
    def filtered() -> dict[str, Any]:
        return {**_candidate([]), "promptFeedback": {"blockReason": "SAFETY"}, "candidates": []}


def _candidate(parts: Sequence[dict[str, Any]], reason: str = "STOP") -> dict[str, Any]:
    return {
        "candidates": [
            {"content": {"role": "model", "parts": list(parts)}, "finishReason": reason, "index": 0}
        ],
        "usageMetadata": {
            "promptTokenCount": 100,
            "candidatesTokenCount": 20,
            "totalTokenCount": 120,
        },
        "modelVersion": "served-model",
    }


candidate: Callable[..., dict[str, Any]] = _candidate
message: Callable[..., dict[str, Any]] = _message
