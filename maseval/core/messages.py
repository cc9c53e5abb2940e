"""Messages and tool calls of a conversation, and the histories that store them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Required, TypedDict, cast, overload
from uuid import uuid4

from maseval.core.storage import strict_json
from maseval.core.tracing import JsonObject, now
from maseval.core.words import count_of

Content = str | list[dict[str, object]]
"""Plain text, or a list of parts in OpenAI's form."""


class FunctionCall(TypedDict):
    """The tool that is called, and its arguments as JSON text."""

    name: str
    arguments: str


class ToolCall(TypedDict):
    """A call of a tool in OpenAI's form; ``type`` is always ``function``."""

    id: str
    type: str
    function: FunctionCall


class Reasoning(TypedDict, total=False):
    """The thinking before an answer; only the model that wrote it is ever sent it again."""

    model: str
    """The id of that model."""
    text: str
    """The part of it that the provider shows."""
    key: str
    """The key of the message under which a server of OpenAI's protocol sent the text."""
    details: dict[str, object]
    """The rest that the provider wants back: signatures, encrypted thoughts."""


class Message(TypedDict, total=False):
    """One message in OpenAI's form; a history adds ``timestamp`` and perhaps ``metadata``.

    ``reasoning`` is maseval's own: a model decides by its policy what of it is sent.
    """

    role: Required[str]
    content: Content | None
    name: str
    tool_calls: list[ToolCall]
    tool_call_id: str
    reasoning: Reasoning
    error: str | bool
    """A tool failed: how, if its answer does not say it."""
    timestamp: str
    metadata: dict[str, object]


class ChatUsage(TypedDict, total=False):
    """The token usage of one model response; only what the provider reports is present."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_input_tokens: int
    cache_creation_input_tokens: int
    reasoning_tokens: int
    audio_tokens: int
    cost: float


class MessageForm(StrEnum):
    """The form in which an adapter of OpenAI's protocol sends messages."""

    PLAIN = "plain"
    """Only what the protocol defines, because strict servers refuse the rest."""
    NULLS = "nulls"
    """Every key as given, null or not."""
    NO_NULLS = "no nulls"
    """Every key as given unless it is null."""


OPENAI_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id")


def openai_form(message: Message) -> Message:
    """Return the message without the keys that only a history uses, ready for a model."""
    known: Mapping[str, object] = message
    return cast(Message, {key: known[key] for key in OPENAI_KEYS if key in known})


def text_of(message: Message) -> str:
    """Return the text of a message; content that is a list of parts becomes JSON."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else json.dumps(content)


def tool_call(
    name: str, arguments: Mapping[str, object] | None = None, *, id: str | None = None
) -> ToolCall:
    """Return a call of tool ``name``, as a model would send it.

    The id is ``call_<name>`` unless given: equal calls look equal, but two calls of one tool in one
    conversation need different ids.
    """
    return {
        "id": f"call_{name}" if id is None else id,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(dict(arguments or {}))},
    }


INVALID_ARGUMENTS = "invalid_json_arguments"
"""The key for arguments that are not a JSON object: no tool has it, so the call fails, and fails
the same way when it is replayed."""


def arguments_of(raw: object) -> dict[str, object]:
    """Return a call's arguments as a mapping, even if the model wrote JSON that cannot be read."""
    if raw is None or raw == "":
        return {}
    decoded = raw
    if isinstance(raw, str):
        try:
            decoded = strict_json.loads(raw)
        except ValueError:
            return {INVALID_ARGUMENTS: raw}
    if decoded is None:
        return {}
    return decoded if isinstance(decoded, dict) else {INVALID_ARGUMENTS: raw}


def chat_usage(
    input_tokens: int, output_tokens: int, total_tokens: int | None = None, **parts: float | None
) -> ChatUsage:
    """Return the usage of one response; parts that are zero or unknown are left out."""
    usage = {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "total_tokens": total_tokens or input_tokens + output_tokens,
        **{name: value for name, value in parts.items() if value},
    }
    return cast(ChatUsage, usage)


@dataclass
class ChatResponse:
    """A model's response: text, tool calls, or both.

    ``reasoning`` is what the model thought before; ``parsed`` is the text as an object of the
    ``response_model`` that was asked for.
    """

    content: str | None = None
    tool_calls: list[ToolCall] | None = None
    role: str = "assistant"
    usage: ChatUsage | None = None
    model: str | None = None
    stop_reason: str | None = None
    reasoning: Reasoning | None = None
    parsed: Any = None

    def to_message(self) -> Message:
        """Return the response as the next message of the conversation."""
        message: Message = {"role": self.role}
        if self.content is not None:
            message["content"] = self.content
        if self.tool_calls:
            message["tool_calls"] = self.tool_calls
        if self.reasoning:
            message["reasoning"] = self.reasoning
        return message


class MessageHistory(Sequence[Message]):
    """A conversation, oldest message first.

    A list passed to the constructor is used, not copied, and grows with the history.
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
        return f"MessageHistory({count_of(len(self), 'message')})"

    def add_message(
        self,
        role: str,
        content: Content,
        name: str | None = None,
        metadata: dict[str, object] | None = None,
        timestamp: str | None = None,
    ) -> None:
        """Append a message of ``role``."""
        self._add({"role": role, "content": content}, timestamp, name=name, metadata=metadata)

    def add_tool_call(
        self,
        tool_calls: list[ToolCall],
        content: Content | None = None,
        metadata: dict[str, object] | None = None,
        timestamp: str | None = None,
    ) -> None:
        message: Message = {"role": "assistant", "tool_calls": tool_calls}
        self._add(message, timestamp, content=content, metadata=metadata)

    def add_response(self, response: ChatResponse) -> None:
        """Append a model's response, with what it thought."""
        message = response.to_message()
        if not response.tool_calls:
            message.setdefault("content", "")
        self._add(message)

    def add_tool_response(
        self,
        tool_call_id: str,
        content: Content,
        name: str | None = None,
        metadata: dict[str, object] | None = None,
        timestamp: str | None = None,
        error: str | bool | None = None,
    ) -> None:
        """Append a tool's answer to the call with that id; ``error`` says that it failed.

        A model is sent ``content`` alone.
        """
        message: Message = {"role": "tool", "tool_call_id": tool_call_id, "content": content}
        self._add(message, timestamp, name=name, metadata=metadata, error=error)

    def _add(self, message: Message, timestamp: str | None = None, **more: object) -> None:
        given = {name: part for name, part in more.items() if part is not None}
        # Frameworks hand over their messages late, and know when they were made.
        when = now() if timestamp is None else timestamp
        self._messages.append(cast(Message, {**message, **given, "timestamp": when}))

    def clear(self) -> None:
        self._messages.clear()

    def filter_by_role(self, role: str) -> list[Message]:
        return [message for message in self._messages if message.get("role") == role]

    def get_last_message(self) -> Message | None:
        """Return the newest message, if there is one."""
        return self._messages[-1] if self._messages else None

    def to_list(self) -> list[Message]:
        """Return a new list of the same messages."""
        return list(self._messages)

    def to_openai_format(self) -> list[Message]:
        """Return the messages without the keys that only a history uses, ready for a model."""
        return [openai_form(message) for message in self._messages]


class ToolInvocationHistory:
    """The calls one tool has answered, in ``logs``, oldest first."""

    def __init__(self, records: list[JsonObject] | None = None) -> None:
        self.logs: list[JsonObject] = [] if records is None else records

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
        """Record one call, with a new id."""
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

    def to_list(self) -> list[JsonObject]:
        """Return the records themselves, not a copy."""
        return self.logs
