"""``maseval tag``: tags and notes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maseval.cli.app import app
from tests.cli.commandline import maseval
from tests.runs.worlds import finished_run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    finished_run(tmp_path / "runs" / "one", "a")
    finished_run(tmp_path / "runs" / "two", "a")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tags_are_added_removed_and_shown_in_the_list_and_the_run():
    assert (
        "one: baseline, paper"
        in maseval(*("tag", "one", "two", "--add", "baseline", "--add", "paper")).stdout
    )
    maseval("tag", "two", "--remove", "baseline")

    assert "one: baseline, paper" in maseval("tag", "one").stdout
    assert "baseline, paper" in maseval("runs").stdout
    assert "Tags: baseline, paper" in maseval("show", "one").stdout
    chosen = json.loads(maseval("runs", "--tag", "baseline", "--json").stdout)
    assert [(run["path"], run["tags"]) for run in chosen] == [("runs/one", ["baseline", "paper"])]
    assert "No runs with tag gone" in maseval("runs", "--tag", "gone").stdout


def test_if_one_run_does_not_exist_none_is_tagged():
    result = maseval("tag", "one", "three", "--add", "baseline")

    assert result.exit_code == 2 and "three" in result.stderr
    assert "no tags" in maseval("tag", "one").stdout


def test_a_note_is_set_shown_and_removed():
    maseval("tag", "one", "--note", "Fixed [bold]seed[/bold]\nand more")

    assert maseval("tag", "one").stdout.endswith("Fixed [bold]seed[/bold]\nand more\n")
    assert "and more" in maseval("show", "one").stdout
    assert maseval("tag", "one", "--note", "").stdout.endswith("one: no tags\n")
    assert json.loads(maseval("tag", "one", "--json").stdout)["runs/one"]["note"] is None


def test_a_note_is_read_from_a_pipe():
    CliRunner().invoke(app, ["tag", "one", "--note", "-"], input="from a pipe\n")

    assert maseval("tag", "one").stdout.endswith("from a pipe\n")


@pytest.mark.parametrize(
    "arguments", [("tag", "one", "--add", "\x1b[31m"), ("tag", "one", "--note", "\x1b[2J")]
)
def test_control_characters_are_refused_and_shown_inert(arguments):
    result = maseval(*arguments)

    assert result.exit_code == 2
    assert "\x1b" not in result.stderr and "control characters" in result.stderr
