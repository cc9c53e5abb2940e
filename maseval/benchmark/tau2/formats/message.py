"""Messages and tool calls in v0.2.0's form: their types, and how to read and make them.

At the end they are converted to the chat format of language models and back.

After tau2-bench v0.2.0, src/tau2/data_model/message.py (MIT, Sierra Research).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from maseval.core.exceptions import MASEvalError
from maseval.core.messages import (
    ChatResponse,
    FunctionCall,
    Message,
    Reasoning,
    ToolCall,
    arguments_of,
)
from maseval.core.words import count_of, cut

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


OVERRIDE = "override"
PERTURBED = "perturbed"
"""The key of a tool message that was perturbed on purpose: by ``faults``, or in its structure."""


class Override(TypedDict):
    """The part of an answer that is not the original's, under ``OVERRIDE`` in its tool message.

    ``calls`` are those that reached the original's tools, each with its ``content`` and ``error``
    there; ``wrote`` is True if something else changed the databases.
    """

    tool: str
    calls: list[dict[str, Any]]
    wrote: bool


class _ToldByRole:
    """Tells pydantic to choose the form of a message by its role; others need not load it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic import Field

        return handler(Annotated[source, Field(discriminator="role")])


Tau2Message = Annotated[SystemMessage | SpokenMessage | ToolMessage, _ToldByRole()]
Reply = Callable[[Sequence[Tau2Message]], SpokenMessage]

AnsweredCall = tuple[int, Tau2ToolCall, Tau2Message]
ToolAnswer = tuple[str, bool]
"""The text of an answer, and whether it is an error's."""

# Every other key that may be missing is null.
_DEFAULTS: Mapping[str, object] = {"id": "", "requestor": "assistant", "error": False}


def complete(message: Tau2Message) -> Tau2Message:
    """Return a message with the keys that v0.2.0 writes, in its order, defaults filled in."""
    match message["role"]:
        case "tool":
            return cast(ToolMessage, _with_keys(message, ToolMessage))
        case "system":
            return cast(SystemMessage, _with_keys(message, SystemMessage))
        case _:
            form = cast(SpokenMessage, _with_keys(message, SpokenMessage))
            calls = message.get("tool_calls")
            if calls is not None:
                form["tool_calls"] = [complete_call(call) for call in calls]
            return form


def complete_call(call: Tau2ToolCall) -> Tau2ToolCall:
    """Return a tool call with the keys that v0.2.0 writes, defaults filled in."""
    return {
        "id": call.get("id", ""),
        "name": call["name"],
        "arguments": call["arguments"],
        "requestor": call.get("requestor", "assistant"),
    }


def tool_message(call: Tau2ToolCall, answer: ToolAnswer) -> ToolMessage:
    """Return the environment's answer to a call as a message."""
    content, error = answer
    return {
        "id": call["id"],
        "role": "tool",
        "content": content,
        "requestor": call["requestor"],
        "error": error,
    }


def _with_keys(record: Mapping[str, object], form: type) -> dict[str, object]:
    keys = form.__annotations__
    if list(record) == list(keys):  # as in nearly all that was recorded
        return dict(record)
    return {key: record.get(key, _DEFAULTS.get(key)) for key in keys}


INITIAL_GREETING = "Hi! How can I help you today?"
STOP = "###STOP###"
TRANSFER = "###TRANSFER###"
OUT_OF_SCOPE = "###OUT-OF-SCOPE###"
STOP_TOKENS = (STOP, TRANSFER, OUT_OF_SCOPE)


class AnsweredMessages(list[Tau2Message]):
    """A checked conversation in which every call has all its keys and is followed by its answer.

    ``calls`` are the calls, each with the index of its answer and the answer itself.
    """

    __slots__ = ("calls",)

    def __init__(self, messages: Iterable[Tau2Message], calls: list[AnsweredCall]) -> None:
        super().__init__(messages)
        self.calls = calls


