"""Frames: tables that are read on demand, in the form that a library or a file wants.

The columns are declared once, in ``columns.txt``, as they are text for people and not code; rows,
schemas and the documentation follow these. Recorded values become cells of their column's type; a
value that does not fit is null.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Literal, NamedTuple, cast

from maseval.core.recorded import number
from maseval.core.storage.redaction import Secrets
from maseval.core.words import text
from maseval.interface import arrow

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

# Arrow has 64 bits for an integer; Python and JSON have no limit.
_LARGEST = 2**63


def cell_maker(secrets: Secrets) -> Callable[[ColumnType, object], Cell]:
    """Return a function that makes cells and removes secrets from their texts."""

    def words(value: object) -> str:
        found = secrets.removed_from_text(text(value))
        # Half of a surrogate pair, which JSON can hold and UTF-8 cannot, becomes a question mark.
        return found if found.isascii() else found.encode(errors="replace").decode()

    makers: dict[ColumnType, Callable[[object], Cell]] = {
        "text": words,
        "integer": _integer,
        "number": _number,
        "boolean": lambda value: value if isinstance(value, bool) else None,
        "time": _time,
    }
    return lambda kind, value: None if value is None else makers[kind](value)


def _integer(value: object) -> int | None:
    found = number(value)
    # ``int`` raises for infinity and NaN, which a recorded JSON file may contain.
    if found is None or not math.isfinite(found) or not -_LARGEST <= found < _LARGEST:
        return None
    return int(found)


def _number(value: object) -> float | None:
    found = number(value)
    try:
        return None if found is None else float(found)
    except OverflowError:
        return None


def _time(value: object) -> datetime | None:
    # Times have no zone, as they were recorded; one with an offset is converted to UTC.
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


Read = Callable[[], Iterator[Mapping[str, object]]]


class Frame:
    """The rows of one table. Iterating gives dicts; each time the rows are read anew.

    ``batches`` and what reads them need pyarrow, ``to_pandas`` also pandas. Polars and DuckDB read
    the table that ``to_arrow`` returns.
    """

    def __init__(self, table: TableForm, read: Read) -> None:
        self.table = table
        self._read = read

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.table.columns

    @property
    def schema(self) -> Any:
        return arrow.schema(self._column_types)

    @property
    def _column_types(self) -> list[tuple[str, str]]:
        return [(column.name, column.type) for column in self.columns]

    def __iter__(self) -> Iterator[FrameRow]:
        cell = cell_maker(Secrets.of({}))
        for row in self._read():
            yield {column.name: cell(column.type, row[column.name]) for column in self.columns}

    def batches(self) -> Iterator[Any]:
        """Yield Arrow record batches of at most a few thousand rows, one in memory at a time."""
        return arrow.batches(self._column_types, self)

    def reader(self) -> Any:
        """Return a ``pyarrow.RecordBatchReader``, which many libraries take; it is read once."""
        return arrow.reader(self._column_types, self)

    def to_arrow(self) -> Any:
        return self.reader().read_all()

    def to_pandas(self) -> Any:
        """Return all rows as a data frame of pandas, with types that know missing values."""
        return arrow.pandas_frame(self._column_types, self)

    def __repr__(self) -> str:
        return f"<Frame {self.table.name}: {len(self.columns)} columns>"
