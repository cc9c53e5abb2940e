from typing import Any

import pytest

from maseval.benchmark.macs.data.files import agent_config_of, tasks_of, unique_groups


def group(name: str, *actions: str) -> dict[str, Any]:
    return {"tool_name": name, "actions": [{"name": action} for action in actions]}


AGENTS = {
    "agents": [
        {"agent_id": "desk", "tools": []},
        {"agent_id": "hotel", "tools": [group("Hotel", "book"), group("Maths", "add")]},
        {"agent_id": "budget", "tools": [group("Maths", "add")]},
    ],
    "primary_agent_id": "desk",
    "human_id": "User",
}
SCENARIO = {"scenario": "Goals: a room", "input_problem": "A room, please", "assertions": ["a"]}


def test_a_scenario_becomes_a_task_with_all_groups_of_its_domain():
    (task,) = tasks_of({"scenarios": [SCENARIO]}, AGENTS, {"domain": "shop"})
    assert task == {
        "id": "task-000001",
        "query": "A room, please",
        "environment_data": {
            "tools": [group("Hotel", "book"), group("Maths", "add")],
            "primary_agent_id": "desk",
            "human_id": "User",
        },
        "evaluation_data": {"assertions": ["a"]},
        "user_data": {},
        "metadata": {"scenario": "Goals: a room", "scenario_index": 0, "domain": "shop"},
    }


def test_ids_are_counted_and_an_id_in_the_scenario_is_only_kept_as_metadata():
    first, second = tasks_of([{"id": "x", "query": "q"}, {}], [], {})
    assert (first["id"], second["id"]) == ("task-000001", "task-000002")
    assert (first["query"], second["query"]) == ("q", "")
    assert first["metadata"]["id"] == "x"


def test_lists_without_a_wrapper_are_read_and_entries_that_are_no_objects_are_skipped():
    tasks = tasks_of([SCENARIO, "no", None, SCENARIO], AGENTS["agents"], {})
    assert [task["id"] for task in tasks] == ["task-000001", "task-000002"]
    assert "primary_agent_id" not in tasks[0]["environment_data"]


def test_an_agent_keeps_the_names_of_its_groups():
    config = agent_config_of(AGENTS)
    assert [agent["tools"] for agent in config["agents"]] == [[], ["Hotel", "Maths"], ["Maths"]]
    assert (config["primary_agent_id"], config["human_id"]) == ("desk", "User")
    assert AGENTS["agents"][1]["tools"][0] == group("Hotel", "book")


@pytest.mark.parametrize("given", [None, [], "agents", 3])
def test_a_configuration_of_something_else_is_empty(given):
    assert agent_config_of(given) == {}


def test_groups_without_a_name_are_all_kept_and_come_first():
    nameless = {"actions": []}
    agents = [{"tools": [group("Hotel", "book"), nameless]}, {"tools": [nameless]}]
    assert unique_groups(agents) == [nameless, nameless, group("Hotel", "book")]


def test_two_groups_of_one_name_must_be_equal():
    agents = [{"tools": [group("Hotel", "book")]}, {"tools": [group("Hotel", "cancel")]}]
    with pytest.raises(ValueError, match="Conflicting tools for tool_name='Hotel'"):
        unique_groups(agents)
