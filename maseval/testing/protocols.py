"""Texts, tool calls and errors in the form of each provider.

The classes have the same methods, so that one test can be run against all providers.
"""

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

Call = tuple[str, dict[str, object]]


class OpenAIProtocol:
    """Chat completions, as OpenAI answers them."""

    filter_error: ClassVar[tuple[int, str]] = (
        400,
        "The response was filtered by the content management policy",
    )
    overflow_error: ClassVar[tuple[int, str]] = (
        400,
        "This model's maximum context length is 8192 tokens",
    )

    @staticmethod
    def text(text: str | None, **more: object) -> dict[str, object]:
        return completion({"role": "assistant", "content": text, **more}, "stop")

    @staticmethod
    def calls(*calls: Call) -> dict[str, object]:
        made = [
            {
                "id": f"id_{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(calls)
        ]
        return completion({"role": "assistant", "content": None, "tool_calls": made}, "tool_calls")

    @staticmethod
    def error(message: str, status: int = 400, code: str | None = None) -> dict[str, object]:
        return {"error": {"message": message, "type": "an_error", "code": code}}

    @staticmethod
    def empty() -> dict[str, object]:
        return {**completion({}, "stop"), "choices": []}

    @staticmethod
    def content_filter() -> dict[str, object]:
        return completion({"role": "assistant", "content": None}, "content_filter")


def completion(message: dict[str, object], reason: str) -> dict[str, object]:
    """Return an answer in OpenAI's form."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


class AnthropicProtocol:
    """Messages, as Anthropic answers them."""

    filter_error: ClassVar[tuple[int, str]] = (
        400,
        "Output blocked by content filtering policy: content_filter",
    )
    overflow_error: ClassVar[tuple[int, str]] = (
        400,
        "prompt is too long: 210000 tokens > 200000 maximum",
    )

    @staticmethod
    def text(text: str) -> dict[str, object]:
        return message([{"type": "text", "text": text}], "end_turn")

    @staticmethod
    def calls(*calls: Call) -> dict[str, object]:
        blocks = [
            {"type": "tool_use", "id": f"id_{number}", "name": name, "input": arguments}
            for number, (name, arguments) in enumerate(calls)
        ]
        return message(blocks, "tool_use")

    @staticmethod
    def error(message: str, status: int = 400, code: str | None = None) -> dict[str, object]:
        return {"type": "error", "error": {"type": code or "an_error", "message": message}}

    @staticmethod
    def empty() -> dict[str, object]:
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "served-model"}

    @staticmethod
    def content_filter() -> dict[str, object]:
        return message([], "refusal")


def message(blocks: Sequence[Mapping[str, object]], reason: str) -> dict[str, object]:
    """Return an answer in Anthropic's form."""
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
    """``generateContent``, as Gemini answers it."""

    filter_error: ClassVar = (400, "Blocked by the safety settings")
    overflow_error: ClassVar[tuple[int, str]] = (
        400,
        "The input token count (1048577) exceeds the maximum number",
    )

    @staticmethod
    def text(text: str) -> dict[str, object]:
        return candidate([{"text": text}])

    @staticmethod
    def calls(*calls: Call) -> dict[str, object]:
        return candidate(
            [{"functionCall": {"name": name, "args": arguments}} for name, arguments in calls]
        )

    @staticmethod
    def error(message: str, status: int = 400, code: str | None = None) -> dict[str, object]:
        return {"error": {"code": status, "message": message, "status": code or "AN_ERROR"}}

    @staticmethod
    def empty() -> dict[str, object]:
        return {"candidates": [], "usageMetadata": {"promptTokenCount": 100}}

    @staticmethod
    def content_filter() -> dict[str, object]:
        return {**candidate([]), "promptFeedback": {"blockReason": "SAFETY"}, "candidates": []}


def candidate(parts: Sequence[Mapping[str, object]], reason: str = "STOP") -> dict[str, object]:
    """Return an answer in Google's form."""
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
