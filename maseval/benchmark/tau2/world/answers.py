"""What a tool's result looks like to a model: the one text that live runs and replay compare.

After tau2-bench v0.2.0, src/tau2/environment/environment.py (MIT, Sierra Research).
"""

import json
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from pydantic import BaseModel

from maseval.benchmark.tau2.domains.records import Record, record_text
from maseval.benchmark.tau2.formats.message import Tau2ToolCall, ToolMessage


def to_json_str(result: Any) -> str:
    """A tool's result as the text a model reads."""
    if isinstance(result, str):
        return result
    if isinstance(result, Record):
        return record_text(result)
    if isinstance(result, list) and all(isinstance(item, Record) for item in result):
        return f"[{', '.join(map(record_text, result))}]"
    return json.dumps(_plain(result), default=str)


def _plain(value: Any) -> Any:
    match value:
        case BaseModel():
            return value.model_dump(warnings=False)
        case str() | None:
            return value
        case int() | float():
            return str(value)
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case date():
            return value.isoformat()
        case _:
            raise ValueError(f"Unsupported type: {type(value)}")


def answer_of(tools: Mapping[str, Callable[..., object]], call: Tau2ToolCall) -> ToolMessage:
    """What a side's own function answers to a call: a text, also where it fails."""
    try:
        if call["name"] not in tools:
            raise LookupError(f"Tool '{call['name']}' not found.")
        content = to_json_str(tools[call["name"]](**call["arguments"]))
    except Exception as error:  # a tool called by a model: its error is an answer
        content = f"Error: {error}"
    return {"role": "tool", "id": call["id"], "content": content, "requestor": call["requestor"]}
