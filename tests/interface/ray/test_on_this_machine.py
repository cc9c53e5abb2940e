"""``maseval run --engine ray`` on all cores of this machine, as a user starts it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from maseval.runs import RunFolder
from tests.damage import results_in
from tests.interface.ray.conftest import CHECKOUT
from tests.waiting import wait_until

KEY = "sk-canary-in-the-environment-4711"
OPTION = "canary-in-an-option-0815"

BENCHMARK = """
import hashlib
import os
import time

import neighbour

from maseval import AgentAdapter, AgentError, Benchmark, Environment, Evaluator, Task

TASKS = [Task(query=f"do t{number:02}", id=f"t{number:02}") for number in range(12)]


class World(Environment):
    def setup_state(self, task_data):
        return {}

    def create_tools(self):
        return {}


class Agent(AgentAdapter):
    def _run_agent(self, query):
        key = os.environ["OPENAI_API_KEY"]
        print("the key is", key)
        time.sleep(float(os.environ.get("SLEEP_KEY", "0")))
        if query == "do t03":
            raise AgentError(f"refused: {key}")
        return f"{neighbour.words(query)}, with {hashlib.sha256(key.encode()).hexdigest()}"


class Answered(Evaluator):
    def __call__(self, traces, final_answer=None):
        return {"passed": bool(final_answer)}


class Mine(Benchmark):
    def setup_environment(self, agent_data, task, seed_generator):
        return World({})

    def setup_agents(self, agent_data, environment, task, user, seed_generator):
        assert agent_data["api_key"] == OPTION
        agent = Agent(None, "agent")
        return [agent], {"agent": agent}

    def setup_evaluators(self, environment, task, agents, user, seed_generator):
        return [Answered(task, environment)]
"""


@pytest.fixture
def place(tmp_path: Path, ray_folder: Any) -> tuple[Any, Any]:
    """A folder with code of one's own, and one for Ray."""
    (tmp_path / "mine.py").write_text(BENCHMARK.replace("OPTION", repr(OPTION)))
    (tmp_path / "neighbour.py").write_text("def words(query):\n    return f'did {query}'\n")
    return tmp_path, ray_folder


def environment_for(ray_folder: Any, **more: Any) -> dict[str, Any]:
    """The variables of a command that starts a Ray of its own."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("RAY_")},
        "RAY_TMPDIR": str(ray_folder),
        "PYTHONPATH": os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")]),
        **more,
    }


def command(folder: Path, *options: Any) -> list[Any]:
    return [
        *(sys.executable, "-m", "maseval.cli", "run", "mine.py:Mine", "--tasks", "mine.py:TASKS"),
        *("--agent-data", f"api_key={OPTION}", "--output", folder, "-j", "4", *options),
    ]


RAY = ("--engine", "ray", "--processes", "2")


def started(place: Any, folder: Path, *options: Any, sleep: float = 0.0) -> Any:
    home, ray = place
    # The second one is named like a key, so that it reaches the workers.
    environment = environment_for(ray, OPENAI_API_KEY=KEY, SLEEP_KEY=str(sleep))
    return subprocess.Popen(
        command(folder, *options),
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(place: Any, folder: Path, *options: Any) -> tuple[Any, Any]:
    process = started(place, folder, *options)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out, err


def test_a_command_on_two_processes_gives_what_threads_give_and_betrays_no_secret(place):
    home, ray = place
    ended(place, "here")

    out, err = ended(place, "there", *RAY, "--json")

    assert json.loads(out)["folder"].endswith("there")  # and nothing of Ray's on standard output
    assert results_in(home / "there") == results_in(home / "here") != []
    files = [path for path in [*ray.rglob("*"), *(home / "there").rglob("*")] if path.is_file()]
    assert any("worker" in path.name for path in files)
    told = {path.name: path.read_bytes() for path in files}
    told |= {"out": out.encode(), "err": err.encode()}
    assert [name for name, text in told.items() if KEY.encode() in text] == []
    assert [name for name, text in told.items() if OPTION.encode() in text] == []
    assert any(b"the key is <redacted>" in text for text in told.values())


def wait_for_reports(process: Any, log: Any, number: int) -> None:
    wait_until(
        lambda: (
            process.poll() is not None
            or (log.is_file() and log.read_bytes().count(b'"kind": "report"') >= number)
        )
    )


def wait_for_words(process: Any, words: str) -> Any:
    """What was shown until these words were."""
    shown = ""
    while words not in shown and (line := process.stderr.readline()):
        shown += line
    return shown


def test_ctrl_c_once_finishes_what_runs_and_twice_stops_now(place):
    home, _ = place
    log = home / "run" / "log.jsonl"
    ended(place, "here")

    once = started(place, "run", *RAY, sleep=1.5)
    wait_for_reports(once, log, 1)
    os.killpg(once.pid, signal.SIGINT)
    _, err = once.communicate()

    finished = len(RunFolder.read(home / "run").recorded)
    assert 4 <= finished < 12, err
    assert "Traceback" not in err

    twice = started(place, "run", *RAY, sleep=300)
    before = wait_for_words(twice, "4 running")
    os.killpg(twice.pid, signal.SIGINT)
    wait_for_words(twice, "stopping (interrupted)")
    os.killpg(twice.pid, signal.SIGINT)
    err = before + twice.communicate()[1]

    assert len(RunFolder.read(home / "run").recorded) == finished
    assert "Traceback" not in err, err
    ended(place, "run")
    assert results_in(home / "run") == results_in(home / "here")
