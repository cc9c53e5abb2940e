"""Whose tools a call means, which calls are refused, and what a task may ask of a world."""

from dataclasses import replace

import pytest

from maseval.benchmark.tau2.world.world import World
from tests.benchmark.tau2.domains.kiosk import kiosk

ASSERTION = {"env_type": "user", "func_name": "is_happy", "arguments": {}}


def answer(world: World, name: str, requestor: str = "assistant", **arguments: str) -> str:
    call = {"id": "c", "name": name, "arguments": arguments, "requestor": requestor}
    return world.respond(call)["content"]


def test_each_side_has_its_own_tools(room):
    world = World(room, room.data_dir)

    assert answer(world, "press_switch", "user") == "The light is on."
    assert answer(world, "press_switch") == "Error: Tool 'press_switch' not found."
    assert answer(world, "paint", "user") == "Error: Tool 'paint' not found."
    assert answer(world, "look", "nobody") == "Error: Invalid requestor: nobody"


def test_in_solo_mode_the_agent_has_both_sides_tools_and_the_user_none(room):
    world = World(room, room.data_dir, solo=True)

    assert answer(world, "press_switch") == "The light is on."
    assert answer(world, "paint", colour="red") == "The wall is red."
    refused = "Error: User tool calls are not allowed in solo mode"
    assert answer(world, "press_switch", "user") == refused


def test_a_user_without_tools_calls_none(tmp_path):
    domain = kiosk(tmp_path)

    assert answer(World(domain, tmp_path), "sell", "user") == "Error: User tools not available"


def test_a_world_keeps_nothing_of_the_record_of_a_call(room):
    world, colours = World(room, room.data_dir), ["red"]

    world.call("paint", "assistant", {"colour": colours})

    assert world.tools.db.wall == ["red"] and world.tools.db.wall is not colours


def test_both_sides_need_distinct_tool_names_in_solo_mode(room):
    twice = replace(room, user_toolkit=room.toolkit, user_db=room.db)

    with pytest.raises(ValueError, match="distinct tool names"):
        World(twice, room.data_dir, solo=True)


def test_a_customer_without_tools_cannot_be_asked(tmp_path):
    world = World(kiosk(tmp_path), tmp_path)

    with pytest.raises(AttributeError) as caught:
        world.check(ASSERTION)

    assert str(caught.value) == "'NoneType' object has no attribute 'is_happy'"
    assert caught.value.__notes__ == ["the customer of the kiosk domain has no tools"]


@pytest.mark.parametrize("data", [{}, {"on": True}])
def test_a_customer_without_tools_has_no_data(tmp_path, data):
    world = World(kiosk(tmp_path), tmp_path)

    with pytest.raises(AttributeError) as caught:
        world.set_state({"agent_data": {}, "user_data": data}, None, [])

    assert str(caught.value) == "'NoneType' object has no attribute 'update_db'"
    world.set_state({"agent_data": {}, "user_data": None}, None, [])
