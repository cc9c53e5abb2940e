"""What providers with protocols of their own answer, by the methods of ``OpenAIProtocol``."""

import json
from collections.abc import Mapping, Sequence

from maseval.testing.provider_server import Call, OpenAIProtocol


class ResponsesProtocol(OpenAIProtocol):
    """The Responses API, as OpenAI answers it; errors are those of chat completions."""

    @staticmethod
    def text(text: str | None, **more: object) -> dict[str, object]:
        part = {"type": "output_text", "text": text}
        return response([{**_RESPONSE_MESSAGE, "content": [part], **more}])

    @staticmethod
    def calls(*calls: Call) -> dict[str, object]:
        return response(
            [
                {
                    "type": "function_call",
                    "id": f"fc_{number}",
                    "call_id": f"id_{number}",
                    "name": name,
                    "arguments": json.dumps(arguments),
                    "status": "completed",
                }
                for number, (name, arguments) in enumerate(calls)
            ]
        )

    @staticmethod
    def empty() -> dict[str, object]:
        return response([])

    @staticmethod
    def content_filter() -> dict[str, object]:
        reason = {"reason": "content_filter"}
        return {**response([]), "status": "incomplete", "incomplete_details": reason}


_RESPONSE_MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}


def response(output: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return an answer in the form of the Responses API."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "served-model",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 120,
        },
    }


class AnthropicProtocol:
    """Messages, as Anthropic answers them."""

    filter_error = (400, "Output blocked by content filtering policy: content_filter")
    overflow_error = (400, "prompt is too long: 210000 tokens > 200000 maximum")

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

    filter_error = (400, "Blocked by the safety settings")
    overflow_error = (400, "The input token count (1048577) exceeds the maximum number")

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
