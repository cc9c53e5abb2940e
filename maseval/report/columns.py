"""Columns: many rows that have much in common, written small and read fast.

A column that holds few different values is written as these ``values`` and the ``places`` of each
row's among them, without places if there is but one; any other as the value of ``each`` row.
``data.js`` reads it in the page.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict


class PackedColumn(TypedDict):
    """One column, in either of its forms."""

    values: NotRequired[Sequence[Any]]
    places: NotRequired[Sequence[int]]
    each: NotRequired[Sequence[Any]]


class Columns(TypedDict):
    """So many rows, as columns."""

    length: int
    columns: dict[str, PackedColumn]


def pack(columns: Mapping[str, Sequence[Any]]) -> Columns:
    """Return columns of equal length, with hashable values, in their small form."""
    length = len(next(iter(columns.values()), ()))
    return {"length": length, "columns": {name: _pack(each) for name, each in columns.items()}}


def _pack(column: Sequence[Any]) -> PackedColumn:
    numbers = {value: number for number, value in enumerate(dict.fromkeys(column))}
    if len(numbers) == 1:
        return {"values": list(numbers)}
    if 2 * len(numbers) <= len(column):
        return {"values": list(numbers), "places": [numbers[value] for value in column]}
    return {"each": column}


def unpack(packed: Columns) -> dict[str, list[Any]]:
    return {name: _unpack(each, packed["length"]) for name, each in packed["columns"].items()}


def _unpack(column: PackedColumn, length: int) -> list[Any]:
    if "each" in column:
        return list(column["each"])
    values = column["values"]
    places = column.get("places")
    return [values[0]] * length if places is None else [values[place] for place in places]
