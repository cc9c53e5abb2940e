"""The command as a whole: help, speed, versions, pipes."""

import re
import subprocess
import sys
from functools import cache

import pytest
from typer.main import get_command

from maseval.cli.app import app
from maseval.cli.command_line import exit_code
from maseval.core.exceptions import ConfigurationError, MASEvalError, ResultFileError
from tests.cli.commandline import COMMAND, maseval

COMMANDS = [
    ("demo",),
    ("runs",),
    ("show",),
    ("report",),
    ("compare",),
    ("plan",),
    ("plots",),
    ("new",),
    ("replay-server",),
    ("chaos-server",),
    ("tau2",),
    ("tau2", "run"),
    ("tau2", "mcp"),
    ("tau2", "score"),
    ("tau2", "explain"),
    ("tau2", "audit"),
    ("tau2", "errata"),
    ("tau2", "certify"),
    ("tau2", "verify"),
    ("tau2", "export"),
    ("tau2", "tasks"),
    ("tau2", "show"),
    ("tau2", "data"),
]


@cache
def help_of(*command):
    return maseval(*command, "--help")


@pytest.mark.parametrize("command", [(), *COMMANDS], ids=" ".join)
def test_help_teaches_by_examples(command):
    result = help_of(*command)

    _, examples = result.stdout.split("Examples")
    assert result.exit_code == 0
    assert 2 <= examples.count(" ".join(["maseval", *command[:1]])) <= 8


@pytest.mark.parametrize(
    "option",
    [
        *("--domain", "--split", "--task-id", "--num-tasks", "--trials", "--agent", "--user"),
        *("--agent-model", "--user-model", "--judge-model", "--agent-args", "--user-args"),
        *("--base-url", "--concurrency", "--max-steps", "--seed", "--timeout", "--budget"),
        *("--mode", "--output", "--json", "--fork", "--retry-failed", "--rehearse"),
    ],
)
def test_every_option_of_a_run_is_in_its_help(option):
    assert option in help_of("tau2", "run").stdout


@pytest.mark.parametrize("alias", ["--num-trials", "--agent-llm ", "--save-to", "--task-ids"])
def test_habits_of_tau2_bench_do_not_crowd_the_help(alias):
    options = help_of("tau2", "run").stdout.split("Options")[1]

    assert alias not in options


@pytest.mark.parametrize("command", [(), *COMMANDS], ids=" ".join)
def test_a_flag_is_shown_as_a_flag(command):
    shown = help_of(*command).stdout

    assert "<bool>" not in shown and "BOOLEAN" not in shown


def test_a_run_with_models_says_so_before_it_loads_their_libraries():
    code = (
        "import sys; from maseval.cli.app import app; from maseval.cli import display\n"
        "announce = display._announce_models\n"
        "def stop(*given):\n"
        "    announce(*given)\n"
        "    print([name for name in sys.modules if name.startswith(('openai', 'httpx',"
        "'maseval.benchmark.tau2.domains', 'maseval.interface'))])\n"
        "    sys.exit()\n"
        "display._announce_models = stop\n"
        "app(['tau2', 'run', '--domain', 'retail', '--agent-model', 'openai/mine'])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stderr == "Preparing the run with openai/mine ...\n"
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("group", [[], ["tau2"], ["macs"]], ids=str)
def test_a_group_describes_its_commands_as_they_describe_themselves(group, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    listed = maseval(*group, "--help").stdout

    command = get_command(app)
    for name in group:
        command = command.commands[name]
    for name in command.commands:
        first_line = command.commands[name].help.strip().splitlines()[0]
        assert re.search(rf"│ {name} +{re.escape(first_line)} +│", listed), name


def test_the_version_is_told():
    assert maseval("--version").stdout.startswith("maseval 0.")


def test_an_unknown_command_suggests_a_known_one():
    result = maseval("tau2", "rnu")

    assert result.exit_code == 2
    assert "'run'" in result.stderr


def test_a_reader_that_goes_away_leaves_no_traceback(tmp_path):
    command = " ".join(COMMAND)
    run = subprocess.run(
        f"{command} tau2 show policy --domain library | head -1; "
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

    done = maseval("tau2", "score", "broken.json")

    assert done.exit_code in (1, 2)
    assert done.stderr.startswith("Error: broken.json") and "Traceback" not in done.stderr
