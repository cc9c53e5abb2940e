"""Rows for other libraries, with their types."""

from datetime import datetime
from pathlib import Path

import pytest

from maseval import frames
from maseval.frames.export import export
from maseval.interface import arrow
from tests.frames.recordings import library_run
from tests.interface.libraries import needing

COLUMNS = [
    *(("who", "text"), ("count", "integer"), ("share", "number"), ("done", "boolean")),
    ("at", "time"),
]
ROW = {"who": "a", "count": 1, "share": 0.5, "done": True, "at": datetime(2026, 1, 2, 3, 4, 5, 6)}
EMPTY = dict.fromkeys(ROW)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library_run(trials=1, output=tmp_path_factory.mktemp("runs") / "one").folder


def of(library: str) -> list[tuple]:
    return [pytest.param(library, marks=needing(library))]


@pytest.mark.parametrize("library", of("pyarrow"))
def test_batches_have_the_declared_types_whatever_is_null(library):
    (batch,) = arrow.batches(COLUMNS, [EMPTY, ROW])
    (null,) = arrow.batches(COLUMNS, [EMPTY])

    assert [str(kind) for kind in batch.schema.types] == [
        *("string", "int64", "double", "bool", "timestamp[us]"),
    ]
    assert batch.to_pylist() == [EMPTY, ROW]
    assert null.schema == batch.schema == arrow.schema(COLUMNS)
    assert list(arrow.batches(COLUMNS, [])) == []


@pytest.mark.parametrize("library", of("pyarrow"))
def test_a_batch_is_full_by_its_rows_or_by_its_texts(library):
    asked = []

    def rows(count, text):
        for number in range(count):
            asked.append(number)
            yield {**ROW, "who": text}

    first = next(arrow.batches(COLUMNS, rows(10_000, "short")))
    read = len(asked)
    long = [each.num_rows for each in arrow.batches(COLUMNS, rows(5, "x" * 3_000_000))]

    assert first.num_rows == read == 4096
    assert long == [2, 2, 1]


@pytest.mark.parametrize("library", of("pyarrow"))
def test_a_frame_is_a_table_of_arrow(library, run):
    frame = frames.simulations(run)

    assert frame.to_arrow().to_pylist() == list(frame)
    assert frame.reader().schema == frame.schema


@pytest.mark.parametrize("library", of("pyarrow"))
def test_a_parquet_file_holds_the_rows_of_all_batches(library, run, tmp_path):
    from pyarrow import parquet

    export([run], to="parquet", tables=["all"], output=tmp_path)

    for name in ("runs", "simulations", "messages", "tool_calls", "checks"):
        assert parquet.read_table(tmp_path / f"{name}.parquet").to_pylist() == list(
            getattr(frames, name)(run)
        )


@pytest.mark.parametrize("library", of("pandas"))
def test_pandas_keeps_the_types_where_values_are_missing(library, run):
    found = frames.simulations(run).to_pandas()

    assert str(found.dtypes["passed"]) == "boolean"
    assert str(found.dtypes["input_tokens"]) == "Int64"
    assert str(found.dtypes["started_at"]).startswith("datetime64")
    assert found["passed"].sum() == next(iter(frames.runs(run)))["passed"]