def tool_calls_of(message: Tau2Message) -> list[Tau2ToolCall] | None:
    """Return the tool calls of a message; None if it has none."""
    # Asked of every message, and most have none, which is found out at once.
    calls: Any = message.get("tool_calls")
    return calls if calls is not None and message["role"] in ("assistant", "user") else None


def calls_in(messages: Sequence[Tau2Message]) -> list[Tau2ToolCall]:
    if isinstance(messages, AnsweredMessages):
        return [call for _, call, _ in messages.calls]
    return [call for message in messages for call in tool_calls_of(message) or ()]


def override_of(answer: Tau2Message) -> Override | None:
    """Return how an answer differs from the original's; None for what is no such record."""
    found: Any = answer.get(OVERRIDE)
    whole = isinstance(found, Mapping) and found.keys() == Override.__annotations__.keys()
    return cast(Override, found) if whole and isinstance(found["calls"], list) else None


def original_calls(index: int, call: Tau2ToolCall, answer: Tau2Message) -> list[AnsweredCall]:
    """Return the calls of the original's tools behind a recorded one, which is nearly always it."""
    override = override_of(answer)
    if override is None:
        return [(index, call, answer)]
    made = ({**each, "id": call.get("id", "")} for each in override["calls"])
    return [(index, cast(Tau2ToolCall, one), cast(ToolMessage, {**answer, **one})) for one in made]


def without_overrides(messages: Iterable[Tau2Message]) -> list[Tau2Message]:
    """Return messages in the original's form, which has no place for overridden tools."""
    return [complete(each) if OVERRIDE in each else each for each in messages]


def describe_overrides(messages: Iterable[Tau2Message]) -> str | None:
    """Say which answers are not those of the original's tools; None if all are."""
    every = [*messages]
    # A perturbed answer has an override as well, which is none of the environment's class.
    if perturbed := sum(PERTURBED in each for each in every):
        return (
            f"{count_of(perturbed, 'answer')} perturbed on purpose. The verdict counts what "
            "reached the tools."
        )
    found = [override for each in every if (override := override_of(each)) is not None]
    if not found:
        return None
    tools = ", ".join(dict.fromkeys(each["tool"] for each in found))
    writers = ", ".join(dict.fromkeys(each["tool"] for each in found if each["wrote"]))
    calls = count_of(sum(len(each["calls"]) for each in found), "call")
    written = f"; what {writers} wrote in another way does not count" if writers else ""
    return (
        f"{count_of(len(found), 'answer')} came from tools or hooks that the environment overrides "
        f"({tools}). The verdict counts what reached the original's tools: {calls}{written}."
    )


def is_tool_call(message: Tau2Message) -> bool:
    """Return True if a message goes to the environment; an empty list of calls does, in v0.2.0."""
    return tool_calls_of(message) is not None


def spoken_text(message: Tau2Message) -> str:
    """Return the text of a message; an empty one if it says nothing."""
    content = message.get("content")
    return content if content is not None and content.strip() else ""


def has_text(message: Tau2Message) -> bool:
    return bool(spoken_text(message))


def is_user_stop(message: Tau2Message) -> bool:
    """Return True if a user's message ends the conversation; with tool calls it never does."""
    content = message.get("content") or ""
    return not is_tool_call(message) and any(token in content for token in STOP_TOKENS)


def call_text(call: Tau2ToolCall) -> str:
    """Return a tool call as v0.2.0 prints it in its errors."""
    lines = [f"ToolCall (from {call.get('requestor', 'assistant')})"]
    if call.get("id"):
        lines.append(f"id: {call['id']}")
    lines += [f"name: {call['name']}", f"arguments:\n{json.dumps(call['arguments'], indent=2)}"]
    return "\n".join(lines)


