"""``maseval tau2 run``: what it takes, what it prints, and with which code it leaves."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval import ScriptedModelAdapter, register_model
from maseval.commands import tau2
from maseval.core.provider_errors import AuthenticationError
from maseval.runs import RunFolder
from tests.cli.commandline import (
    COMMAND,
    ended,
    finished,
    held_agent,
    last_json,
    maseval,
    slow_agent,
    started,
)
from tests.waiting import hang_ups_heeded, wait_until

LIBRARY = ("tau2", "run", "--domain", "library")
pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


def test_a_run_gets_a_folder_named_after_what_it_runs(tmp_path):
    maseval(*LIBRARY, "--agent", "noop")

    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("-library-noop")
    assert len(RunFolder.read(folder).recorded) == 12


def test_for_scripts_standard_output_is_one_json_object():
    result = maseval(*LIBRARY, "--agent", "gold", "--trials", 2, "--output", "here", "--json")

    told = json.loads(result.stdout)
    assert told["complete"] and told["ran"] == 24
    assert told["overall"]["planned"] == told["overall"]["done"] == 24
    measured = told["domains"]["library"]["pass^2"]
    assert measured["value"] == measured["high"] == 1.0 and 0.5 < measured["low"] < 1.0
    assert told["folder"].endswith("here")
    assert told["cost"] == 0 and told["tokens"] == 0
    assert "24/24 done" in result.stderr


def test_a_run_is_resumed_grown_refused_or_forked(tmp_path):
    run = (*LIBRARY, "--agent", "noisy", "--output", "r", "--json")

    first, again, grown = (last_json(maseval(*run, "-k", k).stdout) for k in (1, 1, 3))
    refused = maseval(*run, "--seed", 1)
    forked = maseval(*run, "--seed", 1, "--fork")

    assert (first["ran"], again["ran"], grown["ran"]) == (12, 0, 24)
    assert again["overall"] == first["overall"]
    assert refused.exit_code == 2 and "seed: 300 -> 1" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert forked.exit_code == 0 and len(RunFolder.read(tmp_path / "r-2").recorded) == 12


def test_the_options_of_tau2_bench_are_understood(tmp_path):
    ids = [task.task_id for task in tau2.tasks("library")][:2]
    script = tmp_path / "replies.json"
    script.write_text(json.dumps(["Hello!"] * 20))

    result = maseval(
        *LIBRARY,
        *("--agent-llm", f"scripted/{script}", "--user", "scripted"),
        *("--agent-llm-args", '{"temperature": 0.0}', "--num-trials", 2, "--max-concurrency", 2),
        *("--save-to", "theirs", "--json", "--task-ids", *ids),
    )

    assert result.exit_code == 0
    assert last_json(result.stdout)["overall"]["planned"] == 4
    config = RunFolder.read("theirs").config.values
    assert config["agent"]["args"] == {"temperature": 0.0}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--domain", "libary", "--agent", "gold"], "did you mean 'library'"),
        (["--domain", "library"], "agent_model is not set"),
        (["--domain", "library", "--agent", "golden"], "gold, noop, noisy"),
        (["--domain", "library", "--agent", "gold", "--user", "llm"], "user_model is not set"),
        (["--domain", "library", "--agent", "gold", "--task-id", "zero"], "no task 'zero'"),
        (["--domain", "library", "--agent", "gold", "--split", "hard"], "Invalid split 'hard'"),
        (["--domain", "library", "--agent", "gold", "--budget", "5"], "money like 5usd"),
        (["--domain", "library", "--agent", "gold", "--mode", "duo"], "normal, solo, oracle-plan"),
        (["--domain", "library", "--agent", "noisy", "--agent-args", "error_rate=2"], "0 to 1"),
        (["--domain", "library", "--agent", "gold", "--agent-args", "rate=2"], "no arguments"),
        (["--domain", "library", "--agent-model", "opnai/x", "--user", "scripted"], "no provider"),
        (["--domain", "library", "--agent", "gold", "--agent-args", "{rate"], "not a JSON object"),
        (["--domain", "library", "--agent", "gold", "stray"], "Invalid domain 'stray'"),
    ],
)
def test_a_mistake_is_explained_in_one_message(options, words, tmp_path):
    result = maseval("tau2", "run", *options)

    assert result.exit_code == 2
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "runs").exists()


def test_debug_at_the_end_shows_where_an_error_comes_from(tmp_path):
    code, _, errors = finished(
        "tau2", "run", "--domain", "nowhere", "--agent", "gold", "--debug", folder=tmp_path
    )

    assert code == 1
    assert "Traceback" in errors and "UnknownDomainError" in errors


def test_a_budget_in_tokens_stops_the_run_which_can_go_on(tmp_path):
    run = [*LIBRARY, *slow_agent(tmp_path, 0), "--output", "r", "--concurrency", 1, "--json"]

    stopped, again = (maseval(*run, "--budget", "100 tokens") for _ in range(2))
    resumed = maseval(*run, "--budget", "2M tokens")

    assert stopped.exit_code == 3
    assert last_json(stopped.stdout)["ran"] == 1
    assert last_json(stopped.stdout)["cost"] is None and last_json(stopped.stdout)["tokens"] > 100
    assert "the budget of 100 tokens is reached" in last_json(stopped.stdout)["stopped"]
    assert "Incomplete" in stopped.stderr
    assert again.exit_code == 3 and last_json(again.stdout)["ran"] == 0
    assert resumed.exit_code == 0
    assert last_json(resumed.stdout)["ran"] == 11


def test_a_fault_that_every_task_shares_stops_the_run():
    def locked_out(name, **options):
        error = AuthenticationError("no such key", provider="locked", model_id=name)
        return ScriptedModelAdapter([error], loop=True)

    register_model("locked", locked_out)

    result = maseval(
        *(*LIBRARY, "--agent-model", "locked/x", "--user", "scripted", "--concurrency", 1),
        *("--output", "r", "--json"),
    )

    assert result.exit_code == 3
    told = last_json(result.stdout)
    assert told["ran"] == 1 and told["overall"]["failed"] == 1
    assert "every other task" in told["stopped"] and "no such key" in told["stopped"]


def told_in(
    folder: Path,
) -> Iterator[tuple[str, int, list[dict[str, Any]], list[tuple[str, str, None]]]]:
    """What was said and done in every simulation, and how it was judged."""
    for report in RunFolder.read(folder).reports():
        messages = report["traces"]["environment"]["simulation"]["messages"]
        said = [(one["role"], one["content"], one.get("tool_calls")) for one in messages]
        yield report["task_id"], report["repeat_idx"], report["eval"], said


def test_ctrl_c_finishes_what_runs_and_the_run_can_go_on(tmp_path):
    agent, hold = held_agent(tmp_path, free=2)
    run = [*LIBRARY, *agent, "--concurrency", 2, "--json"]
    process = started(*run, "--output", "r", folder=tmp_path)
    wait_until(lambda: len(list(tmp_path.glob("waits-*"))) == 2)

    process.send_signal(signal.SIGINT)
    next(line for line in process.stderr if "still to finish" in line)
    hold.unlink()
    code, out, _ = ended(process)

    told = last_json(out)
    assert code == 3
    assert told["stopped"] == "interrupted"
    assert told["overall"]["done"] == 4 and told["overall"]["failed"] == 0
    resumed = maseval(*run, "--output", "r")
    assert resumed.exit_code == 0 and last_json(resumed.stdout)["ran"] == 8
    maseval(*run, "--output", "undisturbed")
    assert list(told_in(tmp_path / "r")) == list(told_in(tmp_path / "undisturbed"))


def test_ctrl_c_twice_stops_at_once_and_the_run_can_go_on(tmp_path):
    agent, _ = held_agent(tmp_path, free=1)
    quick = [*LIBRARY, "--num-tasks", 3, "--concurrency", 1, "--output", "r", "--json"]
    process = started(*quick, *agent, folder=tmp_path)
    wait_until((tmp_path / "waits-1").exists)

    process.send_signal(signal.SIGINT)
    assert any("still to finish" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    code, out, _ = ended(process)

    assert code == 3
    assert last_json(out)["overall"]["done"] == 1
    assert json.loads(maseval("runs", tmp_path, "--json").stdout)[0]["state"] == "incomplete"


ENDING_AGENT = """\
import itertools, os, signal

