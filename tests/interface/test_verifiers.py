"""tau2 as a taskset of verifiers: the library's own evaluation, with a model of this process.

It starts a program for each rollout, whose requirements uv fetches.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from maseval import ScriptedModelAdapter
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.episode import Episodes
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.commands import tau2
from maseval.runs import RunFolder
from maseval.server import ModelServer
from tests.interface.libraries import needing

pytestmark = needing("verifiers")

TASKSET = """
from maseval.benchmark.tau2.verifiers import Tau2Env, Tau2Taskset

__all__ = ["Tau2Env", "Tau2Taskset"]
"""


def gold_moves() -> Any:
    """The reference solution by what the customer says first; of every other task only a part."""
    moves = {}
    for number, raw in enumerate(load_raw_tasks("library")):
        episode = Episodes("library", raw["id"], partner="scripted").start()
        episode.advance()
        criteria = raw["evaluation_criteria"]
        calls = [{"name": a["name"], "arguments": a["arguments"]} for a in criteria["actions"]]
        told = [f"For your information: {each}" for each in criteria["communicate_info"] or ()]
        whole = [*map(json.dumps, calls), *told, "done()"]
        first = f"user: {episode.seen()[-1]['content']}"
        moves[first] = whole if number % 2 == 0 else ["done()"]
    return moves


def test_every_task_of_a_split_has_its_policy_and_tools_in_the_prompt():
    from maseval.benchmark.tau2.verifiers import Tau2Taskset, Tau2TasksetConfig

    tasks = list(Tau2Taskset(Tau2TasksetConfig(domain="library", split="base")))

    assert [task.data.settings["task_id"] for task in tasks] == [
        raw["id"] for raw in load_raw_tasks("library")
    ]
    assert "Good standing" in tasks[0].data.system_prompt
    assert '"name": "renew_loan"' in tasks[0].data.system_prompt
    assert '"name": "done"' in tasks[0].data.system_prompt


@pytest.mark.network
@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
def test_rollouts_are_scored_as_a_run_is(tmp_path):
    moves = gold_moves()

    def policy(messages, tools):
        first = next(each["content"] for each in messages if each["role"] == "user")
        return moves[first][sum(each["role"] == "assistant" for each in messages)]

    (tmp_path / "tau2_taskset.py").write_text(TASKSET)
    with ModelServer(ScriptedModelAdapter(policy, model_id="policy")) as server:
        command = [Path(sys.executable).with_name("vf-eval"), "tau2_taskset", "-m", "policy"]
        command += ["--env.taskset.domain", "library", "--env.taskset.split", "base"]
        command += ["--client.base-url", server.url, "--client.api-key-var", "NO_KEY"]
        command += ["--no-push", "--no-rich"]
        given = {**os.environ, "NO_KEY": "none", "PYTHONPATH": str(tmp_path)}
        subprocess.run(command, cwd=tmp_path, env=given, check=True, timeout=280)
    gold = tau2.run(domain="library", agent="gold", data_version="1.0.1", output=tmp_path / "run")
    rewards = {r["task_id"]: r["eval"][0]["reward"] for r in RunFolder.read(gold.folder).reports()}

    [traces] = tmp_path.glob("outputs/*/traces.jsonl")
    found = [json.loads(line)["traces"][0] for line in traces.read_text().splitlines()]
    assert len(found) == len(moves)
    for number, trace in enumerate(sorted(found, key=lambda each: each["task"]["data"]["idx"])):
        simulation, score = trace["info"]["simulation"], trace["rewards"]["reward"]["score"]
        again = score_simulation(simulation, domain="library", version="1.0.1")
        assert score == again["reward"]
        assert number % 2 or score == rewards[simulation["task_id"]]
