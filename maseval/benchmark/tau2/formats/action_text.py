"""Messages as lines of text, and texts as messages: the form of the Gymnasium environments.

An action is a text to the other side, or one tool call: as JSON, or as one would write it in
Python. What a side sees is one line for each message.

After tau2-bench v1.0.1, src/tau2/gym (MIT, Sierra Research).
"""

import ast
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from maseval.benchmark.tau2.formats.message import (
    Requestor,
    SpokenMessage,
    Tau2Message,
    Tau2ToolCall,
    spoken_message,
    tool_calls_of,
)

_CALL = re.compile(r"\w+\s*\(.*\)")
_SIDES = ("assistant", "user")
# An action may nest as deeply as it likes, and a number may have any length.
_UNREADABLE = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)


def parse_action(action: str, requestor: Requestor) -> SpokenMessage:
    """Return the message that an action of a side is; a blank one raises ``ValueError``.

    A call in JSON has the requestor that it names, and is the agent's if it names none.
    """
    if not action.strip():
        raise ValueError("Action cannot be empty")
    call = _call_in_json(action) or _call_in_python(action.strip(), requestor)
    if call is None:
        return spoken_message(requestor, action, cost=0.0)
    return spoken_message(requestor, None, tool_calls=[call], cost=0.0)


def _call_in_json(text: str) -> Tau2ToolCall | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match found:
        case {"name": str(name), "arguments": dict(arguments)}:
            call_id, requestor = found.get("id", ""), found.get("requestor", "assistant")
            if isinstance(call_id, str) and requestor in _SIDES:
                return {"id": call_id, "name": name, "arguments": arguments, "requestor": requestor}
    return None


def _call_in_python(text: str, requestor: Requestor) -> Tau2ToolCall | None:
    if not _CALL.fullmatch(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in a text
            call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        if any(each.arg is None for each in call.keywords):  # a mapping has no name
            return None
        arguments = {str(each.arg): _value(each.value) for each in call.keywords}
    except _UNREADABLE:
        return None
    return {"id": "", "name": call.func.id, "arguments": arguments, "requestor": requestor}


def _value(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return name
        case ast.List(elts=parts):
            return [_value(part) for part in parts]
        case ast.Tuple(elts=parts):
            return tuple(_value(part) for part in parts)
        case ast.Dict(keys=keys, values=values) if None not in keys:
            pairs = zip(keys, values, strict=True)
            return {_value(key): _value(value) for key, value in pairs if key is not None}
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            number: Any = _value(operand)
            return -number if isinstance(sign, ast.USub) else +number
    raise ValueError(f"{ast.dump(node)} is not a value")


def format_call(name: str, arguments: Mapping[str, object]) -> str:
    """Return a tool call in one line, its arguments sorted by name."""
    shown = []
    for key, value in sorted(arguments.items()):
        quoted = "'" + value.replace("'", "\\'") + "'" if isinstance(value, str) else value
        shown.append(f"{key}={quoted}")
    return f"{name}({', '.join(shown)})"


def format_messages(messages: Iterable[Tau2Message]) -> str:
    """Return what a side sees: one line for each message, with its role."""
    lines = []
    for message in messages:
        calls = tool_calls_of(message)
        words = str(message.get("content"))
        if calls is not None:
            words = ", ".join(format_call(call["name"], call["arguments"]) for call in calls)
        lines.append(f"{message['role']}: {words}")
    return "\n".join(lines)