starts = itertools.count()

def agent(brief):
    number = next(starts)

    def answer(query):
        if number == 1:
            for _ in range({times}):
                os.kill(os.getpid(), signal.{name})
        return "One moment, please."

    return answer
"""


@pytest.mark.parametrize(("name", "times"), [("SIGTERM", 2), ("SIGHUP", 2), ("SIGTERM", 1)])
def test_a_signal_to_end_finishes_what_runs_and_says_how_to_resume(name, times, tmp_path):
    (tmp_path / "my_agent.py").write_text(ENDING_AGENT.format(name=name, times=times))
    run = [*LIBRARY, "--agent", "my_agent.py:agent", "--user", "scripted", "-j", 1, "-o", "r"]

    with hang_ups_heeded():
        ended = maseval(*run, "--json")

    told = last_json(ended.stdout)
    assert ended.exit_code == 3
    assert told["stopped"] == f"interrupted by {name}"
    assert told["overall"]["failed"] == 0 and 2 <= told["overall"]["done"] < 12
    assert "repeat the command with --output r to resume" in ended.stderr


ENDLESS_AGENT = """\
import pathlib, threading, time

pathlib.Path("starts").mkdir(exist_ok=True)

def wait():
    while True:
        time.sleep(1)

def agent(brief):
    def answer(query):
        threading.Thread(target=wait).start()  # which keeps a process from ending, too
        (pathlib.Path("starts") / str(time.time())).touch()
        while True:
            try:
                wait()
            except BaseException:
                pass

    return answer