def message_text(message: Tau2Message) -> str:
    """Return a message as v0.2.0 prints it in its errors."""
    if message["role"] == "tool":
        title = f"ToolMessage (responding to {message.get('requestor', 'assistant')})"
    else:
        title = f"{message['role'].capitalize()}Message"
    shown = {key: message.get(key) for key in ("turn_idx", "timestamp", "content")}
    lines = [title, *(f"{key}: {value}" for key, value in shown.items() if value is not None)]
    if message["role"] == "tool":
        lines += ["Error"] * bool(message.get("error"))
    elif message["role"] != "system":
        calls, cost = message.get("tool_calls"), message.get("cost")
        lines += [] if calls is None else ["ToolCalls", *map(call_text, calls)]
        lines += [] if cost is None else [f"cost: {cost}"]
    return "\n".join(lines)


def message_text_of_1_0_1(message: Tau2Message) -> str:
    """Return a message as v1.0.1 prints it; only spoken messages differ from v0.2.0."""
    if message["role"] not in ("assistant", "user"):
        return message_text(message)
    lines = [f"{message['role'].capitalize()}Message"]
    lines += [f"content: {message.get('content')}"] * has_text(message)
    calls = tool_calls_of(message)
    lines += [] if calls is None else ["ToolCalls:", *map(call_text, calls)]
    chunk = message.get("chunk_id")
    lines += [] if chunk is None else [f"chunk_id: {chunk}"]
    lines += ["is_final_chunk: True"] * bool(message.get("is_final_chunk", True))
    return "\n".join(lines)


def spoken_message(
    role: Requestor,
    content: str | None,
    *,
    tool_calls: list[Tau2ToolCall] | None = None,
    cost: float | None = None,
    usage: dict[str, object] | None = None,
    raw_data: dict[str, object] | None = None,
) -> SpokenMessage:
    """Return a message of a side, with every key that v0.2.0 writes."""
    return {
        "role": role,
        "content": content,
        "tool_calls": tool_calls,
        "turn_idx": None,
        "timestamp": None,
        "cost": cost,
        "usage": usage,
        "raw_data": raw_data,
    }


assistant_message = partial(spoken_message, "assistant")
user_message = partial(spoken_message, "user")


def to_chat(messages: Iterable[Tau2Message]) -> list[Message]:
    """Return messages in the form that a ``ModelAdapter`` takes."""
    return [_to_chat(message) for message in messages]


def to_history(messages: Iterable[Tau2Message]) -> list[Message]:
    """Return messages as traces show them: as ``to_chat``, and with the user's own tool calls.

    Every text is the same object as in ``messages``, so a history stores none a second time.
    """
    history = []
    for message in messages:
        chat: Any = _to_chat(message)
        if message["role"] == "user" and message.get("tool_calls") is not None:
            chat["tool_calls"] = [_call_to_chat(call) for call in message["tool_calls"] or ()]
        if message["role"] == "tool" and message.get("requestor") == "user":
            chat["requestor"] = "user"
        history.append(chat)
    return history


def _to_chat(message: Tau2Message) -> Message:
    if message["role"] == "tool":
        return {"role": "tool", "content": message["content"], "tool_call_id": message["id"]}
    chat: Message = {"role": message["role"], "content": message["content"]}
    calls = tool_calls_of(message)
    if calls is not None and message["role"] == "assistant":
        chat["tool_calls"] = [_call_to_chat(call) for call in calls]
    return chat


def _call_to_chat(call: Tau2ToolCall) -> ToolCall:
    function: FunctionCall = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
    return {"id": call["id"], "type": "function", "function": function}


def from_chat(messages: Iterable[Mapping[str, object]]) -> list[Tau2Message]:
    """Return messages in v0.2.0's form; those that have it already are left as they are."""
    return [cast(Tau2Message, _from_chat(message)) for message in messages]


