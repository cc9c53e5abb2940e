"""A skeleton runs, passes its own test, and replaces nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from maseval.app.running.new import KINDS
from maseval.commands import new
from maseval.core.exceptions import ConfigurationError, OutputExistsError
from tests.cli.commandline import maseval

# A plugin of others that takes as long to import as pytest itself.
LIGHT = ("-p", "no:langsmith_plugin")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_passes_its_own_test(kind, tmp_path):
    made = new(kind, "my_thing", tmp_path)
    (test,) = [file for file in made.files if file.name.startswith("test_")]

    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *LIGHT, test],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert tested.returncode == 0, tested.stdout
    assert " passed" in tested.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_that_runs_it_is_one_that_runs_it(kind, tmp_path, monkeypatch):
    if kind in ("agent", "system"):
        pytest.importorskip("openai")  # a rehearsal is asked for by its protocol
    monkeypatch.chdir(tmp_path)
    command = new(kind, "my_thing").commands[0].split()
    assert command[0] == "maseval"

    done = maseval(*command[1:])

    assert done.exit_code == 0, done.stderr
    assert "100.0%" in done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_replaced_and_nothing_half_written(kind, tmp_path):
    target = KINDS[kind]["test_NAME.py"].format(name="mine")
    (tmp_path / target).parent.mkdir(exist_ok=True)
    (tmp_path / target).write_text("# precious")

    with pytest.raises(OutputExistsError, match="already exists"):
        new(kind, "mine", tmp_path)

    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [tmp_path / target]
    assert (tmp_path / target).read_text() == "# precious"


@pytest.mark.parametrize("name", ["My", "my-agent", "1st", "class", "json", "maseval", "../x", ""])
def test_a_name_that_is_no_module_is_refused(name, tmp_path):
    with pytest.raises(ConfigurationError, match="name is"):
        new("agent", name, tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_the_command_names_the_files_and_what_to_do_next(tmp_path):
    made = maseval("new", "domain", "helpdesk", "--folder", tmp_path)
    again = maseval("new", "domain", "helpdesk", "--folder", tmp_path)
    misspelt = maseval("new", "benchmrak", "x", "--folder", tmp_path)

    assert made.exit_code == 0 and "policy.md" in made.stdout and "--agent gold" in made.stdout
    assert again.exit_code == 1 and "already exists" in again.stderr
    assert misspelt.exit_code == 2 and "choose one of: agent, system" in misspelt.stderr
