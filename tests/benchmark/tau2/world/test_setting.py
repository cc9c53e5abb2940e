"""The world in which a task begins."""

from typing import Any

import pytest

from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.world.setting import Setting, TaskStage, beginning
from maseval.benchmark.tau2.world.tasks import InitialState, TaskSpec, initial_state
from maseval.core.exceptions import TaskFormatError

PAINT = {"name": "paint", "arguments": {"colour": "red"}}
ANSWER = {"role": "tool", "id": "c", "content": "The wall is red."}
IN_OUR_FORM = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", **PAINT}]}
IN_OPENAI_FORM = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c", "type": "function", "function": {**PAINT, "arguments": '{"colour": "red"}'}}
    ],
}


def setting(room: Domain, solo: bool = False, **start: Any) -> Setting:
    return Setting(room, room.data_dir, TaskSpec.of({"initial_state": start}), solo)


def test_a_world_begins_with_the_data_then_the_actions_then_the_history(room):
    setup = [
        {"env_type": "assistant", "func_name": "paint", "arguments": {"colour": "blue"}},
        {"env_type": "user", "func_name": "press_switch", "arguments": {}},
    ]
    data = {"agent_data": {"wall": "green", "coats": 4}, "user_data": {"level": 7}}
    begun = setting(room, initialization_data=data, initialization_actions=setup)

    world = begun.world()
    assert (world.tools.db.wall, world.tools.db.coats) == ("blue", 1)
    assert (world.user_tools.db.on, world.user_tools.db.level) == (True, 7)

    assert begun.world([IN_OUR_FORM, ANSWER]).tools.db.wall == "red"


@pytest.mark.parametrize("asked", [IN_OUR_FORM, IN_OPENAI_FORM])
def test_a_history_may_be_in_openais_form(room, asked):
    begun = setting(room, message_history=[asked, {**ANSWER, "tool_call_id": "c"}])

    assert begun.world(begun.task.start.history).tools.db.wall == "red"


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"initialization_data": [1]}, "initial_state.initialization_data"),
        ({"message_history": [{"content": "Hi."}]}, "initial_state.message_history"),
        ({"message_history": ["Hi."]}, "initial_state.message_history"),
    ],
)
def test_a_start_in_another_form_is_refused_by_the_name_of_its_field(form, field):
    with pytest.raises(TaskFormatError, match=field):
        initial_state(form)


def test_a_start_that_notes_reads_is_another_than_the_same_without():
    plain = initial_state({"initialization_actions": []})
    before = plain.key
    noting = initial_state({"initialization_actions": []}, ["get_balance"])

    assert noting.noted_reads == ("get_balance",)
    assert noting.key != before == plain.key
    assert initial_state({"initialization_actions": []}, ["get_balance"]).key == noting.key


def test_a_changed_copy_of_a_task_keeps_nothing_that_was_worked_out_before():
    spec = TaskSpec.of({"initial_state": {"initialization_data": {"agent_data": {"a": 1}}}})
    before = spec.gold_key, spec.start
    changed = spec.model_copy(update={"initial_state": InitialState()})

    assert changed.gold_key != before[0] and changed.start != before[1]


@pytest.mark.parametrize(
    ("tool", "requestor", "solo", "writes"),
    [
        ("paint", "assistant", False, True),
        ("look", "assistant", False, False),
        ("press_switch", "user", False, True),
        ("press_switch", "assistant", False, False),
        ("press_switch", "assistant", True, True),
        ("paint", "user", False, False),
        ("sing", "assistant", False, False),
    ],
)
def test_a_call_may_write_if_whoever_makes_it_has_a_writing_tool_of_that_name(
    room, tool, requestor, solo, writes
):
    call = {"id": "c", "name": tool, "arguments": {}, "requestor": requestor}

    assert setting(room, solo).may_write(call) is writes


def test_the_beginning_is_known_by_state_and_hashes(room):
    start = InitialState(initialization_data={"agent_data": {"wall": "green"}})

    found = beginning(TaskStage(room, room.data_dir, start))

    world = setting(room, **start.model_dump()).world()
    assert found.state == world.state()
    assert found.hashes == (world.get_db_hash(), world.get_user_db_hash())
    assert found.hashes != beginning(TaskStage(room, room.data_dir, InitialState())).hashes
