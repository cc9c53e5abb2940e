"""The command as a whole: help, speed, versions, pipes."""

import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.main import get_command

from maseval.cli.app import AllCommands, app
from maseval.cli.command_line import CommandGroup, PlainCommand, exit_code
from maseval.core.exceptions import ConfigurationError, MASEvalError, ResultFileError
from tests.cli.commandline import COMMAND, maseval


@pytest.mark.parametrize("group", [[], ["tau2"], ["macs"]], ids=str)
def test_a_group_describes_its_commands_as_they_describe_themselves(group, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    listed = maseval(*group, "--help").stdout

    command = get_command(app)
    for name in group:
        command = command.get_command(None, name)
    for name in command.list_commands(None):
        first_line = command.get_command(None, name).help.strip().splitlines()[0]
        assert re.search(rf"│ {name} +{re.escape(first_line)} +│", listed), name


def commands_of(
    command: AllCommands | CommandGroup | PlainCommand, name: tuple[str, ...] = ()
) -> Iterator[tuple[str, PlainCommand]]:
    """Yield every command that help shows, with its name."""
    if not hasattr(command, "list_commands"):
        yield " ".join(name), command
        return
    for key in command.list_commands(None):
        yield from commands_of(command.get_command(None, key), (*name, key))


def options_of(command: PlainCommand) -> list[Any]:
    """The options that the help of a command shows, beside --help."""
    # The command keeps its option for help, for all tests that follow.
    every = command.get_params(typer.Context(command, help_option_names=["-h", "--help"]))
    return [each for each in every if each.param_type_name == "option" and not each.hidden][:-1]


def test_the_command_line_stays_as_small_as_it_is():
    shown = {name: len(options_of(each)) for name, each in commands_of(get_command(app))}

    assert len(shown) <= 36
    assert sum(shown.values()) <= 280, shown
    assert shown["tau2 run"] <= 20


def test_rare_options_are_read_everywhere_and_shown_on_demand():
    few, every = (maseval("tau2", "run", word).stdout for word in ("--help", "--help-all"))

    assert "--help-all" in few and "--max-errors" not in few
    assert "--max-errors" in every and "--domain" in every
    assert maseval("tau2", "run", "--help").stdout == few
    refused = maseval("tau2", "run", "-d", "library", "--agent", "gold", "--max-errors", "-1")
    assert refused.exit_code == 2 and "max_errors" in refused.stderr


def test_the_version_is_told():
    assert maseval("--version").stdout.startswith("maseval 0.")


def test_an_unknown_command_suggests_a_known_one():
    result = maseval("tau2", "rnu")

    assert result.exit_code == 2
    assert "'run'" in result.stderr


def test_a_reader_that_goes_away_leaves_no_traceback(tmp_path):
    command = " ".join(COMMAND)
    run = subprocess.run(
        f"{command} tau2 tasks policy --domain library | head -1; "
        f"{command} tau2 tasks --domain library --ids | true",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert run.stderr == ""
    assert len(run.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigurationError("x"), 2), (MASEvalError("x"), 1), (ResultFileError("x"), 1)],
)
def test_what_can_be_asked_differently_is_told_from_what_failed(error, code):
    assert exit_code(error) == code


def test_a_file_that_cannot_be_read_is_one_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.json").write_text('{"simulations": [')

    done = maseval("score", "broken.json")

    assert done.exit_code in (1, 2)
    assert done.stderr.startswith("Error: broken.json") and "Traceback" not in done.stderr
