"""Values as the audit takes them apart: records, and the texts in them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.review.explain.snapshot import FieldPath

Tables = Mapping[str, Mapping[str, object]]
"""The records of each table by their ids."""


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
