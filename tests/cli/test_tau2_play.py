"""``maseval tau2 play`` on a pipe and on a terminal."""

import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maseval.benchmark.tau2.data_loader import load_tasks
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.cli.app import app
from maseval.cli.tau2.play_terminal import fields_of, read_arguments
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder, run_state
from tests.cli.commandline import COMMAND
from tests.waiting import wait_until

pty = pytest.importorskip("pty")  # terminals of this kind are POSIX

GOLD = [
    '/call get_member {"card_number": "B 1184 2011"}',
    *("/call get_account", "M-2011"),
    *("/call renew_l", "L-5001"),
]


def played(folder, *lines, options=()):
    arguments = ["tau2", "play", "library", "--output", str(folder), *options]
    typed = "".join(f"{line}\n" for line in lines)
    return CliRunner().invoke(app, arguments, input=typed, prog_name="maseval")


def test_the_gold_solution_passes_when_it_is_typed(tmp_path):
    result = played(tmp_path / "run", "What is your card number?", *GOLD, "/stop Goodbye!")

    assert result.exit_code == 0
    assert "+ pass, reward 1, ended by agent_stop" in result.stdout
    assert "Saved as a run: maseval show" in result.stdout
    assert run_state(tmp_path / "run").state == "complete"
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "run")]).stdout
    assert "Human: a person played the agent." in shown


def test_a_newcomer_is_told_what_to_do_and_reads_policy_and_tools(tmp_path):
    result = played(tmp_path / "run", "/help", "/policy", "/tools", "/tools renew_loan", "/stop")

    assert "You are the agent of library." in result.stdout
    assert "Good standing" in result.stdout and "/give-up" in result.stdout
    assert "Extend an open loan" in result.stdout and "loan_id (text)" in result.stdout
    # What the customer was told is for whoever plays the customer.
    assert "Ask for your own book first" not in result.stdout


def test_mistakes_at_the_keyboard_are_explained_and_recorded_nowhere(tmp_path):
    lines = [
        "/nothing",
        "/transfer",
        "/last",
        "/CALL",
        "/call fly",
        "/call get",
        "/call get_member {",
        "/call 1",
        "",
    ]
    result = played(tmp_path / "run", *lines, "/cancel", "", "//slash", "/stop")

    for words in (
        "There is no /nothing",
        "There is no /transfer",  # which is the customer's
        "No tool has answered yet",
        "name a tool",
        "'fly' is not a tool",
        "'get' may be get_member, get_account",
        "not a JSON object",
        "card_number is empty",
        "Cancelled; nothing was called",
    ):
        assert words in result.stdout
    [report] = RunFolder.read(tmp_path / "run").reports()
    said = [each["content"] for each in report["traces"]["agents"]["human"]["messages"]]
    assert "/slash" in said and "Goodbye." in said
    assert not any(
        each.get("tool_calls") for each in report["traces"]["agents"]["human"]["messages"]
    )


def test_input_that_ends_interrupts_and_the_same_command_plays_it_again(tmp_path):
    result = played(tmp_path / "run", "Hello")

    assert result.exit_code == 3 and "Interrupted." in result.stdout
    assert run_state(tmp_path / "run").state == "incomplete"
    assert played(tmp_path / "run", *GOLD, "/stop").exit_code == 0
    assert run_state(tmp_path / "run").state == "complete"


def test_the_customer_reads_its_instructions_and_no_policy(tmp_path):
    lines = ["/help", "Please renew my book.", "Yes.", "Yes.", "/stop Thanks"]
    result = played(tmp_path / "run", *lines, options=["--as", "user", "--agent", "noop"])

    assert "Ask for your own book first" in result.stdout
    assert "Good standing" not in result.stdout and "/transfer" in result.stdout
    assert result.exit_code == 0 and "ended by user_stop" in result.stdout


def test_a_model_that_the_environment_names_for_the_played_side_is_not_meant(tmp_path, monkeypatch):
    monkeypatch.setenv("MASEVAL_AGENT_MODEL", "openai/gpt-4.1")

    assert played(tmp_path / "run", "/stop").exit_code == 0
    refused = played(tmp_path / "other", options=["--agent-model", "m"])
    assert refused.exit_code == 2 and "you play the agent" in refused.stderr