"""


@pytest.mark.parametrize(
    ("times", "engine"),
    [
        (1, ["-j", "1"]),
        (1, ["-j", "2", "--engine", "processes", "--processes", "1"]),
        (2, ["-j", "2"]),
    ],
)
def test_a_run_whose_agent_never_answers_is_ended_by_sigterm(engine, times, tmp_path):
    (tmp_path / "my_agent.py").write_text(ENDLESS_AGENT)
    agent = ["--agent", "my_agent.py:agent", "--user", "scripted", "--output", "r"]
    process = started(*LIBRARY, *agent, *engine, folder=tmp_path)
    wait_until(lambda: any(tmp_path.glob("starts/*")))

    for _ in range(times):
        process.send_signal(signal.SIGTERM)
        if times > 1:
            time.sleep(1.5)

    assert ended(process)[0] in (3, -signal.SIGALRM)
    assert not RunFolder.read(tmp_path / "r").recorded
    assert json.loads(maseval("runs", tmp_path, "--json").stdout)[0]["state"] == "incomplete"


def test_a_run_whose_terminal_is_closed_ends_in_order(tmp_path):
    agent, hold = held_agent(tmp_path, free=1)
    master, slave = pty.openpty()
    with hang_ups_heeded():
        process = subprocess.Popen(
            [*COMMAND, *LIBRARY, *agent, "--concurrency", "1", "--output", "r"],
            cwd=tmp_path,
            **dict.fromkeys(("stdin", "stdout", "stderr"), slave),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
    os.close(slave)
    wait_until((tmp_path / "waits-1").exists)

    os.close(master)
    hold.unlink()

    assert process.wait(120) == 3
    assert 2 <= len(RunFolder.read(tmp_path / "r").recorded) < 12
    assert not (tmp_path / "r" / "live.json").exists()
    assert finished("runs", tmp_path, "--json", folder=tmp_path)[0] == 0


OWN_AGENT = """\
from maseval.benchmark.tau2 import DefaultTau2Agent, DefaultTau2AgentAdapter

def agent(brief):
    return DefaultTau2AgentAdapter(DefaultTau2Agent(brief.tools, brief.policy, brief.chat_model()))
"""


def test_a_rehearsal_is_never_taken_for_a_measurement(tmp_path):
    (tmp_path / "my_agent.py").write_text(OWN_AGENT)

    told = maseval(
        *(*LIBRARY, "-n", 1, "--agent", f"{tmp_path}/my_agent.py:agent", "--rehearse", "gold"),
        *("--output", "runs/r"),
    ).stdout

    note = "A rehearsal: the agent's model was played by gold."
    assert note in told and note in maseval("show", "r").stdout
    assert "rehearsed with gold" in " ".join(maseval("runs").stdout.replace("│", " ").split())


def test_models_and_arguments_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("MASEVAL_AGENT_MODEL", "scripted/echo")
    monkeypatch.setenv("MASEVAL_AGENT_ARGS", "temperature=0.5 top_p=1")

    done = maseval(*(*LIBRARY, "-n", 1, "--user", "scripted", "--max-steps", 4, "--output", "here"))

    assert done.exit_code == 0, done.stderr
    agent = RunFolder.read("here").config.values["agent"]
    assert agent["model"] == "scripted/echo"
    assert agent["args"] == {"temperature": 0.5, "top_p": 1}
