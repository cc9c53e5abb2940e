"""Comparison of two databases: equal if their hashes would be, without writing either of them down.

The text that enters a hash takes longer to make than many a conversation takes to replay. Values of
which nobody can say at sight whether their texts are equal, such as a number and a text, are left
to the texts.
"""

import datetime as dt
from collections.abc import Iterable
from enum import Enum
from functools import cache
from typing import Any

from maseval.benchmark.tau2.domains.records import Record, Table

_AS_THEY_ARE = (str, int, bool, dt.date)


def same_text(one: Any, other: Any) -> bool | None:
    """Return True if two values enter a hash as the same text; None if only the texts can tell."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return None
    if kind in _AS_THEY_ARE:
        return bool(one == other)
    if kind is float:
        return repr(one) == repr(other)  # which tells 0.0 from -0.0, and finds NaN equal
    if kind is list:
        return False if len(one) != len(other) else all_same(zip(one, other, strict=True))
    if kind is dict:
        return _same_fields(one, other)
    if issubclass(kind, Enum):
        return False  # members are one of a kind
    if issubclass(kind, Record) and _writes_its_fields(kind):
        return _same_fields(one.__dict__, other.__dict__)
    return bool(one.state() == other.state()) if issubclass(kind, Table) else None


def all_same(pairs: Iterable[tuple[Any, Any]]) -> bool | None:
    """Return True if both values of each pair enter a hash as the same text."""
    found: bool | None = True
    for one, other in pairs:
        if one is not other:  # most are: copies share what cannot change
            same = same_text(one, other)
            if same is False:
                return False
            found = found and same
    return found


def _same_fields(one: dict[Any, Any], other: dict[Any, Any]) -> bool | None:
    if one.keys() != other.keys():
        return None
    changed = [key for key, value in one.items() if value is not other[key]]
    return all_same((one[key], other[key]) for key in changed) if changed else True


@cache
def _writes_its_fields(kind: type[Record]) -> bool:
    """Return True if a record is written field by field: nothing added, left out or changed."""
    decorators = kind.__pydantic_decorators__
    ways = (
        *(decorators.field_serializers, decorators.model_serializers),
        decorators.computed_fields,
    )
    fields = kind.model_fields.values()
    return not any(ways) and not any(field.exclude for field in fields)
