"""Any value as JSON that every parser reads.

A report may hold anything that a user's tool or evaluator put into it. Writing it must not fail:
what JSON cannot represent becomes text.
"""

import json
import math
from typing import Any

_MAX_DEPTH = 200


def dumps(value: object, *, indent: int | None = None) -> str:
    """``value`` as ASCII-only JSON; never raises, whatever ``value`` holds.

    Unknown objects are written as ``str`` shows them, and numbers that are not finite as the
    strings "NaN", "Infinity" and "-Infinity", since the bare words are not JSON.
    """
    try:
        return json.dumps(value, default=_text, allow_nan=False, indent=indent)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_plain(value, frozenset()), indent=indent)


def loads_object(line: bytes) -> dict[str, Any]:
    """The JSON object in a line; raises ``ValueError`` for anything else."""
    # Decoded first, as zeros left by a crash would be taken for another encoding.
    value = json.loads(line.decode())
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {type(value).__name__}")
    return value


def _plain(value: object, ancestors: frozenset[int]) -> object:
    match value:
        case None | bool() | str():
            return value
        case int():
            return _integer(value)
        case float():
            return value if math.isfinite(value) else _not_finite(value)
        case dict() | list() | tuple():
            return _container(value, ancestors)
        case _:
            return _text(value)


def _container(
    value: dict[object, object] | list[object] | tuple[object, ...], ancestors: frozenset[int]
) -> object:
    if id(value) in ancestors:
        return "<contains itself>"
    if len(ancestors) == _MAX_DEPTH:
        return "<nested too deeply>"
    inside = ancestors | {id(value)}
    if isinstance(value, dict):
        return {_key(key): _plain(item, inside) for key, item in value.items()}
    return [_plain(item, inside) for item in value]


def _key(key: object) -> object:
    return _plain(key, frozenset()) if isinstance(key, str | int | float | None) else _text(key)


def _integer(value: int) -> int | str:
    # Python refuses to print, and to read, integers of many thousand digits.
    try:
        int.__repr__(value)
    except ValueError:
        return hex(value)
    return value


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _text(value: object) -> str:
    # A foreign __str__ may raise anything, and must not cost a finished result.
    try:
        return str(value)
    except Exception as error:
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"
