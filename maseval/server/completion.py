"""OpenAI's chat completions from the server's side: answers, streamed answers, and refusals."""

import json
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from maseval.core.exceptions import MASEvalError
from maseval.core.messages import ChatResponse

Completion = dict[str, Any]
"""An answer in the protocol's form: its ``choices``, its ``usage``, and whose it is."""


class Refusal(MASEvalError):
    """A request that the server does not answer; clients see the text, the code and the status."""

    def __init__(
        self, text: str, *, status: int = HTTPStatus.BAD_REQUEST, code: str = "invalid_request"
    ) -> None:
        super().__init__(text)
        self.text = text
        self.status = int(status)
        self.code = code

    @property
    def body(self) -> dict[str, Any]:
        """What a client reads."""
        return {
            "error": {"message": self.text, "type": self.code, "param": None, "code": self.code}
        }


def completion(response: ChatResponse, model: str) -> Completion:
    """A model's answer in the protocol's form."""
    message: dict[str, Any] = {"role": "assistant", "content": response.content}
    if response.tool_calls:
        message["tool_calls"] = response.tool_calls
    reason = response.stop_reason or ("tool_calls" if response.tool_calls else "stop")
    return {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": _usage(response.usage or {}),
    }


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    asked, answered = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    return {
        "prompt_tokens": asked,
        "completion_tokens": answered,
        "total_tokens": usage.get("total_tokens", asked + answered),
        "prompt_tokens_details": {"cached_tokens": usage.get("cached_input_tokens", 0)},
        "completion_tokens_details": {"reasoning_tokens": usage.get("reasoning_tokens", 0)},
    }


def streamed(answer: Completion, *, with_usage: bool) -> Iterator[str]:
    """An answer as the events of a stream, ended as the protocol ends one."""
    head = {"id": answer.get("id"), "created": answer.get("created"), "model": answer.get("model")}
    head |= {"object": "chat.completion.chunk"}
    for choice in answer["choices"]:
        index = choice.get("index", 0)
        for delta in _deltas(choice["message"]):
            yield _event({**head, "choices": [_piece(index, delta, None)]})
        yield _event({**head, "choices": [_piece(index, {}, choice.get("finish_reason"))]})
    if with_usage:
        yield _event({**head, "choices": [], "usage": answer.get("usage")})
    yield "data: [DONE]\n\n"


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": message.get("role", "assistant"), "content": ""}
    if message.get("content"):
        yield {"content": message["content"]}
    for number, call in enumerate(message.get("tool_calls") or ()):
        yield {"tool_calls": [{"index": number, **call}]}


def _piece(index: int, delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "finish_reason": reason, "logprobs": None}


def _event(chunk: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"
