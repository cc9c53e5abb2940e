"""``maseval export``."""

import json
from pathlib import Path

import pytest

from tests.cli.commandline import maseval
from tests.frames.recordings import library_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library_run(trials=1, output=tmp_path_factory.mktemp("runs") / "one").folder


def test_tables_are_written_and_named(run, tmp_path):
    done = maseval(
        *("export", run, "--format", "csv", "--table", "runs", "--table", "checks"),
        *("--output", tmp_path / "tables"),
    )

    assert done.exit_code == 0
    assert done.stdout.split() == [
        str(tmp_path / "tables" / f"{name}.csv") for name in ("runs", "checks")
    ]
    assert "runs: 1 row" in done.stderr


def test_a_table_can_go_to_another_program(run):
    done = maseval("export", run, "--format", "jsonl", "--table", "runs", "--output", "-")

    assert json.loads(done.stdout)["run"] == "one"


def test_an_existing_file_is_kept_unless_it_is_to_be_replaced(run, tmp_path):
    target = tmp_path / "x.csv"
    target.write_text("mine")

    refused = maseval("export", run, "--format", "csv", "--output", target)

    assert refused.exit_code == 1
    assert "already exists" in refused.stderr
    assert target.read_text() == "mine"
    assert maseval("export", run, "--format", "csv", "--output", target, "--force").exit_code == 0


def test_wrong_words_are_wrong_use(run):
    assert maseval("export", run, "--format", "xlsx").exit_code == 2
    assert maseval("export", "no-such-run", "--format", "csv").exit_code == 2


def test_what_was_written_can_be_read_by_a_script(run, tmp_path):
    done = maseval("export", run, "--format", "jsonl", "--output", tmp_path / "x.jsonl", "--json")

    (table,) = json.loads(done.stdout)["tables"]
    assert table["table"] == "simulations"
    assert table["rows"] == len((tmp_path / "x.jsonl").read_text().splitlines())


def test_a_name_without_an_ending_gets_that_of_the_form(run, tmp_path):
    done = maseval("export", run, "--format", "csv", "--output", tmp_path / "t")

    assert done.stdout.split() == [str(tmp_path / "t.csv")]
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_the_ending_of_the_file_chooses_the_form(run, tmp_path):
    maseval("export", run, "--table", "runs", "--output", tmp_path / "t.jsonl")

    assert json.loads((tmp_path / "t.jsonl").read_text())["run"] == "one"
    without = maseval("export", run, "--output", tmp_path / "t")
    assert without.exit_code == 2 and ".parquet, .csv, .jsonl" in without.stderr
    torn = maseval("export", run, "--format", "csv", "--output", tmp_path / "t.parquet")
    assert torn.exit_code == 2 and "is named .parquet, but the form is csv" in torn.stderr
