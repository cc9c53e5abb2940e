"""Tables as files: complete or not there, and readable by others."""

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest

from maseval import frames
from maseval.core.exceptions import ConfigurationError, OutputExistsError
from maseval.frames.export import export, write_frame
from maseval.frames.frame import TABLES, Frame
from maseval.interface.extras import MissingExtraError
from tests.frames.recordings import library_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library_run(trials=1, output=tmp_path_factory.mktemp("runs") / "one").folder


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: getattr(cell, "isoformat", lambda cell=cell: cell)() for name, cell in row.items()
    }


def test_json_lines_hold_the_rows(run, tmp_path):
    (written,) = export([run], to="jsonl", output=tmp_path / "some.jsonl")

    lines = [json.loads(line) for line in written.path.read_text().splitlines()]
    assert lines == [plain(row) for row in frames.simulations(run)]
    assert written.rows == len(lines)


def test_csv_holds_the_rows_with_null_as_nothing_at_all(run, tmp_path):
    def word(cell):
        return "" if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell)

    (written,) = export([run], to="csv", tables=["messages"], output=tmp_path / "some.csv")

    with written.path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    expected = [
        {name: word(cell) for name, cell in plain(row).items()} for row in frames.messages(run)
    ]
    assert lines == expected
    assert written.rows == len(lines)


def simulation_with(**cells: str) -> Frame:
    row = {column.name: None for column in TABLES["simulations"].columns} | cells
    return Frame(TABLES["simulations"], lambda: iter([row]))


def test_an_empty_text_and_null_differ_in_csv(tmp_path):
    with (tmp_path / "x.csv").open("wb") as file:
        write_frame(simulation_with(run="", domain='say "a", b\n', query="x"), file, "csv")

    line = (tmp_path / "x.csv").read_text().partition("\n")[2]
    assert line.startswith('"","say ""a"", b\n",,')


def test_all_tables_go_into_a_folder(run, tmp_path):
    written = export([run], to="jsonl", tables=["all"], output=tmp_path / "tables")

    assert [each.path.name for each in written] == [f"{name}.jsonl" for name in TABLES]
    assert all(each.rows == len(each.path.read_text().splitlines()) for each in written)


def test_by_default_the_file_is_named_like_the_table(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    export([run], to="csv")

    assert os.listdir(tmp_path) == ["simulations.csv"]


def test_nothing_is_written_where_one_of_the_files_exists(run, tmp_path):
    (tmp_path / "checks.csv").write_text("mine")

    with pytest.raises(OutputExistsError, match=r"checks\.csv already exists"):
        export([run], to="csv", tables=["all"], output=tmp_path)

    assert os.listdir(tmp_path) == ["checks.csv"]
    export([run], to="csv", tables=["all"], output=tmp_path, overwrite=True)
    assert (tmp_path / "checks.csv").read_text() != "mine"


def test_after_an_error_half_way_the_old_file_stands(run, tmp_path, monkeypatch):
    target = tmp_path / "target.csv"
    export([run], to="csv", output=target)
    before = target.read_bytes()
    rows = iter(["", ""])
    monkeypatch.setattr("maseval.frames.tables._sum", lambda used, key: next(rows))

    with pytest.raises(RuntimeError, match="StopIteration"):
        export([run], to="csv", output=target, overwrite=True)

    assert target.read_bytes() == before
    assert os.listdir(tmp_path) == ["target.csv"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"to": "xlsx"}, "choose one of: parquet, csv, jsonl"),
        ({"to": "csv", "tables": ["tasks"]}, "there is no table 'tasks'"),
        ({"to": "csv", "tables": ["all"], "output": "-"}, "takes one table"),
        ({"to": "parquet", "output": "-"}, "as csv or jsonl"),
    ],
)
def test_what_cannot_be_exported_is_said_before_anything_is_read(options, words):
    with pytest.raises(ConfigurationError, match=words):
        export([], **options)


def test_parquet_without_pyarrow_names_the_extra(run, tmp_path, monkeypatch):
    monkeypatch.setattr("maseval.interface.extras.is_installed", lambda module: False)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[frames\]'"):
        export([run], to="parquet", output=tmp_path / "x.parquet")

    assert os.listdir(tmp_path) == []
