"""Messages and tool calls in v0.2.0's form.

After tau2-bench v0.2.0, src/tau2/data_model/message.py (MIT, Sierra Research).
"""

from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict  # typing's own is enough for pydantic from 3.12 on

Requestor = Literal["assistant", "user"]


class Tau2ToolCall(TypedDict):
    """A tool to be called, by name, on behalf of one side."""

    id: NotRequired[str]
    name: str
    arguments: dict[str, object]
    requestor: NotRequired[Requestor]


class SystemMessage(TypedDict):
    """The instructions a model is given before anybody speaks."""

    role: Literal["system"]
    content: NotRequired[str | None]
    turn_idx: NotRequired[int | None]
    timestamp: NotRequired[str | None]


class SpokenMessage(TypedDict):
    """A message of the agent or the user: a text, or tool calls."""

    role: Requestor
    content: NotRequired[str | None]
    tool_calls: NotRequired[list[Tau2ToolCall] | None]
    turn_idx: NotRequired[int | None]
    timestamp: NotRequired[str | None]
    cost: NotRequired[float | None]
    usage: NotRequired[dict[str, object] | None]
    raw_data: NotRequired[dict[str, object] | None]


class ToolMessage(TypedDict):
    """The environment's answer to one call."""

    id: str
    role: Literal["tool"]
    content: NotRequired[str | None]
    requestor: NotRequired[Requestor]
    error: NotRequired[bool]
    turn_idx: NotRequired[int | None]
    timestamp: NotRequired[str | None]


Tau2Message = Annotated[SystemMessage | SpokenMessage | ToolMessage, Field(discriminator="role")]

# Every other key that may be missing is null.
_DEFAULTS: Mapping[str, object] = {"id": "", "requestor": "assistant", "error": False}


def complete(message: Tau2Message) -> Tau2Message:
    """A message with the keys that v0.2.0 writes, in its order, defaults filled in."""
    match message["role"]:
        case "tool":
            return cast(ToolMessage, _filled(message, ToolMessage))
        case "system":
            return cast(SystemMessage, _filled(message, SystemMessage))
        case _:
            form = cast(SpokenMessage, _filled(message, SpokenMessage))
            calls = message.get("tool_calls")
            if calls is not None:
                form["tool_calls"] = [complete_call(call) for call in calls]
            return form


def complete_call(call: Tau2ToolCall) -> Tau2ToolCall:
    """A tool call with the keys that v0.2.0 writes, defaults filled in."""
    return {
        "id": call.get("id", ""),
        "name": call["name"],
        "arguments": call["arguments"],
        "requestor": call.get("requestor", "assistant"),
    }


def _filled(record: Mapping[str, object], form: type) -> dict[str, object]:
    return {key: record.get(key, _DEFAULTS.get(key)) for key in form.__annotations__}