def _from_chat(message: Mapping[str, Any]) -> Mapping[str, object]:
    if message["role"] == "tool" and "id" not in message and "tool_call_id" in message:
        return {**message, "id": message["tool_call_id"]}
    if not message.get("tool_calls"):
        return message
    side = message.get("requestor") or message["role"]
    calls = [
        call
        # Some adapters write the flat form, with the arguments still as a text.
        if "function" not in call and not isinstance(call.get("arguments"), str)
        else _call_from_chat(call, call.get("requestor", side))
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def _call_from_chat(call: Mapping[str, Any], requestor: Requestor) -> Tau2ToolCall:
    function = call.get("function") or call  # some adapters give the name and the arguments flat
    return {
        "id": call.get("id") or "",
        "name": str(function.get("name") or ""),
        "arguments": arguments_of(function.get("arguments")),
        "requestor": requestor,
    }


def calls_of(response: ChatResponse, requestor: Requestor) -> list[Tau2ToolCall] | None:
    """Return the tool calls of a reply, on behalf of one side; None if there are none."""
    if not response.tool_calls:
        return None
    return [_call_from_chat(call, requestor) for call in response.tool_calls]


class BlankRequestError(MASEvalError, AssertionError):
    """A request to a model contains a message that says nothing."""


def check_sendable(messages: Iterable[Tau2Message]) -> None:
    """Refuse a request as v1.0.1 does; an empty list of calls is one, and tools may say nothing."""
    for message in messages:
        if message["role"] == "system" and not has_text(message):
            words = "System message must have content"
        elif message["role"] in ("assistant", "user") and not (
            has_text(message) or is_tool_call(message)
        ):
            words = "Message must have content or tool calls"
        else:
            continue
        raise BlankRequestError(f"{words}. got {message_text_of_1_0_1(message)}")


def reply_facts(response: ChatResponse) -> dict[str, Any]:
    """Return the cost of a reply, its usage and the thoughts behind it; None if not reported."""
    usage: dict[str, object] = {**(response.usage or {})}
    cost = usage.get("cost")
    return {
        "cost": float(cost) if isinstance(cost, int | float) else None,
        "usage": usage or None,
        # A message of tau2 has no field for thoughts, but this one may hold anything.
        "raw_data": {_THOUGHT: response.reasoning} if response.reasoning else None,
    }


_THOUGHT = "reasoning"


def thought_of(message: Tau2Message) -> Reasoning | None:
    """Return what the model thought that wrote a message, if the record has it."""
    raw = message.get("raw_data")
    if raw is None:  # as of nearly all: to ask for the type takes longer
        return None
    found = raw.get(_THOUGHT) if isinstance(raw, Mapping) else None
    return cast(Reasoning, found) if isinstance(found, Mapping) else None


def with_thought(chat: Message, message: Tau2Message) -> Message:
    """Return a message for the model that wrote it; its policy decides about the thought."""
    thought = thought_of(message) if chat["role"] == "assistant" else None
    return {**chat, "reasoning": thought} if thought else chat


def without_thought(message: Tau2Message) -> Tau2Message:
    """Return a message as the other side hears it."""
    if thought_of(message) is None:
        return message
    raw = cast("Mapping[str, object]", message.get("raw_data"))
    # What the provider sent besides is no thought, and stays.
    rest = {key: value for key, value in raw.items() if key != _THOUGHT}
    return cast(SpokenMessage, {**message, "raw_data": rest or None})


def messages_seen_by(messages: Iterable[Tau2Message], side: Requestor) -> list[Tau2Message]:
    """Return the part of a history that one side has seen."""
    seen = []
    for message in messages:
        if message["role"] == "tool":
            is_seen = message.get("requestor", "assistant") == side
        else:
            is_seen = message["role"] == side or not is_tool_call(message)
        if is_seen:
            seen.append(message if message["role"] == side else without_thought(message))
    return seen


_LONGEST_ARGUMENT, _LONGEST_CALL = 160, 300


def render_call(call: Mapping[str, Any]) -> str:
    """Return a call as one would write it in Python, cut where it gets long."""
    values = (
        (k, json.dumps(v, default=str, ensure_ascii=False)) for k, v in call["arguments"].items()
    )
    arguments = ", ".join(f"{name}={cut(value, _LONGEST_ARGUMENT)}" for name, value in values)
    side = "user: " if call.get("requestor") == "user" else ""
    return cut(f"{side}{call['name']}({arguments})", _LONGEST_CALL)
