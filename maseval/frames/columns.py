"""The tables and their columns, declared once: rows, schemas and the documentation follow these.

They stand in ``columns.txt``, as they are text for people and not code.
"""

from collections.abc import Iterator
from datetime import datetime
from importlib.resources import files
from typing import Literal, NamedTuple, cast

ColumnType = Literal["text", "integer", "number", "boolean", "time"]
Cell = str | int | float | bool | datetime | None
FrameRow = dict[str, Cell]


class Column(NamedTuple):
    """A column of a table; a cell whose value is not known is null."""

    name: str
    type: ColumnType
    meaning: str


class TableForm(NamedTuple):
    """A table: the thing that one row stands for, and the columns in order."""

    name: str
    row: str
    columns: tuple[Column, ...]


_RUN = Column("run", "text", "name of the run; its path where two have the same name")
_SIMULATION = (
    _RUN,
    Column("domain", "text", "the task's domain; empty if the benchmark has none"),
    Column("task_id", "text", "the task"),
    Column("trial", "integer", "number of the trial, from 0"),
)
_SHARED = {"run": (_RUN,), "simulation": _SIMULATION}


def _read_tables() -> Iterator[TableForm]:
    declared = files(__package__).joinpath("columns.txt").read_text(encoding="utf-8")
    for block in declared.split("\n[")[1:]:
        head, key, *lines = block.strip().splitlines()
        name, _, row = head.partition("] ")
        own = (Column(*cast("tuple[str, ColumnType, str]", each.split(" | "))) for each in lines)
        yield TableForm(name, row, (*_SHARED[key], *own))


TABLES = {each.name: each for each in _read_tables()}
