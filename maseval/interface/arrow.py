"""Tables for other libraries: rows as Arrow record batches, and from these what each one reads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from maseval.interface import extras

Columns = Sequence[tuple[str, str]]
"""Names of columns, each with a type: text, integer, number, boolean or time."""

_MOST_ROWS = 4096
# The most characters of text in a batch, so that long conversations do not fill the memory.
_MOST_CHARACTERS = 4_000_000


def _pyarrow() -> Any:
    return extras.load("pyarrow", extra="frames")


def schema(columns: Columns) -> Any:
    """Return the schema of a table; times have microseconds and no time zone."""
    arrow = _pyarrow()
    types = {
        "text": arrow.string(),
        "integer": arrow.int64(),
        "number": arrow.float64(),
        "boolean": arrow.bool_(),
        "time": arrow.timestamp("us"),
    }
    return arrow.schema([arrow.field(name, types[kind]) for name, kind in columns])


def batches(columns: Columns, rows: Iterable[Mapping[str, object]]) -> Iterator[Any]:
    """Yield record batches of a few thousand rows, fewer if their texts are long."""
    arrow, form = _pyarrow(), schema(columns)
    texts = [name for name, kind in columns if kind == "text"]
    waiting: list[Mapping[str, object]] = []
    letters = 0
    for row in rows:
        waiting.append(row)
        letters += sum(len(str(row[name])) for name in texts)
        if len(waiting) == _MOST_ROWS or letters >= _MOST_CHARACTERS:
            yield arrow.RecordBatch.from_pylist(waiting, schema=form)
            waiting, letters = [], 0
    if waiting:
        yield arrow.RecordBatch.from_pylist(waiting, schema=form)


def reader(columns: Columns, rows: Iterable[Mapping[str, object]]) -> Any:
    """Return a stream of record batches that other libraries take; it can be read once."""
    return _pyarrow().RecordBatchReader.from_batches(schema(columns), batches(columns, rows))


def pandas_frame(columns: Columns, rows: Iterable[Mapping[str, object]]) -> Any:
    """Return a data frame of pandas whose columns keep their types where values are missing."""
    pandas = extras.load("pandas", extra="pandas")
    arrow = _pyarrow()
    kept = {
        arrow.string(): pandas.StringDtype(),
        arrow.int64(): pandas.Int64Dtype(),
        arrow.float64(): pandas.Float64Dtype(),
        arrow.bool_(): pandas.BooleanDtype(),
    }
    return reader(columns, rows).read_all().to_pandas(types_mapper=kept.get)


def write_parquet(file: IO[bytes], columns: Columns, rows: Iterable[Mapping[str, object]]) -> int:
    """Write a Parquet file, compressed with zstd; returns how many rows it has."""
    parquet = extras.load("pyarrow.parquet", extra="frames", package="pyarrow")
    count = 0
    with parquet.ParquetWriter(file, schema(columns), compression="zstd") as writer:
        for batch in batches(columns, rows):
            writer.write_batch(batch)
            count += batch.num_rows
    return count
