"""OpenAI's chat completions: a conversation as a request, and an answer as a ``ChatResponse``.

Shared by every adapter whose library or server uses that protocol. Servers differ in what they
tolerate, so a request contains only what the protocol defines; an answer may be an object of the
library or a plain mapping.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias, cast

from maseval.core.answers import amount, call_arguments, call_id, tokens, tool_name
from maseval.core.exceptions import ConfigurationError, MASEvalError, UnreadableAnswerError
from maseval.core.messages import (
    ChatResponse,
    ChatUsage,
    Message,
    MessageForm,
    Reasoning,
    ToolCall,
    chat_usage,
)
from maseval.core.reasoning import reasoning_of, without_reasoning
from maseval.core.storage import strict_json
from maseval.core.structured import AnswerForm
from maseval.core.words import excerpt
from maseval.interface.inference.endings import check_ending
from maseval.interface.inference.http import RefusedAnswer, kind_of, status_of_code

JsonSchema: TypeAlias = dict[str, Any]
"""A JSON schema, as it is sent to a model."""


ToolDefinitions: TypeAlias = Sequence[dict[str, Any]]
"""Tools in OpenAI's form: a ``type``, which is ``function``, and a ``function`` with the schema of
its arguments in ``parameters``."""

ToolChoice = str | dict[str, Any]
"""Which tool to call: ``auto``, ``none``, ``required``, or one of them by its name."""

NO_PARAMETERS: JsonSchema = {"type": "object", "properties": {}}

_KEYS = {"tool": ("content", "tool_call_id")}
_OTHER_KEYS = ("content", "name")

# Where servers and LiteLLM put what a model thought: its text, and what they want back with it.
_THOUGHTS = ("reasoning_content", "reasoning")
_THOUGHT_DETAILS = ("reasoning_details", "thinking_blocks")


def request_messages(
    messages: Iterable[Message], form: MessageForm = MessageForm.PLAIN
) -> list[Message]:
    """Return the messages in a form; the plain one lacks keys that strict servers refuse.

    Thoughts that are to be sent back get the keys under which they came.
    """
    return [
        cast(Message, {**_in_form(without_reasoning(message), form), **_thought_keys(message)})
        for message in messages
    ]


def _in_form(message: Message, form: MessageForm) -> Message:
    match form:
        case MessageForm.PLAIN:
            return _request_message(message)
        case MessageForm.NULLS:
            return message
        case MessageForm.NO_NULLS:
            return cast(Message, {k: v for k, v in message.items() if v is not None})


def thought_details(message: Message) -> dict[str, Any]:
    """Return what a provider wants back with a message beside the text of its thoughts."""
    return (reasoning_of(message) or {}).get("details") or {}


def _thought_keys(message: Message) -> dict[str, object]:
    thought, found = reasoning_of(message) or {}, thought_details(message)
    details = {key: found[key] for key in _THOUGHT_DETAILS if key in found}
    key = thought.get("key")
    return {key: thought.get("text", ""), **details} if key in _THOUGHTS else details


def _request_message(message: Message) -> Message:
    role = message.get("role", "user")
    keys = _KEYS.get(role, _OTHER_KEYS)
    known: Mapping[str, object] = message
    kept = {key: known[key] for key in keys if known.get(key) is not None}
    if calls := message.get("tool_calls") if role == "assistant" else None:
        kept["tool_calls"] = [
            {**function_call("", called["name"], called.get("arguments")), "id": call.get("id")}
            for call in calls
            if (called := call["function"])
        ]
    # Some servers require the key, and all accept null where there are tool calls.
    kept.setdefault("content", None if calls else "")
    return cast(Message, {"role": role, **kept})


def function_call(call_id: str | None, name: str | None, arguments: object) -> ToolCall:
    """Return a tool call; ``arguments`` are JSON text, or values that become it."""
    return {
        "id": call_id or "",
        "type": "function",
        "function": {"name": name or "", "arguments": as_json(arguments)},
    }


def as_json(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments or "{}"
    try:
        return json.dumps(arguments or {}, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnreadableAnswerError(
            f"the arguments of a tool call are not JSON ({error})"
        ) from None


def as_object(arguments: object) -> dict[str, object]:
    """Return a call's arguments as a mapping; ``{}`` if they are not one."""
    if isinstance(arguments, str):
        try:
            arguments = strict_json.loads(arguments or "{}")
        except ValueError:
            return {}
    return sendable(dict(arguments)) if isinstance(arguments, Mapping) else {}


@cache
def response_format(form: AnswerForm[Any]) -> dict[str, object] | None:
    """Return the protocol's parameters for a form; None for one that is not an object."""
    if form.schema.get("type") != "object":
        return None
    strict = strict_schema(form.schema)
    schema = {"name": form.name, "schema": strict or form.schema, "strict": strict is not None}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


