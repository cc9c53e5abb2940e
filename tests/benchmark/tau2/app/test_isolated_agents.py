"""``--isolate``: an own agent in a process of its own, with the same results, without the gold."""

import os
import signal
import subprocess

import pytest

from maseval.benchmark.tau2.app.running.own_agents import AgentImportError
from maseval.commands import tau2
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder
from tests.cli.commandline import COMMAND, ended, held_agent, last_json, maseval
from tests.waiting import wait_until

AGENTS = """\
import gc
import os
import time
from pathlib import Path

from maseval.benchmark.tau2 import DefaultTau2Agent, DefaultTau2AgentAdapter

HERE = Path(__file__).parent


def reference(brief):
    return DefaultTau2AgentAdapter(DefaultTau2Agent(brief.tools, brief.policy, brief.chat_model()))


def curious(brief):
    def answer(query):
        print("This is no answer.")
        secret = {"Task", "Tau2Evaluator", "RunBenchmark"}
        found = secret & {type(one).__name__ for one in gc.get_objects()}
        (HERE / "found.txt").write_text(", ".join(found))
        name = next(name for name in brief.tools if name.startswith("get_"))
        return brief.tools[name]("nobody") + " " + brief.tools[name](wrong=1)

    return answer


def mistaken(brief):
    return lambda query: {}["a mistake"]


def dying(brief):
    return lambda query: os._exit(7)


def hanging(brief):
    def answer(query):
        (HERE / "process.txt").write_text(str(os.getpid()))
        time.sleep(600)

    return answer
"""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agents.py").write_text(AGENTS)


def run(name, output="run", **options):
    options = {"num_tasks": 2, "user": "scripted", "isolate": True, **options}
    return tau2.run(domain="library", agent=f"agents.py:{name}", output=output, **options)


def told_in(folder):
    """Return what was said, done, judged and used in every simulation of a run."""
    for report in RunFolder.read(folder).reports():
        messages = report["traces"]["environment"]["simulation"]["messages"]
        said = [(one["role"], one["content"], one.get("tool_calls")) for one in messages]
        agents = {
            name: [message["content"] for message in one["messages"]]
            for name, one in report["traces"]["agents"].items()
        }
        used = {
            name: [one.get(key) for key in ("input_tokens", "output_tokens", "cost")]
            for kind in ("agents", "models")
            for name, one in report["usage"][kind].items()
        }
        yield report["task_id"], report["status"], report["eval"], said, agents, used


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "options"), [("reference", {"rehearse": "gold"}), ("curious", {"max_steps": 8})]
)
def test_an_isolated_agent_has_the_same_results(name, options):
    run(name, "apart", **options)
    run(name, "within", isolate=False, **options)

    assert list(told_in("apart")) == list(told_in("within"))


def test_an_isolated_agent_finds_no_gold_in_its_memory(tmp_path):
    run("curious", "within", isolate=False, num_tasks=1, max_steps=4)
    assert "Tau2Evaluator" in (tmp_path / "found.txt").read_text()

    result = run("curious", num_tasks=1, max_steps=4)

    assert (tmp_path / "found.txt").read_text() == ""
    assert result.config["isolation"] == "process"
    assert "Isolation: the agent ran in a process of its own." in maseval("show", "run").stdout


def test_a_mistake_in_an_isolated_agent_is_told_with_its_line():
    run("mistaken", num_tasks=1)

    [report] = RunFolder.read("run").reports()
    assert report["status"] == "agent_error"
    assert 'lambda query: {}["a mistake"]' in report["error"]["error_message"]
    assert "KeyError" in report["error"]["traceback"]


def test_a_process_that_dies_is_the_fault_of_its_agent():
    result = run("dying", concurrency=1)

    assert [report["status"] for report in RunFolder.read("run").reports()] == ["agent_error"] * 2
    assert "ended (exit code 7) before it answered" in result.errors[0].error


def test_a_process_that_hangs_is_ended_at_the_deadline(tmp_path):
    result = run("hanging", num_tasks=1, timeout=3)

    assert result.summary.overall.failed == 1
    told = tmp_path / "process.txt"  # missing where the deadline was over before it began
    wait_until(lambda: not told.exists() or not is_running(int(told.read_text())))


def test_no_process_outlives_a_run_that_is_killed(tmp_path):
    options = ["--user", "scripted", "--isolate", "-n", "1", "-o", "run"]
    command = ["tau2", "run", "-d", "library", "--agent", "agents.py:hanging", *options]
    process = subprocess.Popen([*COMMAND, *command], stderr=subprocess.DEVNULL)
    told = tmp_path / "process.txt"
    wait_until(lambda: told.exists() and told.read_text())
    process.kill()
    process.wait()

    wait_until(lambda: not is_running(int(told.read_text())))


def test_ctrl_c_lets_an_isolated_agent_finish(tmp_path):
    agent, hold = held_agent(tmp_path, free=1)
    command = ["tau2", "run", "-d", "library", *agent, "--isolate", "-j", "1", "-o", "r", "--json"]
    process = subprocess.Popen(
        [*COMMAND, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until((tmp_path / "waits-1").exists)
    os.killpg(process.pid, signal.SIGINT)
    assert any("still to finish" in line for line in process.stderr)
    hold.unlink()

    code, out, _ = ended(process)

    assert code == 3
    assert last_json(out)["overall"]["done"] == 2 and last_json(out)["overall"]["failed"] == 0


def test_what_cannot_be_isolated_is_refused():
    with pytest.raises(ConfigurationError, match="isolate is for an agent of your own, but agent"):
        tau2.run(domain="library", agent="gold", isolate=True)
    with pytest.raises(ConfigurationError, match="agent is a function of this process"):
        tau2.run(domain="library", agent=lambda brief: print, user="scripted", isolate=True)
    with pytest.raises(AgentImportError, match="has no function 'curous'; did you mean 'curious'"):
        run("curous")
