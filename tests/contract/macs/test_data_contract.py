"""Loaded data, byte for byte: tasks, agent configurations and prompt templates."""

import json

import pytest

from maseval.benchmark.macs import (
    VALID_DOMAINS,
    download_prompt_templates,
    load_agent_config,
    load_tasks,
)
from maseval.benchmark.macs.data.files import TEMPLATES_FILE
from maseval.benchmark.macs.evaluator import constants_in
from tests.contract.macs.vectors import canonical, cases_in
from tests.contract.replay import sha256

pytestmark = [pytest.mark.contract, pytest.mark.data]


def test_every_task_is_the_recorded_one(macs_vectors, macs_data):
    tasks = {domain: load_tasks(domain, macs_data) for domain in VALID_DOMAINS}
    for case in cases_in(macs_vectors, "tasks"):
        task = tasks[case["domain"]][case["index"]]
        groups = task.environment_data["tools"]
        found = {
            "id": task.id,
            "query_sha256": sha256(task.query),
            "scenario_sha256": sha256(task.metadata["scenario"]),
            "assertions_sha256": sha256(canonical(task.evaluation_data["assertions"])),
            "tools_sha256": sha256(canonical(groups)),
            "groups": [group["tool_name"] for group in groups],
            "user_data": task.user_data,
        }
        assert found == {key: case[key] for key in found}, case["name"]
        assert set(case["metadata_keys"]) <= set(task.metadata)


def test_every_agent_configuration_is_the_recorded_one(macs_vectors, macs_data):
    recorded = json.loads((macs_vectors / "agent_config.json").read_text())
    assert list(recorded) == list(VALID_DOMAINS)
    for domain, expected in recorded.items():
        config = load_agent_config(domain, macs_data)
        assert sha256(canonical(config)) == expected["sha256"]
        assert config["primary_agent_id"] == expected["primary_agent_id"]
        assert config["human_id"] == expected["human_id"]
        assert [
            [
                agent["agent_id"],
                agent["tools"],
                [reachable["agent_id"] for reachable in agent["reachable_agents"]],
            ]
            for agent in config["agents"]
        ] == expected["agents"]


def test_the_prompt_templates_are_the_recorded_ones(macs_vectors, macs_data, tmp_path, monkeypatch):
    recorded = json.loads((macs_vectors / "prompt_templates.json").read_text())
    texts = constants_in((macs_data / TEMPLATES_FILE).read_bytes())
    assert {name: {"chars": len(text), "sha256": sha256(text)} for name, text in texts.items()} == {
        name: {"chars": each["chars"], "sha256": each["sha256"]}
        for name, each in recorded["constants"].items()
    }
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MASEVAL_MACS_DATA", str(macs_data))
    folder = download_prompt_templates(tmp_path / "data", verbose=0)
    assert folder == tmp_path / "prompt_templates"
    assert {
        path.name: {"chars": len(path.read_text()), "sha256": sha256(path.read_text())}
        for path in folder.iterdir()
    } == recorded["maseval_template_files"]