class _FreeFormError(MASEvalError):  # a signal, never seen
    """A schema allows keys that it does not name."""


def strict_schema(schema: JsonSchema) -> JsonSchema | None:
    """Return a schema in the strict form, in which objects have all their keys and no other.

    Providers follow it to the letter. None if it allows any keys, as a ``dict`` does.
    """
    try:
        return cast(JsonSchema, _strict(schema))
    except _FreeFormError:
        return None


def _strict(schema: object) -> object:
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:
        # Nothing may stand beside a reference in the strict form.
        return {"$ref": schema["$ref"]}
    strict: JsonSchema = {
        # Providers that follow a schema strictly know neither oneOf nor defaults. What const and
        # enum list are values, and not schemas to be changed.
        "anyOf" if key == "oneOf" else key: value
        if key in ("const", "enum")
        else {name: _strict(each) for name, each in value.items()}
        if key in ("properties", "$defs")
        else _strict(value)
        for key, value in schema.items()
        if key not in ("default", "discriminator")
    }
    if schema.get("type") == "object":
        if "properties" not in schema or schema.get("additionalProperties"):
            raise _FreeFormError("any keys")
        strict |= {"additionalProperties": False, "required": list(schema["properties"])}
    return strict


def sendable(thing: Any) -> Any:
    """Return the same without what models do write and no request can contain.

    Lone surrogates are replaced, and numbers that are not finite become text.
    """
    match thing:
        case str():
            # By way of UTF-16, in which two surrogates that belong together become their character.
            return thing.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case Mapping():
            return {key: sendable(value) for key, value in thing.items()}
        case list() | tuple():
            return [sendable(item) for item in thing]
        case float() if not math.isfinite(thing):
            return str(thing)
    return thing


def calls_so_far(messages: Iterable[Message]) -> int:
    """Count the tool calls in a conversation, which makes the ids of new calls unique."""
    return sum(len(message.get("tool_calls") or ()) for message in messages)


def system_text(messages: Iterable[Message]) -> str:
    """Return all instructions of a conversation, for a provider that takes them apart."""
    system = (m for m in messages if m["role"] in ("system", "developer"))
    return "\n\n".join(text for message in system if (text := text_of(message.get("content"))))


def text_of(content: object) -> str:
    """Return the text of a message's content, which is text or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return str(content)
    texts = [part["text"] for part in content if isinstance(part, Mapping) and "text" in part]
    if len(texts) != len(content):
        raise ConfigurationError(f"this model accepts only text parts, not {excerpt(content)}")
    return "\n".join(texts)


@contextmanager
def reading(answer: object) -> Iterator[None]:
    """Raise whatever goes wrong inside as the answer's fault: its parts may be anything."""
    try:
        yield
    except MASEvalError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise UnreadableAnswerError(
            f"{type(error).__name__} in the answer {excerpt(answer)}"
        ) from error


def typed_parts(answer: object, name: str) -> Sequence[Any]:
    """Return the list ``name`` of an answer; raise unless each part of it says its type."""
    parts = get(answer, name)
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        raise UnreadableAnswerError(f"no {name} in the answer {excerpt(answer)}")
    if not all(isinstance(kind := get(part, "type"), str) and kind for part in parts):
        raise UnreadableAnswerError(f"a part without a type in the answer {excerpt(answer)}")
    return parts


def check_error(error: object) -> None:
    """Raise the failure that a provider reports inside an answer that came with a good status."""
    words = error if isinstance(error, str) else get(error, "message")
    code = get(error, "code")
    code = get(error, "type") if code is None and words else code
    if words or code is not None:  # some servers add an empty error to every answer
        status = status_of_code(code)
        text = str(words or "") if status == code or code is None else f"{code}: {words}"
        # Without a code it is an answer that cannot be used; an unknown code is taken for the
        # server's failure.
        unknown = 200 if code is None else 500
        raise RefusedAnswer(kind_of(status or unknown, text, code), text, status)


def chat_response(answer: object, *, earlier_calls: int = 0) -> ChatResponse:
    """Return the first choice of an answer.

    Raises:
        UnreadableAnswerError: There is no choice, or nothing in it that can be read.
        RefusedAnswer: The provider failed, or a content filter withheld it.
    """
    with reading(answer):
        return _chat_response(answer, earlier_calls)


