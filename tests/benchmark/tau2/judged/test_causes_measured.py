"""A judge of causes is measured on public conversations that people read."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from maseval import commands
from maseval.app.judging import calibrate
from maseval.app.results import calibrated
from maseval.benchmark.tau2.app.judging.pairs import READINGS, read_lines
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.core.scripted import ScriptedModelAdapter
from tests.benchmark.tau2.results.builders import info
from tests.contract.replay import records

NUMBER = 24
pytestmark = [pytest.mark.data, pytest.mark.contract]


@pytest.fixture
def conversations(
    contract_dir: Path, tau2_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, list[dict[str, Any]]]:
    """A results file of conversations that were read, and the parties that were named."""
    read = {each["simulation"]: each for each in reversed(read_lines(READINGS))}
    simulations = {}
    for record in records(contract_dir / "conversations/airline.jsonl.gz"):
        one = record["simulation"]
        if read.get(one["id"], {}).get("task") == one["task_id"] and len(simulations) < NUMBER:
            trial = sum(each["task_id"] == one["task_id"] for each in simulations.values())
            simulations[one["id"]] = {**one, "trial": trial, "reward_info": record["reward_info"]}
    path = tmp_path / "airline.json"
    asked = {each["task_id"] for each in simulations.values()}
    tasks = [task for task in load_raw_tasks("airline") if task["id"] in asked]
    for module in (calibrated, calibrate):  # the data stays in the cache where it is
        monkeypatch.setattr(module, "cache_dir", lambda: tmp_path / "cache")
    content = {"timestamp": "2025-01-01", "info": info(), "tasks": tasks}
    path.write_text(json.dumps({**content, "simulations": [*simulations.values()]}), "utf-8")
    return path, [read[name] for name in simulations]


def blame_the_agent(messages: list[dict[str, str]], tools: None) -> str:
    number, words = re.findall(r"^\[(\d+)\] (.*)$", str(messages[1]["content"]), re.M)[1]
    quotes = [{"message": int(number), "quote": words}]
    return json.dumps({"first": "agent", "second": None, "claims": quotes, "why": "As always."})


def test_who_always_blames_the_agent_is_right_as_often_as_readers_do(conversations):
    path, read = conversations
    model = ScriptedModelAdapter(blame_the_agent, model_id="grumpy", loop=True)

    measured = commands.judge.calibrate(
        model, about="cause", conversations=[path], pairs=None
    ).calibration

    named = sum("agent" in (each["who"], *each["also"]) for each in read)
    first = sum(each["who"] == "agent" for each in read)
    assert measured.found == (named, len(read)) and 0 < named < len(read)
    assert measured.exact == (first, named)
    assert f"named a reader's party in {named} of {len(read)}" in measured.in_words
    asked = [each["messages"][1]["content"] for each in model.requests]
    assert all("failed at" in text or "cut off" in text for text in asked)
