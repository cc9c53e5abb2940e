"""Any value as JSON that every parser reads, and JSON from outside, read within limits.

A report may hold anything that a user's tool or evaluator put into it. Writing it must not fail:
what JSON cannot represent becomes text. Reading must fail in one way only: ``ValueError``.
"""

import json
import math
from typing import Any

from maseval.core.exceptions import NestedTooDeeplyError

MAX_DEPTH = 100
"""The depth to which anything from outside may be nested; nothing of ours needs a tenth of it."""

TOO_DEEP = "<nested too deeply>"
"""Stands for what is deeper than anything that is written."""

# More than the limit for what is read: a report wraps what it quotes.
_MAX_DEPTH = 200


def dumps(value: object, *, indent: int | None = None) -> str:
    """``value`` as ASCII-only JSON; never raises, whatever ``value`` holds.

    Unknown objects are written as ``str`` shows them, and numbers that are not finite as the
    strings "NaN", "Infinity" and "-Infinity", since the bare words are not JSON. Among the
    ``arguments`` of a tool call they are null, as in files of tau2-bench: there a string would be
    another argument.
    """
    try:
        # What contains itself is noticed by its depth, which costs less than watching out for it.
        return json.dumps(
            value, default=_text, allow_nan=False, check_circular=False, indent=indent
        )
    except Exception:  # also of a foreign class, or as another thread changes what is written
        # Slower, and it can write anything.
        return json.dumps(_plain(value, frozenset()), indent=indent)


def plain(value: object) -> Any:
    """Return what is read of ``value`` once it is written, cut where it is nested too deeply."""
    return json.loads(json.dumps(_plain(value, frozenset())))


def loads(text: str | bytes) -> Any:
    """Return the JSON value in a text from outside; raises ``ValueError`` for anything else.

    Deeper nesting than ``MAX_DEPTH`` is a ``NestedTooDeeplyError``, which is one too: Python's own
    limit depends on the caller, and is no ``ValueError``.
    """
    value = _loads(text)
    if not is_shallow(value, MAX_DEPTH):
        raise _too_deep()
    return value


def loads_toml(text: str) -> dict[str, Any]:
    """Return the TOML document in a text from outside, in the same way."""
    import tomllib  # few commands read any

    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    if not is_shallow(document, MAX_DEPTH):
        raise _too_deep()
    return document


def loads_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line that was written here; else raise ``ValueError``."""
    # Decoded first, as zeros left by a crash would be taken for another encoding.
    value = _loads(line.decode())
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {type(value).__name__}")
    return value


def is_shallow(value: object, depth: int) -> bool:
    """Return whether lists and objects are nested at most ``depth`` deep; a text is 0 deep."""
    level = [value]
    for _ in range(depth + 1):
        containers = [each for each in level if isinstance(each, dict | list | tuple)]
        if not containers:
            return True
        level = [
            item
            for each in containers
            for item in (each.values() if isinstance(each, dict) else each)
        ]
    return False


def _loads(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> NestedTooDeeplyError:
    return NestedTooDeeplyError(
        f"it is nested more than {MAX_DEPTH} levels deep; nothing that deep is read"
    )


def _plain(value: object, ancestors: frozenset[int]) -> object:
    match value:
        case None | bool() | str():
            return value
        case int():
            return _integer(value)
        case float():
            if math.isnan(value):
                return "NaN"
            return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"
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
        return TOO_DEEP
    inside = ancestors | {id(value)}
    try:
        if isinstance(value, dict):
            return {_key(key): _plain(_value(key, item), inside) for key, item in [*value.items()]}
        return [_plain(item, inside) for item in value]
    except Exception as error:  # as above
        return _unshowable(value, error)


def _value(key: object, item: object) -> object:
    return _finite(item) if key == "arguments" else item


def _finite(argument: object) -> object:
    match argument:
        case float() if not math.isfinite(argument):
            return None
        case dict():
            return {key: _finite(item) for key, item in argument.items()}
        case list() | tuple():
            return [_finite(item) for item in argument]
    return argument


def _key(key: object) -> object:
    return _plain(key, frozenset()) if isinstance(key, str | int | float | None) else _text(key)


def _integer(value: int) -> int | str:
    # Python refuses to print, and to read, integers of many thousand digits.
    try:
        int.__repr__(value)
    except ValueError:
        return hex(value)
    return value


def _text(value: object) -> str:
    # A foreign __str__ may raise anything, and must not cost a finished result.
    try:
        return str(value)
    except Exception as error:
        return _unshowable(value, error)


def _unshowable(value: object, error: Exception) -> str:
    return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"
