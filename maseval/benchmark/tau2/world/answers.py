"""What a tool's result looks like to a model: the one text that live runs and replay compare.

After tau2-bench v0.2.0, src/tau2/environment/environment.py (MIT, Sierra Research).
"""

import json
from datetime import date
from typing import Any

from pydantic import BaseModel

from maseval.benchmark.tau2.domains.records import Record, record_text


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
