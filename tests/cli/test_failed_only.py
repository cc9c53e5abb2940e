"""Runs of what failed in an earlier run, and the errors of tools across a run."""

from pathlib import Path

import pytest

from maseval.runs import RunFolder
from tests.cli.commandline import last_json, maseval


def plain(text: str) -> str:
    """The words, however the lines are broken."""
    return " ".join(text.split())


NOISY = ("--agent", "noisy", "--agent-args", "error_rate=0.5", "--domain", "library")


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "earlier"
    assert maseval("tau2", "run", *NOISY, "--output", folder).exit_code == 0
    return folder


def failures(folder: Path) -> set[str]:
    reports = RunFolder.read(folder).reports()
    return {each["task_id"] for each in reports if each["eval"][0]["reward"] < 1}


@pytest.mark.parametrize("spelling", ["--failed-only", "--lf"])
def test_what_failed_is_run_again_as_before_into_a_run_that_names_the_old_one(
    earlier, tmp_path, spelling
):
    output = tmp_path / "runs" / "again"
    ran = maseval("tau2", "run", spelling, earlier, "--output", output, "--json")

    again = RunFolder.read(output)
    assert ran.exit_code == 0
    assert {one.task_id for one in again.planned} == failures(earlier)
    assert 0 < last_json(ran.stdout)["ran"] < 12
    assert again.config.values["agent"] == RunFolder.read(earlier).config.values["agent"]
    assert "Only what failed in earlier" in plain(maseval("show", output).stdout)


def test_another_agent_may_try_and_then_nothing_is_left(earlier, tmp_path):
    output = tmp_path / "runs" / "again"
    assert maseval("tau2", "run", "--lf", earlier, "--agent", "gold", "-o", output).exit_code == 0

    nothing = maseval("tau2", "run", "--lf", output)

    assert nothing.exit_code == 2 and "everything passed in again" in plain(nothing.stderr)


def test_code_is_never_loaded_by_a_name_in_a_record(tmp_path):
    pytest.importorskip("openai")
    (tmp_path / "mine.py").write_text("def agent(brief):\n    return lambda query: 'No.'\n")
    output = tmp_path / "runs" / "mine"
    options = ("--domain", "library", "-n", 1, "--rehearse", "gold", "--output", output)
    maseval("tau2", "run", "--agent", tmp_path / "mine.py:agent", *options)

    refused = maseval("tau2", "run", "--lf", output)

    assert refused.exit_code == 2 and "give it: --agent" in plain(refused.stderr)


def test_the_errors_of_tools_are_listed_by_tool_and_text(earlier):
    listed = last_json(maseval("show", earlier, "--errors", "--json").stdout)["errors"]

    assert listed and listed == sorted(listed, key=lambda each: -each["times"])
    assert all(each["text"].startswith("Error: ") and each["tool"] for each in listed)
    assert listed[0]["tool"] in plain(maseval("show", earlier, "--errors").stdout)
