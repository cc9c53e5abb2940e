"""A table that is read when it is asked for, in the form that a library or a file wants."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from maseval.core.storage.redaction import Secrets
from maseval.frames.cells import cell_maker
from maseval.frames.columns import Column, FrameRow, TableForm
from maseval.interface import arrow

Read = Callable[[], Iterator[Mapping[str, object]]]


class Frame:
    """Rows of one table. Iterating gives dicts; nothing is read before, and each time anew.

    ``batches`` and what reads them need pyarrow; ``to_pandas``, ``to_polars`` and ``to_duckdb``
    the library they are named after as well.
    """

    def __init__(self, table: TableForm, read: Read) -> None:
        self.table = table
        self._read = read

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, with their types and what they mean."""
        return self.table.columns

    @property
    def schema(self) -> Any:
        """The Arrow schema."""
        return arrow.schema(self._typed)

    @property
    def _typed(self) -> list[tuple[str, str]]:
        return [(column.name, column.type) for column in self.columns]

    def __iter__(self) -> Iterator[FrameRow]:
        cell = cell_maker(Secrets.of({}))
        for row in self._read():
            yield {column.name: cell(column.type, row[column.name]) for column in self.columns}

    def batches(self) -> Iterator[Any]:
        """Arrow record batches of at most a few thousand rows, one in memory at a time."""
        return arrow.batches(self._typed, self)

    def reader(self) -> Any:
        """The same as a ``pyarrow.RecordBatchReader``, which many libraries take; read once."""
        return arrow.reader(self._typed, self)

    def to_arrow(self) -> Any:
        """All rows as a ``pyarrow.Table``."""
        return self.reader().read_all()

    def to_pandas(self) -> Any:
        """All rows as a data frame of pandas, with types that know missing values."""
        return arrow.pandas_frame(self._typed, self)

    def to_polars(self) -> Any:
        """All rows as a data frame of polars."""
        return arrow.polars_frame(self._typed, self)

    def to_duckdb(self, connection: Any = None, name: str | None = None) -> Any:
        """A table of a DuckDB database, by default a new one in memory; returns the connection.

        The rows are streamed: in a database file they need not fit into memory. The table is
        called ``name``, by default like this one.
        """
        return arrow.duckdb_table(self._typed, self, name or self.table.name, connection)

    def __repr__(self) -> str:
        return f"<Frame {self.table.name}: {len(self.columns)} columns>"
