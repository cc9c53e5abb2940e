"""Values as the audit takes them apart: records, the texts in them, and who holds a record."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from maseval.benchmark.tau2.review.explain.snapshot import FieldPath

FieldValues = frozenset[tuple[str, str]]
"""The values of a record, each with the name of its field."""

Tables = Mapping[str, Mapping[str, object]]
"""The records of each table by their ids."""


class RecordHolder(NamedTuple):
    """A place that holds records side by side, as a customer holds cards, with their ids."""

    table: str
    root: str
    members: Mapping[str, object]


def holders_of(tables: Tables, wanted: frozenset[str]) -> Mapping[str, Sequence[RecordHolder]]:
    """Return the places that hold each of the wanted ids."""
    found: dict[str, list[RecordHolder]] = defaultdict(list)
    for table, records in tables.items():
        for root, record in records.items():
            for members in _holders(record, tables):
                for each in wanted & members.keys():
                    found[each].append(RecordHolder(table, root, members))
    return found


def _holders(value: object, tables: Tables) -> Iterator[Mapping[str, object]]:
    match value:
        case dict():
            if value and all(_is_named(key, each) for key, each in value.items()):
                yield value
            for each in value.values():
                if isinstance(each, dict | list):
                    yield from _holders(each, tables)
        case list() if value and isinstance(value[0], str):
            for records in tables.values():
                if all(each in records for each in value):
                    yield {each: records[each] for each in value}
        case list() if value and isinstance(value[0], dict):
            key = _id_field(value[0])
            if key:
                yield {str(each.get(key)): each for each in value}
            for each in value:
                yield from _holders(each, tables)


def _is_named(key: object, value: object) -> bool:
    return isinstance(value, dict) and key in (each for each in value.values() if each == key)


def _id_field(record: Mapping[str, object]) -> str | None:
    """Return the name of the field that tells a record from others of its kind."""
    names = [name for name in record if re.search(r"(?:^|_)(?:id|number)$", name)]
    own = [name for name in names if name in ("id", "item_id")]
    return next(iter((*own, *names)), None)


def values_of(record: object) -> FieldValues:
    """Return what a record says of itself, its parts included, without ids and times."""
    return frozenset(_values(record, ""))


def _values(value: object, field: str) -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for name, each in value.items():
                yield from _values(each, str(name))
        case list():
            for each in value:
                yield from _values(each, field)
        case bool() | None:
            return
        case str() | int() | float():
            if not re.search(r"(?:^|_)ids?$|_est$|_at$|^status$|^country$", field):
                yield field, str(value)


def texts_in(value: object, path: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    """Yield the texts among arguments, with their places."""
    match value:
        case str():
            yield path, value
        case dict():
            for name, each in value.items():
                yield from texts_in(each, (*path, name))
        case list():
            for number, each in enumerate(value):
                yield from texts_in(each, (*path, number))


def replace_part(value: Any, path: FieldPath, new: object) -> Any:
    """Return a value with another part in one place."""
    if not path:
        return new
    key, *rest = path
    if isinstance(key, str):
        return {**value, key: replace_part(value[key], tuple(rest), new)}
    return [*value[:key], replace_part(value[key], tuple(rest), new), *value[key + 1 :]]


def owner_of(record: object, tables: Tables) -> str | None:
    """Return the id of the record of another table to which a record belongs."""
    if not isinstance(record, dict):
        return None
    for name, value in record.items():
        if name.endswith("_id") and isinstance(value, str):
            for table in tables.values():
                if value in table and table[value] is not record:
                    return value
    return None


def parts_of(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the records in a value, itself included."""
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            yield from parts_of(each)


def words_of(text: str) -> set[str]:
    """Return the words of a text, ids with their signs."""
    return {*re.findall(r"#?[\w@.+-]*\w", text)}
