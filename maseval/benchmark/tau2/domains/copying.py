"""Copies of what a world holds; what all environments share stays one and the same.

``copy.deepcopy`` needs a millisecond for a telecom company, which is more than a simulation's whole
replay may take. Records are copied here field by field, without validation: tools store values of
any type, and a copy has them all as they are.
"""

import copy
import datetime as dt
from enum import Enum
from types import NoneType
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel

from maseval.benchmark.tau2.domains.records import (
    FrozenDict,
    FrozenList,
    Record,
    Table,
    is_shared,
)

T = TypeVar("T")
RecordT = TypeVar("RecordT", bound=Record)

_UNCHANGEABLE = frozenset({str, int, float, bool, NoneType, dt.date, dt.datetime})


class _SharedRows:
    """Marks a list of a database whose records are shared."""


SHARED_ROWS = _SharedRows()

Rows = Annotated[list[RecordT], SHARED_ROWS]
"""A short table, searched from the front: its records are shared until ``own`` takes one."""


def own(rows: list[RecordT], record: RecordT) -> RecordT:
    """A record of ``rows`` to change: a private copy takes the place of a shared one."""
    if not is_shared(record):
        return record
    index = next(index for index, each in enumerate(rows) if each is record)
    rows[index] = mine = cast(RecordT, _Copier(private=True).copied(record))
    return mine


def copied(value: T, memo: dict[int, Any]) -> T:
    """An independent copy of all that can change; ``memo`` is that of ``copy.deepcopy``."""
    return cast(T, _Copier(memo).copied(value))


class _Copier:
    """Copies things of one world, each once: what was one thing in two places stays one."""

    def __init__(self, memo: dict[int, Any] | None = None, *, private: bool = False) -> None:
        self.memo = {} if memo is None else memo
        self.private = private

    def copied(self, value: Any) -> Any:
        kind = type(value)
        if kind in _UNCHANGEABLE or isinstance(value, Enum):
            return value
        if id(value) in self.memo:
            return self.memo[id(value)]
        if kind is list or kind is FrozenList:
            return self._remembered(value, [self.copied(item) for item in value])
        if kind is dict or kind is FrozenDict:
            twin = {key: self.copied(item) for key, item in value.items()}
            return self._remembered(value, twin)
        if isinstance(value, BaseModel):
            return self._model(value)
        if isinstance(value, Table):
            return self._remembered(value, value.with_own(self.copied(value.own)))
        return copy.deepcopy(value, self.memo)

    def _remembered(self, value: object, twin: object) -> object:
        self.memo[id(value)] = twin
        return twin

    def _model(self, model: BaseModel) -> BaseModel:
        if isinstance(model, Record) and not self.private and is_shared(model):
            return model
        twin = object.__new__(type(model))
        self.memo[id(model)] = twin
        fields = {name: self.copied(value) for name, value in model.__dict__.items()}
        object.__setattr__(twin, "__dict__", fields)
        object.__setattr__(twin, "__pydantic_fields_set__", set(model.__pydantic_fields_set__))
        object.__setattr__(twin, "__pydantic_extra__", self.copied(model.__pydantic_extra__))
        object.__setattr__(twin, "__pydantic_private__", self.copied(model.__pydantic_private__))
        return twin
