"""Matching of requests: two are the same if no model could tell them apart.

A request is reduced to what can change its answer. Ignored are delivery options,
billing and user fields, keys, and everything that is ``None``. The ids of tool calls are numbered
by position, since some frameworks invent new ones each time.
"""

import json
from collections.abc import Mapping
from typing import Any

from maseval.core.storage.redaction import REDACTED, redact

Canonical = dict[str, Any]
"""A request as it is compared: without what cannot change its answer, spelled one way."""

_CanonicalMessage = dict[str, object]

_DELIVERY = frozenset({"stream", "stream_options", "timeout", "service_tier"})
_BOOKKEEPING = frozenset(
    {*("user", "metadata", "store", "safety_identifier"), *("prompt_cache_key", "prompt_cache")}
    | {"prompt_cache_retention", "extra_headers"}
)
# Within a JSON schema a null is a value: a default, a constant.
_SCHEMAS = frozenset({"parameters", "schema"})
_LARGEST_EXACT = 2**53


def canonical(request: Mapping[str, object]) -> Canonical:
    """Return the request in a canonical form, so that equal requests compare equal."""
    plain: Canonical = {
        key: _plain(value, in_schema=key in _SCHEMAS)
        for key, value in request.items()
        if _matters(key, value)
    }
    plain["messages"] = _number_calls([_message(message) for message in plain.get("messages", [])])
    return plain


def _matters(key: str, value: object) -> bool:
    if key in _DELIVERY or key in _BOOKKEEPING or value is None or value == []:
        return False
    return bool(redact({key: value})[key] != REDACTED)


def _plain(value: object, *, in_schema: bool = False) -> object:
    match value:
        case Mapping():
            return {
                str(key): _plain(item, in_schema=in_schema or key in _SCHEMAS)
                for key, item in value.items()
                if in_schema or item is not None
            }
        case list():
            return [_plain(item, in_schema=in_schema) for item in value]
        case float() if value.is_integer() and abs(value) < _LARGEST_EXACT:
            return int(value)
        case _:
            return value


def _message(message: _CanonicalMessage) -> _CanonicalMessage:
    if message.get("tool_calls") == []:
        message = {key: part for key, part in message.items() if key != "tool_calls"}
    match message.get("content"):
        case [{"type": "text", "text": str(text), **more}] if not more:
            return {**message, "content": text}
    return message


def _number_calls(messages: list[_CanonicalMessage]) -> list[_CanonicalMessage]:
    """Name calls by position, and results after their calls.

    An id that is used twice refers to its latest call.
    """
    names: dict[object, str] = {}
    made = 0

    def next_name(of: object) -> str:
        nonlocal made
        made += 1
        names[_hashable(of)] = f"call_{made}"
        return f"call_{made}"

    numbered = []
    for message in messages:
        message = dict(message)
        if isinstance(calls := message.get("tool_calls"), list):
            message["tool_calls"] = [
                {**call, "id": next_name(call.get("id"))} if isinstance(call, dict) else call
                for call in calls
            ]
        if (answered := message.get("tool_call_id")) is not None:
            message["tool_call_id"] = names.get(_hashable(answered)) or next_name(answered)
        numbered.append(message)
    return numbered


def _hashable(value: object) -> object:
    return value if isinstance(value, str) else json.dumps(value)
