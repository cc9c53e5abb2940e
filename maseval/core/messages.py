"""What is said in a conversation: messages, tool calls, and the histories that keep them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload
from uuid import uuid4

from maseval.core.tracing import now

Message = dict[str, Any]
"""One message in OpenAI's form: ``role`` and, as they apply, ``content``, ``name``, ``tool_calls``,
``tool_call_id``; a history adds ``timestamp`` and perhaps ``metadata``."""

ToolCall = dict[str, Any]
"""``{"id", "type": "function", "function": {"name", "arguments": <JSON text>}}``."""

Content = str | list[dict[str, Any]]
"""Plain text, or a list of parts in OpenAI's form."""

OPENAI_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id")


def tool_call(
    name: str, arguments: Mapping[str, Any] | None = None, *, id: str | None = None
) -> ToolCall:
    """A call of tool ``name``, as a model would send it.

    The id is ``call_<name>`` unless given: the same call always looks the same, but two calls of
    one tool in one conversation need ids of their own.
    """
    return {
        "id": f"call_{name}" if id is None else id,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(dict(arguments or {}))},
    }


INVALID_ARGUMENTS = "invalid_json_arguments"
"""Stands for arguments that are no JSON object: no tool has it, so the call fails, and fails the
same way when it is replayed."""


def arguments_of(raw: object) -> dict[str, Any]:
    """A call's arguments as a mapping, whatever the model wrote."""
    if raw is None or raw == "":
        return {}
    decoded = raw
    if isinstance(raw, str):
        try:
            decoded = json.loads(raw)
        except ValueError:
            return {INVALID_ARGUMENTS: raw}
    if decoded is None:
        return {}
    return decoded if isinstance(decoded, dict) else {INVALID_ARGUMENTS: raw}


@dataclass
class ChatResponse:
    """What a model answered: text, tool calls, or both.

    ``usage`` counts ``input_tokens``, ``output_tokens`` and ``total_tokens``; where the provider
    tells, also ``cached_input_tokens``, ``cache_creation_input_tokens``, ``reasoning_tokens``,
    ``audio_tokens`` and ``cost``.
    """

    content: str | None = None
    tool_calls: list[ToolCall] | None = None
    role: str = "assistant"
    usage: dict[str, Any] | None = None
    model: str | None = None
    stop_reason: str | None = None

    def to_message(self) -> Message:
        """The answer as the next message of the conversation."""
        message: Message = {"role": self.role}
        if self.content is not None:
            message["content"] = self.content
        if self.tool_calls:
            message["tool_calls"] = self.tool_calls
        return message


class MessageHistory(Sequence[Message]):
    """A conversation, oldest message first.

    A list given to the constructor is used, not copied: whoever holds it sees the history grow.
    """

    def __init__(self, messages: list[Message] | None = None) -> None:
        self._messages: list[Message] = [] if messages is None else messages

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def __repr__(self) -> str:
        return f"MessageHistory({len(self)} messages)"

    def add_message(
        self,
        role: str,
        content: Content,
        name: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: str | None = None,
    ) -> None:
        """Append what ``role`` said."""
        self._add({"role": role, "content": content}, timestamp, name=name, metadata=metadata)

    def add_tool_call(
        self,
        tool_calls: list[ToolCall],
        content: Content | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: str | None = None,
    ) -> None:
        """Append an assistant message that calls tools."""
        message = {"role": "assistant", "tool_calls": tool_calls}
        self._add(message, timestamp, content=content, metadata=metadata)

    def add_tool_response(
        self,
        tool_call_id: str,
        content: Content,
        name: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: str | None = None,
    ) -> None:
        """Append what a tool answered to the call with that id."""
        message = {"role": "tool", "tool_call_id": tool_call_id, "content": content}
        self._add(message, timestamp, name=name, metadata=metadata)

    def _add(self, message: Message, timestamp: str | None, **optional: object) -> None:
        message.update({key: value for key, value in optional.items() if value is not None})
        message["timestamp"] = now() if timestamp is None else timestamp
        self._messages.append(message)

    def clear(self) -> None:
        """Forget everything."""
        self._messages.clear()

    def filter_by_role(self, role: str) -> list[Message]:
        """The messages of one role, in order."""
        return [message for message in self._messages if message.get("role") == role]

    def get_last_message(self) -> Message | None:
        """The newest message, if there is one."""
        return self._messages[-1] if self._messages else None

    def to_list(self) -> list[Message]:
        """A new list of the same messages."""
        return list(self._messages)

    def to_openai_format(self) -> list[Message]:
        """The messages without what only we know about them, ready for a model."""
        return [
            {key: message[key] for key in OPENAI_KEYS if key in message}
            for message in self._messages
        ]


class ToolInvocationHistory:
    """The calls one tool has answered, in ``logs``, oldest first."""

    def __init__(self, records: list[dict[str, Any]] | None = None) -> None:
        self.logs: list[dict[str, Any]] = [] if records is None else records

    def __len__(self) -> int:
        return len(self.logs)

    def add_invocation(
        self,
        inputs: object,
        outputs: object,
        status: object,
        timestamp: str | None = None,
        meta: object = None,
    ) -> None:
        """Record one call, under an id of its own."""
        self.logs.append(
            {
                "id": str(uuid4()),
                "inputs": inputs,
                "outputs": outputs,
                "status": status,
                "timestamp": now() if timestamp is None else timestamp,
                "meta": meta,
            }
        )

    def to_list(self) -> list[dict[str, Any]]:
        """The records themselves, not a copy."""
        return self.logs