def test_escape_sequences_of_the_other_side_are_shown_inert(tmp_path):
    script = tmp_path / "replies.json"
    script.write_text(json.dumps(["Hello \x1b[2J[bold]x[/bold]\x07", "###STOP###"]))
    options = ["--user-model", f"scripted/{script}", "--texts", "ours"]
    result = played(tmp_path / "run", "Goodbye", options=options)

    assert "\x1b[2J" not in result.stdout and "\x07" not in result.stdout
    assert "[bold]x[/bold]" in result.stdout


@pytest.mark.parametrize(("answer", "kept"), [("n", False), ("y", True)])
def test_ctrl_c_on_a_terminal_asks_whether_to_keep_what_happened(tmp_path, answer, kept):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "tau2", "play", "--output", "run"],
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TERM": "dumb"},
    )
    os.close(theirs)
    screen = Screen(ours)
    screen.wait_for(b"> ")
    os.write(ours, b"Hello there\n")
    screen.wait_for(b"born on 2 June 1984")
    screen.wait_for(b"> ")
    interrupt_until(process, screen, b"Keep what happened?")
    os.write(ours, f"{answer}\n".encode())
    process.wait(300)
    os.close(ours)

    assert (tmp_path / "run").exists() is kept


def interrupt_until(process, screen, words):
    """Ctrl-C; readline misses one between writing its prompt and waiting for a key."""
    wait_until(lambda: is_asleep(process.pid))
    process.send_signal(signal.SIGINT)
    while not screen.shows(words, seconds=30):
        process.send_signal(signal.SIGINT)


def is_asleep(pid):
    state = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True)
    return state.stdout.startswith(("S", "I"))


class Screen:
    """What a process writes to its terminal."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.text = b""

    def shows(self, words, seconds):
        until = time.monotonic() + seconds
        while words not in self.text and (left := until - time.monotonic()) > 0:
            if select.select([self.descriptor], [], [], left)[0]:
                self.text += os.read(self.descriptor, 4096)
        return words in self.text

    def wait_for(self, words):
        while words not in self.text:
            self.text += os.read(self.descriptor, 4096)
        self.text = self.text.partition(words)[2]


def tool_with(**properties):
    required = [name for name, schema in properties.items() if "default" not in schema]
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": "tool", "parameters": parameters}}


TEXTS = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, " #W12 ", "#W12"),
        ({"type": "string"}, "123", "123"),
        ({"type": "integer"}, "3", 3),
        ({"type": "number"}, "2.0", 2.0),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "string", "enum": ["yes", "no"]}, "1", "yes"),
        (TEXTS, "1, 2", ["1", "2"]),
        (TEXTS, '["a, b"]', ["a, b"]),
        ({"type": "object"}, '{"a": [1]}', {"a": [1]}),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, "4", 4),
    ],
)
def test_a_text_becomes_the_value_of_the_schemas_type(schema, text, value):
    read = fields_of(tool_with(given=schema))[0].read(text)

    assert read == value and type(read) is type(value)


@pytest.mark.parametrize(
    ("schema", "text", "words"),
    [
        ({"type": "string"}, "  ", "is empty"),
        ({"type": "integer"}, "2.5", "give whole number"),
        ({"type": "boolean"}, "1", "give yes or no"),
        ({"type": "string", "enum": ["yes", "no"]}, "3", r"give yes\|no"),
        ({"type": "object"}, "{", "is not JSON"),
        ({"type": "array", "items": {"type": "object"}}, "{}", r"give JSON like \[\{\}\]"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_way_to_write_it(schema, text, words):
    with pytest.raises(ConfigurationError, match=words):
        fields_of(tool_with(given=schema))[0].read(text)


def test_all_parameters_may_be_given_at_once():
    tool = tool_with(id={"type": "string"}, limit={"type": "integer", "default": 12})

    assert read_arguments(tool, '{"id": "x"}') == {"id": "x"}
    for text, words in (
        ('{"ID": "x"}', "no parameter 'ID'; there is id, limit"),
        ('{"limit": 1}', "id missing"),
        ("id=x", "not a JSON object"),
        ('{"id": "x", "limit": true}', "whole number"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            read_arguments(tool, text)


@pytest.mark.data
def test_every_gold_action_can_be_typed(tau2_data):
    for domain in ("airline", "retail", "telecom"):
        environment = Tau2Environment({"domain": domain})
        sides = [each for each in (environment.toolkit, environment.user_toolkit) if each]
        every = [definition for each in sides for definition in each.definitions()]
        tools = {each["function"]["name"]: each for each in every}
        for task in load_tasks(domain):
            for action in TaskSpec.of(task).actions:
                typed = json.dumps(action.arguments)
                assert read_arguments(tools[action.name], typed) == json.loads(typed)