def _chat_response(answer: object, earlier_calls: int) -> ChatResponse:
    check_error(get(answer, "error"))
    choices = get(answer, "choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str) or not choices:
        raise UnreadableAnswerError(f"no choices in the answer {excerpt(answer)}")
    choice = choices[0]
    reason = get(choice, "finish_reason")
    check_error(get(choice, "error"))
    message = get(choice, "message")
    # LiteLLM and OpenRouter translate some failures to `stop`, and keep the original beside it.
    native = get(get(choice, "provider_specific_fields") or choice, "native_finish_reason")
    for ending in (native, reason):
        check_ending(ending, words=get(message, "refusal"))
    if message is None and get(choice, "text") is not None:  # as servers of plain completions do
        message = {"content": get(choice, "text")}
    if not is_object(message):
        raise UnreadableAnswerError(f"no message in the answer {excerpt(answer)}")
    content = _content(message)
    tool_calls = _tool_calls(get(message, "tool_calls"), earlier_calls)
    if not (content or tool_calls):
        check_ending(reason, is_silent=True)
    if content is None and not tool_calls:
        _check_silence(message, reason)
    return ChatResponse(
        content=content,
        tool_calls=tool_calls or None,
        role=get(message, "role") or "assistant",
        usage=usage_of(get(answer, "usage")),
        model=get(answer, "model"),
        stop_reason=reason,
        reasoning=_reasoning(message),
    )


def _reasoning(message: object) -> Reasoning | None:
    found: Reasoning = {}
    # Reversed, so that the first of the names counts where a server sends both.
    for key in reversed(_THOUGHTS):
        if isinstance(text := get(message, key), str) and text:
            found |= {"text": text, "key": key}
    details = {key: list(value) for key in _THOUGHT_DETAILS if (value := list_in(message, key))}
    return {**found, "details": dict(details)} if details else found or None


def _check_silence(message: object, reason: object) -> None:
    """Refuse a message without content, unless it says so: then it is the model that is silent."""
    if reason == "tool_calls":
        raise UnreadableAnswerError("it ends because of tool calls, and there are none")
    if reason != "length" and not _says(message, "content"):
        raise UnreadableAnswerError(f"no content in the message {excerpt(message)}")


def _says(message: object, name: str) -> bool:
    if isinstance(message, Mapping):
        return name in message
    # An object of the library has every attribute, whether or not it was received.
    received = getattr(message, "model_fields_set", None)
    return hasattr(message, name) if received is None else name in received


def _content(message: object) -> str | None:
    content = get(message, "content")
    return _content_text(get(message, "refusal") if content is None else content)


def _content_text(content: object) -> str | None:
    match content:
        case None | str():
            return content
        case list() if all(isinstance(get(part, "text"), str) for part in content):
            return "\n".join(get(part, "text") for part in content)
    raise UnreadableAnswerError(f"the content is not text: {excerpt(content)}")


def _tool_calls(calls: object, earlier: int) -> list[ToolCall]:
    if calls is None:
        return []
    if not isinstance(calls, list | tuple):
        raise UnreadableAnswerError(f"tool_calls is not a list: {excerpt(calls)}")
    return [_tool_call(call, f"call_{number}") for number, call in enumerate(calls, earlier)]


def _tool_call(call: object, own_id: str) -> ToolCall:
    function = get(call, "function")
    if function is None:
        raise UnreadableAnswerError(f"a tool call without a function: {excerpt(call)}")
    made = received_call(get(call, "id"), get(function, "name"), get(function, "arguments"))
    return made if made["id"] else {**made, "id": own_id}


def received_call(own_id: object, name: object, arguments: object) -> ToolCall:
    """Return a tool call of an answer; raise if its parts are not what they must be."""
    return function_call(call_id(own_id), tool_name(name), call_arguments(arguments))


def usage_of(usage: object) -> ChatUsage | None:
    """Return the tokens and, if reported, the cost; parts of a sum only if they are not 0.

    Reasoning is a part of the output; a server whose sum shows that it counts it apart is adjusted.
    """
    if usage is None:
        return None
    of_prompt = get(usage, "prompt_tokens_details")
    of_answer = get(usage, "completion_tokens_details")
    audio = tokens(get(of_prompt, "audio_tokens")) + tokens(get(of_answer, "audio_tokens"))
    asked, answered = tokens(get(usage, "prompt_tokens")), tokens(get(usage, "completion_tokens"))
    total, thought = (
        tokens(get(usage, "total_tokens")),
        tokens(get(of_answer, "reasoning_tokens")),
    )
    if thought and total == asked + answered + thought:
        answered += thought
    return chat_usage(
        asked,
        answered,
        total,
        cached_input_tokens=tokens(get(of_prompt, "cached_tokens")),
        cache_creation_input_tokens=tokens(get(of_prompt, "cache_creation_tokens")),
        reasoning_tokens=thought,
        audio_tokens=audio,
        cost=amount(get(usage, "cost")),
    )


def is_object(thing: object) -> bool:
    """Return whether something has named parts: a mapping, or an object of a library."""
    return thing is not None and not isinstance(thing, str | bytes | int | float | list | tuple)


def list_in(thing: object, name: str) -> list[Any]:
    """Return the list ``name`` of a mapping or an object; an empty one if that is none."""
    found = get(thing, name)
    return found if isinstance(found, list) else []


def get(thing: object, name: str) -> Any:
    """Return the item or attribute ``name`` of a mapping or an object; None if it has none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
