"""Runs of finished agents on the command line: those of the pages, grids, and ends."""

import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval.runs import RunFolder
from tests.cli.commandline import ended, finished, started
from tests.interface.agents.outside.test_a2a import serving
from tests.interface.agents.outside.test_acp import is_running, wait_until
from tests.interface.libraries import needing

HERE = Path(__file__).parent
EXAMPLES = Path(__file__).parents[4] / "examples" / "finished_agents"
LIBRARY = ("tau2", "run", "--domain", "library", "--user", "scripted", "--output", "run")
AGENT = f"acp:{sys.executable} {HERE / 'acp_agent.py'}"

pytestmark = pytest.mark.slow
with_acp = [needing("acp"), pytest.mark.usefixtures("tau2_data")]
with_a2a = [needing("a2a"), pytest.mark.usefixtures("tau2_data")]


def marked(marks: list[list[pytest.MarkDecorator] | pytest.MarkDecorator]) -> Callable[..., Any]:
    def mark(test):
        for each in marks:
            for one in each if isinstance(each, list) else [each]:
                test = one(test)
        return test

    return mark


@marked(with_acp)
def test_the_program_of_the_examples_passes_its_rehearsal(tmp_path):
    shutil.copy(EXAMPLES / "acp_clerk.py", tmp_path / "clerk.py")
    canary = {"OPENAI_API_KEY": "sk-canary-0123456789abcdef", "TEA": "green"}
    env = ("--agent-env", "TEA", "--agent-env", "MY_TOKEN=canary-of-the-token-77")
    agent = ("--agent", f"acp:{sys.executable} clerk.py", *env, "--rehearse", "gold")

    code, out, errors = finished(*LIBRARY, "-n", 1, *agent, folder=tmp_path, **canary)

    assert code == 0, out + errors
    folder = RunFolder.read(tmp_path / "run")
    told = folder.config.values["agent"]
    assert told["protocol"] == "ACP 1" and set(told["files"]) == {"clerk.py"}
    assert told["function"] == f"acp:{sys.executable} clerk.py"
    assert told["env"]["TEA"] == "passed on"
    files = [each for each in (tmp_path / "run").rglob("*") if each.is_file()]
    for each in files:
        assert not re.search(rb"canary-0123|canary-of-the-token", each.read_bytes()), each
    assert out.count("100.0%")


@marked(with_acp)
def test_a_finished_agent_is_a_level_beside_our_own(tmp_path):
    shutil.copy(EXAMPLES / "acp_clerk.py", tmp_path / "clerk.py")
    (tmp_path / "own.py").write_text(
        "def agent(brief):\n"
        "    from maseval.interface.agents import ChatCompletionsAgentAdapter as Adapter\n"
        "    return Adapter(brief.chat_model(), tools=brief.tools, instructions=brief.policy)\n"
    )
    systems = json.dumps([f"acp:{sys.executable} clerk.py", "own.py:agent"])
    (tmp_path / "g.toml").write_text(
        'benchmark = "tau2"\ndomain = "library"\nnum-tasks = 1\nuser = "scripted"\n'
        f'rehearse = "gold"\n[grid]\nsystem = {systems}\n'
    )

    code, out, errors = finished("run", "g.toml", "--json", folder=tmp_path)

    assert code == 0, out + errors
    cells = [json.loads(line) for line in out.splitlines()]
    assert [each["overall"]["passed"] for each in cells] == [1, 1]
    assert cells[0]["cell"]["system"] == f"acp {Path(sys.executable).name} clerk.py"
    assert "Using the programs that g.toml names: acp:" in errors


@marked(with_acp)
def test_an_interrupt_leaves_nothing_running(tmp_path):
    agent = ("--agent", f"{AGENT} stubborn", "--agent-env", f"AGENT_FOLDER={tmp_path}")
    run = started(*LIBRARY, "-n", 1, *agent, folder=tmp_path)
    pids = tmp_path / "pids"
    wait_until(pids.exists, 90)
    for _ in range(2):
        os.kill(run.pid, signal.SIGINT)
        time.sleep(1.0)

    code, _, errors = ended(run)

    assert code != 0 and "Traceback" not in errors, errors
    # Where the second interrupt ends the process at once, a shell ends what it leaves behind.
    wait_until(lambda: not any(is_running(int(each)) for each in pids.read_text().split()))


@marked(with_acp)
@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("acp:no-such-program-anywhere --x", "cannot be started"),
        ("acp:cat", "must name one that speaks it"),
        (f"{AGENT} locked", "log in first"),
    ],
)
def test_a_program_that_cannot_take_part_is_refused_before_anything_is_written(
    agent, words, tmp_path
):
    code, out, errors = finished(*LIBRARY, "-n", 1, "--agent", agent, folder=tmp_path)

    assert code == 2 and words in " ".join(errors.replace("│", " ").split()), out + errors
    assert "Traceback" not in errors
    assert not (tmp_path / "run").exists()


@marked(with_a2a)
def test_a_service_plays_and_its_card_is_in_the_record(tmp_path):
    shutil.copy(EXAMPLES / "a2a_clerk.py", tmp_path / "clerk.py")
    lines = ["One moment.", "That is everything I can do for you today."]
    with serving(program=tmp_path / "clerk.py", CLERK_LINES=json.dumps(lines)) as url:
        agent = ("--agent", f"a2a:{url}")
        code, out, errors = finished(*LIBRARY, "-n", 2, *agent, folder=tmp_path)

    assert code == 0, out + errors
    told = RunFolder.read(tmp_path / "run").config.values["agent"]
    assert told["protocol"] == "A2A 1.0" and told["agent_info"]["name"] == "clerk"
