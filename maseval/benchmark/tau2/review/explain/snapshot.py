"""A world at one moment, whose records can be looked up and compared field by field."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from maseval.benchmark.tau2.domains.domain import ABSENT
from maseval.benchmark.tau2.world.state.hashing import DBState
from maseval.benchmark.tau2.world.state.records import SharedTable, Table, TableState
from maseval.benchmark.tau2.world.world import World, WorldState

DatabaseSide = Literal["company", "customer"]
FieldPath = tuple[str | int, ...]


def settle_twin(world: World) -> World:
    """Return a world as it is with both sides synchronised; it is not synchronised itself by that.

    After a call that raised, scoring synchronises only with the next one.
    """
    if not world.is_settled:
        world = world.twin()
        world.settle()
    return world


def path_text(path: FieldPath) -> str:
    """Return a path as it is written behind a name, such as ``.items[0].price``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


class FieldPlace(NamedTuple):
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
        return self._replace(path=())


class FieldDifference(NamedTuple):
    place: FieldPlace
    expected: object
    found: object


class WorldSnapshot:
    """All that the hashes of a world depended on when it was taken."""

    def __init__(self, world: World, state: WorldState | None = None) -> None:
        """Take the state of a world, or use it where it is there already."""
        self.state = state or world.state()
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
        value = self._record(place)
        for step in place.path:
            try:
                value = value[step]  # type: ignore[index]  # a wrong kind of value has no such part
            except (KeyError, IndexError, TypeError):
                return ABSENT
        return value

    def rows(self, side: DatabaseSide, table: str) -> Mapping[str, object]:
        """Return the records of a table by id; one that is no table of records has none."""
        content = self.side(side).get(table)
        if isinstance(content, TableState):
            changed = {key: _parse(text) for key, text in content.changes.items()}
            rows = {**content.shared.raw, **changed}
            return {key: row for key, row in rows.items() if row is not ABSENT}
        found = {} if content is None else by_id(content, table)
        return found if isinstance(found, Mapping) else {}

    def _record(self, place: FieldPlace) -> object:
        content = self.side(place.side).get(place.table)
        if isinstance(content, TableState):
            assert place.record is not None
            return _parse(self.row_text(place.side, place.table, place.record))
        if content is None:
            return ABSENT
        return _record_in(content, place.table, place.record)

    def row_text(self, side: DatabaseSide, table: str, row: str) -> str | None:
        """Return a record of a large table as it enters the hash; None if there is none."""
        content = self.side(side)[table]
        if isinstance(content, TableState) and row in content.changes:
            return content.changes[row]
        # A state keeps the changed records alone; all others are as they were loaded.
        loaded = self._loaded[side, table]
        return loaded.fragment(row) if row in loaded.raw else None


def differences(expected: WorldSnapshot, found: WorldSnapshot) -> list[FieldDifference]:
    """Return every field in which ``found`` is not as ``expected``, in a fixed order."""
    differing: list[FieldDifference] = []
    sides: tuple[DatabaseSide, DatabaseSide] = ("company", "customer")
    for side in sides:
        mine, theirs = expected.side(side), found.side(side)
        for table, content in mine.items():
            other = theirs.get(table)
            # Whole tables are compared by what was touched, which is cheap and nearly always
            # enough.
            if content == other:
                continue
            if isinstance(content, TableState) and isinstance(other, TableState):
                for row in {**content.changes, **other.changes}:
                    texts = (each.row_text(side, table, row) for each in (expected, found))
                    differing += _differing_row(side, table, row, *texts)
            else:
                texts = (None if each is None else str(each) for each in (content, other))
                differing += _differing_list(side, table, *texts)
    return differing


def differing_records(one: WorldSnapshot, other: WorldSnapshot) -> Iterable[FieldPlace]:
    return dict.fromkeys(each.place.whole for each in differences(one, other))


# From message to message, most records differ as they did before.
@lru_cache(maxsize=8192)
def _differing_row(
    side: DatabaseSide, table: str, row: str, expected: str | None, found: str | None
) -> Sequence[FieldDifference]:
    return _differing_fields(FieldPlace(side, table, row), _parse(expected), _parse(found))


# Small tables are kept as one text, of which the records are read when they differ.
@lru_cache(maxsize=8192)
def _differing_list(
    side: DatabaseSide, table: str, expected: str | None, found: str | None
) -> Sequence[FieldDifference]:
    """Compare a table that is small enough to be kept as one text."""
    rows = dict.fromkeys(row for each in (expected, found) if each for row in _rows_in(each, table))
    return [
        difference
        for row in rows
        for difference in _differing_fields(
            FieldPlace(side, table, row),
            _record_in(expected, table, row),
            _record_in(found, table, row),
        )
    ]


def _differing_fields(
    place: FieldPlace, expected: object, found: object
) -> Sequence[FieldDifference]:
    return [
        FieldDifference(place._replace(path=path), wanted, is_there)
        for path, wanted, is_there in _fields(expected, found)
    ]


def _rows_in(content: str, table: str) -> Iterable[str | None]:
    """Return the records of a small table; None alone stands for a table that is one value."""
    whole = by_id(content, table)
    return whole if content.startswith("[") and isinstance(whole, dict) else (None,)


def _record_in(content: str | None, table: str, row: str | None) -> object:
    if content is None:
        return ABSENT
    whole = by_id(content, table)
    if row is None:
        return whole
    return whole.get(row, ABSENT) if isinstance(whole, dict) else ABSENT


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


# The values are shared by all who ask: nobody may change them.
@lru_cache(maxsize=4096)
def _parse(fragment: str | None) -> object:
    return ABSENT if fragment is None else json.loads(fragment)


@lru_cache(maxsize=1024)
def by_id(content: str, table: str) -> Any:
    """Return a list of records as a mapping by their id, if they have one; all else as it is."""
    value = json.loads(content)
    if not (isinstance(value, list) and value and all(isinstance(each, dict) for each in value)):
        return value
    # Nothing declares the id of a list's records, and a record names others by their ids, too, as a
    # line does its device.
    fields = sorted(value[0], key=lambda name: not table.startswith(name.removesuffix("_id")))
    for field in fields:
        ids = [each.get(field) for each in value]
        distinct = all(isinstance(each, str) for each in ids) and len({*ids}) == len(ids)
        if field.endswith("_id") and distinct:
            return {str(each[field]): each for each in value}
    return value
