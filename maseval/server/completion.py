"""OpenAI's chat completions from the server's side: requests, answers, streams and refusals."""

import json
import time
from collections.abc import Iterator, Mapping
from email.message import Message
from http import HTTPStatus
from io import BufferedIOBase
from typing import Any
from uuid import uuid4

from maseval.core.exceptions import MASEvalError
from maseval.core.messages import ChatResponse, ChatUsage

RequestBody = dict[str, Any]
"""The body of a request, as the client sent it."""

Completion = dict[str, Any]
"""An answer in the protocol's form: ``choices``, ``usage`` and ``model``."""


class Refusal(MASEvalError):
    """A request that the server does not answer; clients see the text, the code and the status.

    ``headers`` are sent with it. ``body`` replaces the usual error object.
    """

    def __init__(
        self,
        text: str,
        *,
        status: int = HTTPStatus.BAD_REQUEST,
        code: str = "invalid_request",
        headers: Mapping[str, str] | None = None,
        body: dict[str, object] | None = None,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.status = int(status)
        self.code = code
        self.headers = dict(headers or {})
        self.body: dict[str, object] = body or {
            "error": {"message": text, "type": code, "param": None, "code": code},
        }


def completion(response: ChatResponse, model: str) -> Completion:
    message: dict[str, object] = {"role": "assistant", "content": response.content}
    if response.tool_calls:
        message["tool_calls"] = response.tool_calls
    if thought := (response.reasoning or {}).get("text"):
        message["reasoning_content"] = thought
    reason = response.stop_reason or ("tool_calls" if response.tool_calls else "stop")
    return {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": _usage(response.usage or {}),
    }


def _usage(usage: ChatUsage) -> dict[str, object]:
    asked, answered = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    return {
        "prompt_tokens": asked,
        "completion_tokens": answered,
        "total_tokens": usage.get("total_tokens", asked + answered),
        "prompt_tokens_details": {"cached_tokens": usage.get("cached_input_tokens", 0)},
        "completion_tokens_details": {"reasoning_tokens": usage.get("reasoning_tokens", 0)},
    }


def encode(body: object) -> bytes:
    """Return JSON as it is sent; a lone surrogate, which UTF-8 cannot encode, becomes an escape."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")


def stream_events(answer: Completion, *, with_usage: bool) -> Iterator[bytes]:
    """Yield an answer as the events of a stream, ended as the protocol ends one."""
    head = {key: answer[key] for key in _HEAD if answer.get(key) is not None}
    head |= {"object": "chat.completion.chunk"}
    for choice in answer.get("choices") or ():
        piece = {"index": choice.get("index", 0), "finish_reason": None, "logprobs": None}
        for delta in _deltas(choice.get("message") or {}):
            yield _event({**head, "choices": [{**piece, "delta": delta}]})
        last = {**piece, "delta": {}, "finish_reason": choice.get("finish_reason")}
        yield _event({**head, "choices": [last]})
    if with_usage:
        yield _event({**head, "choices": [], "usage": answer.get("usage")})
    yield b"data: [DONE]\n\n"


_HEAD = ("id", "created", "model", "system_fingerprint", "service_tier")
_SENT_APART = frozenset({"role", "content", "tool_calls"})


def _deltas(message: Mapping[str, object]) -> Iterator[dict[str, object]]:
    content = message.get("content")
    yield {"role": message.get("role", "assistant"), "content": None if content is None else ""}
    for key, value in message.items():
        # Reasoning, refusals, citations: the keys differ between providers.
        if key not in _SENT_APART and value not in (None, []):
            yield {key: value}
    if content:
        yield {"content": content}
    calls = message.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        yield {"tool_calls": [{"index": number, **call}]}


def _event(chunk: Mapping[str, object]) -> bytes:
    return b"data: " + encode(chunk) + b"\n\n"


# More than any conversation has, and less than would fill a machine's memory.
LONGEST = 64 * 1024 * 1024
_DIGITS = 15


def read_body(stream: BufferedIOBase, headers: Message) -> bytes:
    """Read all of a request's body; raise a ``Refusal`` if it is incomplete or too long."""
    if "Transfer-Encoding" in headers:
        raise Refusal("the request has no Content-Length", status=HTTPStatus.LENGTH_REQUIRED)
    declared = str(headers.get("Content-Length", "0")).strip()
    # ``int`` takes signs and blanks, and numbers of any length.
    if not declared.isdecimal() or len(declared) > _DIGITS:
        raise Refusal(f"the Content-Length is {declared[:40]!r}, which is not a number of bytes")
    length = int(declared)
    if length > LONGEST:
        raise Refusal(
            f"a request of {length} bytes is too long; {LONGEST} are allowed",
            status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        )
    body = stream.read(length)
    if len(body) < length:
        raise Refusal(f"the request ended after {len(body)} of {length} bytes")
    return body


def parse_object(body: bytes) -> RequestBody:
    """Parse a request's body, an object in any protocol; raise a ``Refusal`` if it is none."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"the request is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise Refusal("the request is not an object")
    return request


def parse_request(body: bytes) -> RequestBody:
    """Parse a request's body; raise a ``Refusal`` that says what is missing."""
    request = parse_object(body)
    if not isinstance(request.get("messages"), list):
        raise Refusal("the request has no list of messages")
    for place, message in enumerate(request["messages"]):
        if not isinstance(message, dict):
            raise Refusal(f"messages[{place}] is not an object but {json.dumps(message)[:60]}")
    return request
