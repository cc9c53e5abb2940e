"""Tool calls for a model that was not trained for them: a schema constrains its answers.

The tools are described in the system message. Each answer is one object, ``{"content": text}`` or
``{"tool_calls": [{"name", "arguments"}]}``; earlier calls and results are written the same way.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from maseval.core.messages import FunctionCall, Message, ToolCall
from maseval.interface.inference.chat_completions import (
    NO_PARAMETERS,
    FunctionDefinition,
    ToolChoice,
    ToolDefinition,
    as_object,
    text_of,
)

_BEGUN = re.compile(r'\{\s*"content"\s*:\s*"')
_EXPLANATION = """\
These tools are at your disposal, each with the JSON schema of its arguments:
{tools}

Answer with one JSON object. To speak: {{"content": "what you say"}}
To call a tool: {{"tool_calls": [{{"name": "the tool", "arguments": {{...}}}}]}}"""


def answer_schema(
    tools: Iterable[ToolDefinition],
    tool_choice: ToolChoice | None = None,
    *,
    parallel: bool = False,
) -> dict[str, object] | None:
    """The schema of an answer; None if no tool may be called, so that any text is allowed."""
    if tool_choice == "none":
        return None
    wanted = tool_choice["function"]["name"] if isinstance(tool_choice, Mapping) else None
    functions = [tool["function"] for tool in tools]
    offered = [f for f in functions if wanted is None or f["name"] == wanted]
    definitions: dict[str, object] = {}
    calls: dict[str, object] = {
        "type": "array",
        "minItems": 1,
        "items": {"anyOf": [_call_schema(function, definitions) for function in offered]},
    }
    if not parallel:
        calls["maxItems"] = 1
    forms = [_object(tool_calls=calls)]
    if tool_choice in (None, "auto"):
        forms.insert(0, _object(content={"type": "string", "minLength": 1}))
    schema: dict[str, object] = {"anyOf": forms}
    return {**schema, "$defs": definitions} if definitions else schema


def _call_schema(function: FunctionDefinition, definitions: dict[str, object]) -> dict[str, object]:
    """The schema of a call; its ``$defs`` move to the top of the whole schema."""
    name = function["name"]
    parameters = _renamed(function.get("parameters") or NO_PARAMETERS, f"#/$defs/{name}.")
    for own_name, definition in parameters.pop("$defs", {}).items():
        definitions[f"{name}.{own_name}"] = definition
    return _object(name={"const": name}, arguments={"additionalProperties": False, **parameters})


def _renamed(schema: Any, prefix: str) -> Any:
    if isinstance(schema, list):
        return [_renamed(item, prefix) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: value.replace("#/$defs/", prefix)
        if key == "$ref" and isinstance(value, str)
        else _renamed(value, prefix)
        for key, value in schema.items()
    }


def _object(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def told(messages: Sequence[Message], tools: Iterable[ToolDefinition]) -> list[Message]:
    """The conversation with the tools described, and with calls and results as plain text."""
    explanation = _EXPLANATION.format(tools="\n".join(_line(tool["function"]) for tool in tools))
    system = [text_of(m.get("content")) for m in messages if m["role"] == "system"]
    first: Message = {"role": "system", "content": "\n\n".join([*system, explanation])}
    names: dict[str | None, str] = {
        call.get("id"): call["function"]["name"]
        for message in messages
        for call in message.get("tool_calls") or ()
    }
    return [first, *(_told(m, names) for m in messages if m["role"] != "system")]


def _told(message: Message, names: Mapping[str | None, str]) -> Message:
    text = text_of(message.get("content"))
    if message["role"] == "tool":
        call_id = message.get("tool_call_id")
        return {"role": "user", "content": f"Result of {names.get(call_id, call_id)}: {text}"}
    if message["role"] != "assistant":
        return {"role": message["role"], "content": text}
    if calls := message.get("tool_calls"):
        said = {"tool_calls": [_told_call(call["function"]) for call in calls]}
        return {"role": "assistant", "content": json.dumps(said, ensure_ascii=False)}
    spoken = json.dumps({"content": text}, ensure_ascii=False)
    return {"role": "assistant", "content": spoken}


def _told_call(function: FunctionCall) -> dict[str, object]:
    return {"name": function["name"], "arguments": as_object(function.get("arguments"))}


def _line(function: FunctionDefinition) -> str:
    schema = _untitled(function.get("parameters") or NO_PARAMETERS)
    told_schema = json.dumps(schema, ensure_ascii=False)
    return f"- {function['name']}: {function.get('description', '')} {told_schema}"


def _untitled(schema: Any) -> Any:
    """The schema without titles, which repeat the names and make up a fifth of the prompt."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: value if key in ("const", "default", "enum", "examples") else _untitled(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


def read_answer(text: str, first_number: int = 0) -> tuple[str | None, list[ToolCall] | None]:
    """The text and the calls of an answer; a truncated one yields the text so far."""
    try:
        answer = json.loads(text)
    except ValueError:
        return _said_so_far(text), None
    match answer:
        case {"content": str(content)}:
            return content, None
        case {"tool_calls": [*calls]}:
            return None, [_call(call, number) for number, call in enumerate(calls, first_number)]
    return text, None


def _said_so_far(text: str) -> str:
    begun = _BEGUN.match(text)
    if begun is None:
        return text
    said = text[begun.end() :]
    # It may have been cut within an escape such as \u00e9, or between two surrogates.
    for end in range(len(said), max(len(said) - 6, -1), -1):
        with suppress(ValueError):
            return str(json.loads(f'"{said[:end]}"')).encode(errors="ignore").decode()
    return text


def _call(call: Mapping[str, Any], number: int) -> ToolCall:
    arguments = json.dumps(call.get("arguments") or {}, ensure_ascii=False)
    return {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": call["name"], "arguments": arguments},
    }
