"""How a scripted agent asks the user for one of its own actions, and how the user reads that."""

import json
import re
from collections.abc import Mapping
from typing import Any

from maseval.benchmark.tau2.formats.message import Requestor, Tau2ToolCall


def request_for(tool_name: str, arguments: Mapping[str, Any]) -> str:
    """Words that ask the user for one of its own actions; ``requests_in`` reads them."""
    shown = json.dumps(arguments) if arguments else ""
    return f"Please do this on your side and tell me what you see: `{tool_name}({shown})`"


def requests_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The actions that a text asks for, written like ``toggle_data()`` or ``name({"x": 1})``.

    They stand in backticks; the arguments are a JSON object.
    """
    found = []
    for match in re.finditer(r"`(\w+)\(", text):
        arguments, rest = _leading_object(text[match.end() :])
        if arguments is not None and rest.lstrip().startswith(")`"):
            found.append((match[1], arguments))
    return found


def _leading_object(text: str) -> tuple[dict[str, Any] | None, str]:
    if not text.startswith("{"):
        return {}, text
    try:
        arguments, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None, text
    return arguments, text[end:]


def call(
    call_id: str, name: str, arguments: Mapping[str, Any], requestor: Requestor
) -> Tau2ToolCall:
    """A tool call, with arguments of its own."""
    return {"id": call_id, "name": name, "arguments": {**arguments}, "requestor": requestor}
