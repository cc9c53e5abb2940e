"""A world at one moment, whose records can be looked up and compared field by field."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from maseval.benchmark.tau2.domains.base import DBState
from maseval.benchmark.tau2.domains.permanence import ABSENT
from maseval.benchmark.tau2.domains.records import SharedTable, Table, TableState
from maseval.benchmark.tau2.world.world import World

DatabaseSide = Literal["company", "customer"]
FieldPath = tuple[str | int, ...]


def path_text(path: FieldPath) -> str:
    """Return a path as it is written behind a name, such as ``.items[0].price``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


@dataclass(frozen=True)
class FieldPlace:
    """The position of a value: side, table, record and path within the record."""

    side: DatabaseSide
    table: str
    record: str | None
    path: FieldPath = ()

    def __str__(self) -> str:
        name = self.table if self.record is None else f"{self.table}[{self.record}]"
        return name + path_text(self.path)

    @property
    def whole(self) -> "FieldPlace":
        return FieldPlace(self.side, self.table, self.record)


class FieldDifference(NamedTuple):
    """A value that is not what it should be."""

    place: FieldPlace
    expected: object
    found: object


class WorldSnapshot:
    """All that the hashes of a world depended on when it was taken."""

    def __init__(self, world: World) -> None:
        self.state = world.state()
        customer = world.user_tools
        if customer is not None and customer.db is world.tools.db:  # both sides work on one
            self.state = self.state._replace(customer=None)
        self._loaded: dict[tuple[DatabaseSide, str], SharedTable[Any]] = {}
        toolkits: dict[DatabaseSide, Any] = {"company": world.tools, "customer": customer}
        for side, toolkit in toolkits.items():
            for name, value in toolkit.db if toolkit else ():
                if isinstance(value, Table):
                    self._loaded[side, name] = value.shared

    def side(self, side: DatabaseSide) -> DBState:
        """Return one side's database; empty where that side has none."""
        return (self.state.company if side == "company" else self.state.customer) or {}

    def value(self, place: FieldPlace) -> object:
        """Return the value at a place, or ``ABSENT``."""
        value = self._record(place)
        for step in place.path:
            try:
                value = value[step]  # type: ignore[index]  # a wrong kind of value has no such part
            except (KeyError, IndexError, TypeError):
                return ABSENT
        return value

    def _record(self, place: FieldPlace) -> object:
        content = self.side(place.side).get(place.table)
        if isinstance(content, TableState):
            return self._row(content, place)
        if content is None:
            return ABSENT
        whole = by_id(content)
        if place.record is None:
            return whole
        return whole.get(place.record, ABSENT) if isinstance(whole, dict) else ABSENT

    def _row(self, table: TableState, place: FieldPlace) -> object:
        assert place.record is not None
        if place.record in table.changes:
            fragment = table.changes[place.record]
        else:
            loaded = self._loaded[place.side, place.table]
            fragment = loaded.fragment(place.record) if place.record in loaded.raw else None
        return ABSENT if fragment is None else parse_fragment(fragment)

    def rows(self, side: DatabaseSide, table: str) -> Iterator[str | None]:
        """Yield the records of a table that may differ from those of another snapshot."""
        content = self.side(side).get(table)
        if isinstance(content, TableState):
            yield from content.changes
        elif content is not None:
            whole = by_id(content)
            yield from whole if _is_keyed(content, whole) else (None,)

    def records(self) -> Iterator[tuple[FieldPlace, str]]:
        """Yield every record there is now, with its text as it enters the hash."""
        sides: tuple[DatabaseSide, DatabaseSide] = ("company", "customer")
        for side in sides:
            for table, content in self.side(side).items():
                if isinstance(content, TableState):
                    yield from self._table_rows(side, table, content)
                else:
                    yield from _listed_rows(side, table, content)

    def _table_rows(
        self, side: DatabaseSide, table: str, content: TableState
    ) -> Iterator[tuple[FieldPlace, str]]:
        loaded, changes = self._loaded[side, table], content.changes
        for key in loaded.raw:
            if key not in changes:
                yield FieldPlace(side, table, key), loaded.fragment(key)
        for key, fragment in changes.items():
            if fragment is not None:
                yield FieldPlace(side, table, key), fragment


def _listed_rows(side: DatabaseSide, table: str, content: str) -> Iterator[tuple[FieldPlace, str]]:
    whole = by_id(content)
    if not _is_keyed(content, whole):
        yield FieldPlace(side, table, None), content
        return
    for key, record in whole.items():
        yield FieldPlace(side, table, key), json.dumps(record)


def _is_keyed(content: str, whole: object) -> bool:
    return content.startswith("[") and isinstance(whole, dict)


def differences(expected: WorldSnapshot, found: WorldSnapshot) -> list[FieldDifference]:
    """Return every field in which ``found`` is not as ``expected``, in a fixed order."""
    return [
        FieldDifference(FieldPlace(place.side, place.table, place.record, path), wanted, is_there)
        for place in differing_records(expected, found)
        for path, wanted, is_there in _fields(expected.value(place), found.value(place))
    ]


def differing_records(one: WorldSnapshot, other: WorldSnapshot) -> Iterator[FieldPlace]:
    """Yield the records that are not the same in both."""
    sides: tuple[DatabaseSide, DatabaseSide] = ("company", "customer")
    for side in sides:
        mine, theirs = one.side(side), other.side(side)
        for table in mine:
            if mine[table] == theirs.get(table):
                continue
            rows = dict.fromkeys((*one.rows(side, table), *other.rows(side, table)))
            places = (FieldPlace(side, table, row) for row in rows)
            yield from (each for each in places if not _same(one.value(each), other.value(each)))


def _fields(
    expected: object, found: object, path: FieldPath = ()
) -> Iterator[tuple[FieldPath, object, object]]:
    if _same(expected, found):
        return
    match expected, found:
        case dict(), dict():
            for key in {**expected, **found}:
                yield from _fields(expected.get(key, ABSENT), found.get(key, ABSENT), (*path, key))
        case list(), list():
            for index in range(max(len(expected), len(found))):
                yield from _fields(_at(expected, index), _at(found, index), (*path, index))
        case _:
            yield path, expected, found


def _at(values: list[object], index: int) -> object:
    return values[index] if index < len(values) else ABSENT


def _same(one: object, other: object) -> bool:
    # To a hash, 1, 1.0 and true are different; to Python they are equal, but their texts differ.
    return one is other or (one == other and repr(one) == repr(other))


@lru_cache(maxsize=4096)
def parse_fragment(fragment: str) -> object:
    """Return a record's hashed form as values, which nobody may change."""
    return json.loads(fragment)


@lru_cache(maxsize=1024)
def by_id(content: str) -> Any:
    """Return a list of records as a mapping by their id, if they have one; all else as it is."""
    value = json.loads(content)
    if not (isinstance(value, list) and value and all(isinstance(each, dict) for each in value)):
        return value
    for field in value[0]:
        ids = [each.get(field) for each in value]
        distinct = all(isinstance(each, str) for each in ids) and len({*ids}) == len(ids)
        if field.endswith("_id") and distinct:
            return {str(each[field]): each for each in value}
    return value
