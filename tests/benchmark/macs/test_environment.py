from typing import Any

from maseval.benchmark.macs.environment import MACSEnvironment
from maseval.core.scripted import ScriptedModelAdapter


def action(name: str, description: str = "") -> dict[str, str]:
    return {"name": name, "description": description}


def group(name: str, *actions: dict[str, str]) -> dict[str, Any]:
    return {"tool_name": name, "actions": list(actions)}


def environment(*groups: dict[str, Any] | None) -> MACSEnvironment:
    return MACSEnvironment({"tools": list(groups)}, lambda name: ScriptedModelAdapter([]))


HOTEL = group("Hotel", action("book"), action("cancel", "a room"))
AIRBNB = group("Airbnb", action("cancel", "a room"), action("view", "a flat"))
CAR = group("Car", action("cancel", "a car"), action("view", "a car"))


def test_equal_actions_are_one_tool_and_unequal_ones_carry_their_group():
    world = environment(CAR, HOTEL, AIRBNB)
    assert list(world.tools) == ["cancel", "view", "book", "Hotel__cancel", "Airbnb__view"]
    hotel = world.get_tools_for_agent({"agent_id": "h", "tools": ["Hotel"]})
    airbnb = world.get_tools_for_agent({"agent_id": "a", "tools": ["Airbnb"]})
    assert hotel["cancel"] is airbnb["cancel"] is world.tools["Hotel__cancel"]
    assert hotel["cancel"].name == "cancel"
    assert airbnb["view"] is world.tools["Airbnb__view"]


def test_an_agent_with_two_actions_of_one_name_has_both():
    world = environment(CAR, AIRBNB)
    tools = world.get_tools_for_agent({"tools": ["Car", "Airbnb"]})
    assert list(tools) == ["cancel", "view", "Airbnb__cancel", "Airbnb__view"]


def test_a_group_with_two_unequal_actions_of_one_name_keeps_both():
    world = environment(CAR, group("Car2", action("view", "b"), action("view", "c")))
    assert list(world.tools) == ["cancel", "view", "Car2__view", "Car2__view_2"]
    tools = world.get_tools_for_agent({"tools": ["Car2"]})
    assert [tool.description for tool in tools.values()] == ["b", "c"]


def test_unknown_groups_give_nothing_and_actions_without_a_name_are_skipped():
    world = environment(group("Hotel", {"description": "nameless"}, action("book")), None)
    assert list(world.tools) == ["book"]
    assert world.get_tools_for_agent({"tools": ["Train"]}) == {}
    assert world.get_tools_for_agent({}) == {}
    assert MACSEnvironment({}, lambda name: None).tools == {}


def test_a_tool_knows_the_agents_that_were_given_it():
    world = environment(HOTEL, AIRBNB)
    for agent in ("h", "a", "h"):
        groups = ["Hotel"] if agent == "h" else ["Airbnb"]
        world.get_tools_for_agent({"agent_id": agent, "tools": groups})
    assert world.tools["book"].owners == ["h"]
    assert world.tools["cancel"].owners == ["h", "a"]
    assert world.group_of(world.tools["cancel"], {"tools": ["Airbnb"]}) == "Airbnb"
    assert world.group_of(world.tools["book"], {"tools": ["Airbnb"]}) == ""
