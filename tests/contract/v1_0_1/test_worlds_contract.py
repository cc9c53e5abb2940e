"""Tools, databases, tasks and splits of v1.0.1 are what the original was recorded to have."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import (
    UnknownSplitError,
    load_guidelines,
    load_raw_task,
    load_raw_tasks,
    load_tasks,
)
from maseval.benchmark.tau2.domains import Domain, UnknownDomainError
from maseval.benchmark.tau2.domains.releases import V1_0_1
from maseval.benchmark.tau2.texts.prompts import scenario_text, user_prompt
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.benchmark.tau2.world.world import World
from scripts.agreement import replay_tasks, replay_tool_calls
from tests.contract.replay import assert_same, differences, records, schema_differences, sha256

pytestmark = [pytest.mark.contract, pytest.mark.data]

DOMAINS = ("airline", "retail", "telecom", "mock")
FIELDS = ("description", "user_scenario", "ticket", "initial_state", "evaluation_criteria")


def folder_of(domain: Domain, data: Path) -> Path:
    return domain.data_dir or data / "domains" / domain.folder_name


@pytest.mark.parametrize("name", DOMAINS)
def test_the_tools_are_described_as_recorded(vectors, domain_called, name):
    assert_same(schema_differences(domain_called(name), records(vectors / "schemas.json")[0][name]))


@pytest.mark.parametrize("name", [*DOMAINS, "telecom-workflow"])
def test_databases_and_policies_are_the_recorded_ones(vectors, data, domain_called, name):
    recorded, domain = records(vectors / "db.json")[0][name], domain_called(name)
    world = World(domain, folder_of(domain, data), rules=V1_0_1.rules.replay)
    policy = domain.policy(folder_of(domain, data))

    assert world.get_db_hash() == recorded["agent_db_hash"]
    assert world.get_user_db_hash() == recorded["user_db_hash"]
    assert (sha256(policy), len(policy)) == (recorded["policy_sha256"], recorded["policy_len"])
    if "solo_error" in recorded:
        with pytest.raises(ValueError) as refused:
            World(domain, folder_of(domain, data), solo=True)
        assert f"ValueError: {refused.value}" == recorded["solo_error"]
    else:
        solo = domain.policy(folder_of(domain, data), solo=True)
        assert sha256(solo) == recorded["solo_policy_sha256"]


@pytest.mark.parametrize(
    ("name", "count"), [("airline", 115), ("retail", 200), ("telecom", 108), ("mock", 36)]
)
def test_every_recorded_call_is_answered_the_same(vectors, data, domain_called, name, count):
    sequences, domain = records(vectors / "tool_calls" / f"{name}.jsonl.gz"), domain_called(name)

    assert sum(len(each["steps"]) for each in sequences) >= count
    found = replay_tool_calls(domain, folder_of(domain, data), sequences)
    assert_same(differences(found))


@pytest.mark.parametrize(
    ("name", "count"), [("airline", 26), ("retail", 65), ("telecom", 81), ("mock", 5)]
)
def test_every_task_begins_and_is_solved_as_recorded(vectors, data, domain_called, name, count):
    recorded = [each for each in records(vectors / "tasks.json") if each["domain"] == name]
    domain = domain_called(name)

    assert len(recorded) >= count
    assert_same(differences(replay_tasks(domain, folder_of(domain, data), recorded)))
    assert_same(
        difference for record in recorded for difference in text_differences(record, domain)
    )


def text_differences(record: dict[str, Any], domain: Domain, version: str = "1.0.1"):
    task = load_raw_task(domain, record["task_id"])
    scenario = scenario_text(**{"persona": None, **task["user_scenario"]})
    guidelines = load_guidelines(domain.user_toolkit is not None, version=version)
    criteria = TaskSpec.of(task).evaluation_criteria
    found = {
        "user_scenario_str_sha256": sha256(scenario),
        "user_system_prompt_sha256": sha256(user_prompt(guidelines, scenario)),
        "reward_basis": [kind.value for kind in criteria.reward_basis],
        "num_actions": len(criteria.actions or ()),
        "num_nl_assertions": len(criteria.nl_assertions or ()),
    }
    for key, value in found.items():
        if record[key] != value:
            yield f"{record['task_id']} {key}: found {value!r}, recorded {record[key]!r}"


@pytest.mark.parametrize("name", ["airline", "retail", "telecom"])
def test_the_tasks_that_changed_are_the_recorded_ones(vectors, data, tau2_data, name):
    for record in records(vectors / "tasks.json"):
        if record["domain"] != name:
            continue
        old, new = (
            load_raw_task(name, record["task_id"]),
            load_raw_task(name, record["task_id"], version="1.0.1"),
        )
        assert (old == new) <= (record["changed_since_v0_2_0"] == []), record["task_id"]


def ids_sha256(ids: list[str]) -> str:
    return sha256("\n".join(ids))


@pytest.mark.parametrize("name", [*DOMAINS, "telecom-workflow"])
def test_every_split_has_the_recorded_tasks_in_the_recorded_order(
    vectors, data, domain_called, name
):
    recorded, domain = records(vectors / "splits.json")[0][name], domain_called(name)

    everything = [task["id"] for task in load_raw_tasks(domain, None)]
    assert len(everything) == recorded["num_tasks_in_file"]
    assert ids_sha256(everything) == recorded["all_ids_sha256"]
    for split, facts in recorded["splits"].items():
        ids = [task["id"] for task in load_raw_tasks(domain, split)]
        assert len(ids) == facts["count"]
        assert ids_sha256(ids) == facts["ids_sha256"]
        assert facts["ids"] in (None, ids)
    with pytest.raises(UnknownSplitError) as refused:
        load_raw_tasks(domain, "hard")
    assert ["ValueError", str(refused.value)] == recorded["unknown_split_error"]


def test_tasks_are_selected_as_recorded(vectors, data, domain_called):
    cases = records(vectors / "splits.json")[0]["get_tasks_cases"]
    known = [case for case in cases if case["task_set_name"] in DOMAINS]
    assert len(known) >= 9
    for case in known:
        domain, split = domain_called(case["task_set_name"]), case["task_split_name"]
        ids = case.get("task_ids")
        if case["exception"]:
            with pytest.raises(ValueError) as refused:
                load_tasks(domain, split, task_ids=ids)
            assert ["ValueError", str(refused.value)] == case["exception"]
            continue
        # Here a limit of 0 is no limit; the original's number of tasks cuts to nothing.
        found = load_tasks(domain, split, task_ids=ids).to_list()[: case.get("num_tasks")]
        assert [task.id for task in found] == case["ids"]


def test_task_sets_that_the_original_registers_are_splits_here(vectors, data):
    recorded = records(vectors / "splits.json")[0]
    for split in ("small", "full"):
        count = recorded[f"telecom_{split}"]["called_without_arguments"]
        assert len(load_raw_tasks("telecom", split, version="1.0.1")) == count
    unknown = [each for each in recorded["get_tasks_cases"] if each["task_set_name"] not in DOMAINS]
    assert {case["task_set_name"] for case in unknown} == {"nope", "telecom_small"}
    for case in unknown:  # the original fails as well, in other words
        with pytest.raises(UnknownDomainError):
            load_tasks(case["task_set_name"])


def test_a_task_says_which_release_it_belongs_to(data):
    tasks = load_tasks("retail", "test", version="1.0.1")

    assert len(tasks) == 40
    assert tasks[0].environment_data["version"] == "1.0.1"
    assert json.dumps(tasks[0].environment_data)
