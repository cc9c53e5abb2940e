"""Copies of what a world holds; what all environments share stays one and the same.

``copy.deepcopy`` needs a millisecond for a telecom company, which is more than a simulation's whole
replay may take. Records are copied here field by field, without validation: tools store values of
any type, and a copy has them all as they are.

After tau2-bench v0.2.0, src/tau2/environment/db.py (MIT, Sierra Research).
"""

import copy
import datetime as dt
import threading
from collections.abc import Callable
from enum import Enum
from functools import lru_cache, wraps
from types import NoneType
from typing import Annotated, Any, ParamSpec, TypeVar, cast

from pydantic import BaseModel

from maseval.benchmark.tau2.world.state.records import (
    FrozenList,
    Record,
    SharedDict,
    Table,
    is_shared,
)

OwnedT = TypeVar("OwnedT", bound=Record)
ModelT = TypeVar("ModelT", bound=BaseModel)

_UNCHANGEABLE = (str, int, float, NoneType, Enum, dt.date)
_known_unchangeable: set[type] = {*_UNCHANGEABLE, bool}

Memo = dict[int, Any]
"""What was copied already, as in ``copy.deepcopy``: one thing in two places stays one."""

_new, _set = object.__new__, object.__setattr__
_ways_to_copy: dict[type[Any], Callable[[Any, Memo], Any]] = {}

SHARED_ROWS = object()
"""Marks a list of a database whose records are shared."""

Rows = Annotated[list[OwnedT], SHARED_ROWS]
"""A short table, searched from the front: its records are shared until ``own`` takes one."""


def own(rows: list[OwnedT], record: OwnedT) -> OwnedT:
    """A record of ``rows`` to change: a private copy takes the place of a shared one.

    Records inside it stay shared, and refuse to be changed; its lists may be added to.
    """
    if not is_shared(record):
        return record
    index = next(index for index, each in enumerate(rows) if each is record)
    rows[index] = mine = with_fields(record, _private, {})
    return mine


def _private(value: Any, memo: Memo) -> Any:
    """Undo ``freeze`` for lists and mappings: return one that can be changed again."""
    if isinstance(value, FrozenList):
        return [_private(item, memo) for item in value]
    if isinstance(value, SharedDict):
        return {key: _private(item, memo) for key, item in value.items()}
    return value


def copy_value(value: Any, memo: Memo) -> Any:
    """An independent copy of all that can change."""
    kind: type[Any] = type(value)
    if kind in _known_unchangeable:
        return value
    twin = memo.get(id(value))
    if twin is None:
        if kind not in _ways_to_copy:
            _ways_to_copy[kind] = _way_to_copy(kind)
        twin = memo[id(value)] = _ways_to_copy[kind](value, memo)
    return twin


def _way_to_copy(kind: type[Any]) -> Callable[[Any, Memo], Any]:
    if issubclass(kind, (*_UNCHANGEABLE, SharedDict)):  # which refuses writes
        _known_unchangeable.add(kind)
        return lambda value, memo: value
    if kind is list:
        return lambda value, memo: [copy_value(item, memo) for item in value]
    if kind is dict:
        return lambda value, memo: {key: copy_value(item, memo) for key, item in value.items()}
    if issubclass(kind, Table):
        return lambda table, memo: table.with_own(copy_value(table.own, memo) if table.own else {})
    if issubclass(kind, Record):
        return lambda record, memo: (
            record if is_shared(record) else with_fields(record, copy_value, memo)
        )
    own_way: Callable[[Any, Memo], Any] | None = getattr(kind, "__deepcopy__", None)
    return own_way or copy.deepcopy


def with_fields(model: ModelT, copy_of: Callable[[Any, Memo], Any], memo: Memo) -> ModelT:
    """A copy of a model, with its own version of each field's value; nothing is validated."""
    twin = _new(type(model))
    values = model.__dict__.copy()
    for name, value in model.__dict__.items():
        # Looked at here, as nearly all are such and the call would be most of the work.
        if type(value) not in _known_unchangeable:
            values[name] = copy_of(value, memo)
    extra, private = model.__pydantic_extra__, model.__pydantic_private__
    _set(twin, "__dict__", values)
    _set(twin, "__pydantic_fields_set__", set(model.__pydantic_fields_set__))
    _set(twin, "__pydantic_extra__", None if extra is None else copy_of(extra, memo))
    _set(twin, "__pydantic_private__", None if private is None else copy_of(private, memo))
    return twin


P = ParamSpec("P")
T = TypeVar("T")


def once(maxsize: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """``lru_cache`` without the stampede: the same question is never worked on twice."""

    def remember(function: Callable[P, T]) -> Callable[P, T]:
        cached = cast(Callable[P, T], lru_cache(maxsize)(function))
        lock = threading.Lock()

        @wraps(function)
        def ask(*args: P.args, **kwargs: P.kwargs) -> T:
            lock.acquire()
            try:
                return cached(*args, **kwargs)
            finally:  # unlike the end of a with statement, this needs no memory
                lock.release()

        return ask

    return remember
