"""Copies in series: how to copy something that does not change any more is worked out once.

Every simulation of a task begins with a copy of the same databases and toolkits. ``copied`` looks
at each value of each record, every time, to see what has to be copied; here that was seen before,
and what is left to do for a record is a copy of its dictionary with the new parts put in place.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pydantic import BaseModel

from maseval.benchmark.tau2.domains.base import DB, ToolKitBase, shared_rows
from maseval.benchmark.tau2.domains.copying import RecordLink, is_unchangeable
from maseval.benchmark.tau2.domains.records import Record, Table, is_shared
from maseval.core.exceptions import MASEvalError

Made = list[Any]
CopyStep = Callable[[Made], Any]
ChangeableParts = list[tuple[Any, int]]
"""Where in a value its changeable parts are, and which step makes each of them."""

T = TypeVar("T")

_new, _set = object.__new__, object.__setattr__


class NoPatternError(MASEvalError):
    """There is a value in it of a kind that only ``copy.deepcopy`` knows how to copy."""


class Pattern:
    """The steps that make copies of ``originals``, which must not change from now on.

    One thing in two places stays one in a copy.
    """

    def __init__(self, originals: Iterable[object]) -> None:
        self._steps: list[CopyStep] = []
        self._places: dict[int, int | None] = {}
        self._originals = list(originals)
        self._made_by = [self._place(original) for original in self._originals]

    def copies(self) -> list[Any]:
        """Independent copies, in the order of the originals."""
        made: Made = []
        add = made.append
        for step in self._steps:
            add(step(made))
        pairs = zip(self._originals, self._made_by, strict=True)
        return [original if at is None else made[at] for original, at in pairs]

    def _place(self, value: Any) -> int | None:
        """The step that copies a value; None if all may share it."""
        if is_unchangeable(type(value)) or (isinstance(value, Record) and is_shared(value)):
            return None
        if id(value) not in self._places:
            self._places[id(value)] = None
            step = self._step(value)
            self._steps.append(step)
            self._places[id(value)] = len(self._steps) - 1
        place = self._places[id(value)]
        if place is None:
            raise NoPatternError("it is inside itself")
        return place

    def _step(self, value: Any) -> CopyStep:
        if type(value) is list:
            return _copies(value, self._parts(enumerate(value)))
        if type(value) is dict:
            return _copies(value, self._parts(value.items()))
        if isinstance(value, Table):
            return self._table(value)
        if isinstance(value, Record) or _is_copied_as_usual(value, DB):
            return self._model(value)
        if isinstance(value, RecordLink) or _is_copied_as_usual(value, ToolKitBase):
            return _instances(type(value), vars(value), self._parts(vars(value).items()))
        raise NoPatternError(f"a {type(value).__name__} is copied in its own way")

    def _parts(self, items: Iterable[tuple[Any, Any]]) -> ChangeableParts:
        return [(key, at) for key, value in items if (at := self._place(value)) is not None]

    def _table(self, table: Table[Any]) -> CopyStep:
        own = self._place(table.own)
        assert own is not None
        return lambda made: table.with_own(made[own])

    def _model(self, model: Record | DB) -> CopyStep:
        if model.__pydantic_extra__ is not None:
            raise NoPatternError(f"{type(model).__name__} has fields beyond its own")
        private = self._place(model.__pydantic_private__)
        rows = shared_rows(type(model)) if isinstance(model, DB) else ()
        for name in rows:  # whose records are shared, and need not be looked at
            self._steps.append(_copies(getattr(model, name), []))
            self._places[id(getattr(model, name))] = len(self._steps) - 1
        return _models(model, self._parts(model.__dict__.items()), private)


def _is_copied_as_usual(value: Any, kind: type[DB] | type[ToolKitBase[Any]]) -> bool:
    """Return True if it is of a kind, and of no class that knows better how it is copied."""
    return isinstance(value, kind) and type(value).twin is kind.twin


def _copies(value: list[Any] | dict[Any, Any], parts: ChangeableParts) -> CopyStep:
    if not parts:
        return lambda made: value.copy()

    def step(made: Made) -> Any:
        twin = value.copy()
        for key, at in parts:
            twin[key] = made[at]
        return twin

    return step


def _instances(cls: type[T], values: dict[str, Any], parts: ChangeableParts) -> Callable[[Made], T]:
    def step(made: Made) -> T:
        twin = _new(cls)
        own = vars(twin)
        own.update(values)
        for name, at in parts:
            own[name] = made[at]
        return twin

    return step


def _models(model: BaseModel, parts: ChangeableParts, private: int | None) -> CopyStep:
    cls, values, given = type(model), model.__dict__, model.__pydantic_fields_set__

    def step(made: Made) -> BaseModel:
        twin = _new(cls)
        fields = values.copy()
        for name, at in parts:
            fields[name] = made[at]
        _set(twin, "__dict__", fields)
        _set(twin, "__pydantic_fields_set__", set(given))
        _set(twin, "__pydantic_extra__", None)
        _set(twin, "__pydantic_private__", None if private is None else made[private])
        return twin

    return step
