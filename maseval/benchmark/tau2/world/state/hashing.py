"""The hash of a database: SHA-256 over its sorted JSON, taken up before the first change.

A database has megabytes and a simulation changes a few records. The tables before the first one
that was changed are not read again, and of those after it only the changed records are written
anew.

The text that enters a hash takes longer to make than many a conversation takes to replay. So two
values are compared as they enter a hash without writing either of them down where that can be.

After tau2-bench v0.2.0, src/tau2/environment/db.py (MIT, Sierra Research).
"""

import datetime as dt
import operator
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, lru_cache
from hashlib import sha256
from itertools import takewhile
from typing import Any

from maseval.benchmark.tau2.world.state.records import (
    FrozenList,
    Record,
    SharedDict,
    SharedTable,
    Table,
    TableState,
    canonical_record,
)

# What is shared enters a hash as what it was made of.
_MADE_OF: Mapping[type[Any], type[Any]] = {FrozenList: list, SharedDict: dict}


def same_text(one: Any, other: Any) -> bool | None:
    """Return True if two values enter a hash as the same text; None if only the texts can tell."""
    if one is other:
        return True
    kind, theirs = type(one), type(other)
    if kind is not theirs:
        kind = _MADE_OF.get(kind, kind)
        if kind is not _MADE_OF.get(theirs, theirs):
            return None
    return (_ways_to_compare.get(kind) or _way_to_compare(kind))(one, other)


def _way_to_compare(kind: type[Any]) -> "Comparison":
    way: Comparison = lambda one, other: None  # noqa: E731
    if issubclass(kind, Enum):
        way = operator.is_  # members are one of a kind
    elif issubclass(kind, Record) and _writes_its_fields(kind):
        way = lambda one, other: same_fields(one.__dict__, other.__dict__)  # noqa: E731
    elif issubclass(kind, Table):
        way = _same_tables
    _ways_to_compare[kind] = way
    return way


def _same_items(one: list[Any], other: list[Any]) -> bool | None:
    if len(one) != len(other):
        return False
    found: bool | None = True
    for mine, theirs in zip(one, other, strict=True):
        if mine is not theirs:  # most are one: copies share what cannot change
            same = same_text(mine, theirs)
            if same is False:
                return False
            found = found and same
    return found


def _same_tables(one: Table[Any], other: Table[Any]) -> bool:
    """Compare the records that either side has touched; texts are made only where they decide."""
    if type(one) is not Table or one.shared is not other.shared:
        return bool(one.state() == other.state())
    for key in one.touched | other.touched:
        mine, theirs = one.find(key), other.find(key)
        if mine is None or theirs is None:
            if mine is not theirs:
                return False
            continue
        same = same_text(mine, theirs)
        if same is None:
            same = canonical_record(mine) == canonical_record(theirs)
        if not same:
            return False
    return True


def same_fields(one: dict[Any, Any], other: dict[Any, Any]) -> bool | None:
    """Return True if two mappings enter a hash as the same text; None if only texts can tell."""
    if one.keys() != other.keys():
        return None
    found: bool | None = True
    for key, mine in one.items():
        theirs = other[key]
        if mine is not theirs:
            same = same_text(mine, theirs)
            if same is False:
                return False
            found = found and same
    return found


Comparison = Callable[[Any, Any], bool | None]

_ways_to_compare: dict[type[Any], Comparison] = {
    **dict.fromkeys((str, int, bool, dt.date), operator.eq),
    **dict.fromkeys((list, FrozenList), _same_items),
    **dict.fromkeys((dict, SharedDict), same_fields),
    # The digits tell 0.0 from -0.0, and find NaN equal.
    float: lambda one, other: repr(one) == repr(other),
}


@cache
def _writes_its_fields(kind: type[Record]) -> bool:
    """Return True if a record is written field by field: nothing added, left out or changed."""
    decorators = kind.__pydantic_decorators__
    ways = (
        decorators.field_serializers,
        decorators.model_serializers,
        decorators.computed_fields,
    )
    fields = kind.model_fields.values()
    return not any(ways) and not any(field.exclude for field in fields)


DBState = dict[str, str | TableState]


def state_hash(state: DBState) -> str:
    """Return the hash of the database that was in this state."""
    return _hash_parts(
        tuple(
            (name, part.shared, *sorted(part.changes.items()))
            if type(part) is TableState
            else (name, str(part))
            for name, part in sorted(state.items())
        )
    )


@lru_cache(maxsize=1024)  # trials that do the same end in the same state
def _hash_parts(parts: tuple[tuple[Any, ...], ...]) -> str:
    unchanged = [*takewhile(lambda part: len(part) == 2 and type(part[1]) is not str, parts)]
    hasher = _hash_after(tuple(unchanged)).copy()
    for number, (name, part, *changes) in enumerate(parts[len(unchanged) :], len(unchanged)):
        text = part if type(part) is str else TableState(part, dict(changes))
        hasher.update(f'{", " if number else ""}"{name}": {text}'.encode())
    hasher.update(b"}")
    return str(hasher.hexdigest())


@lru_cache(maxsize=64)
def _hash_after(tables: tuple[tuple[str, SharedTable[Any]], ...]) -> Any:
    """Return the state of a hash after the first tables of a database, as they were loaded."""
    if not tables:
        return sha256(b"{")
    *before, (name, table) = tables
    hasher = _hash_after(tuple(before)).copy()
    hasher.update(f'{", " if before else ""}"{name}": {table.text()}'.encode())
    return hasher
