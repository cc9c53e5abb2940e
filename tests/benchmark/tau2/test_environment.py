"""A simulation's world: its tools for any framework, its hashes, and what it tells afterwards."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from maseval.benchmark.tau2 import Tau2Environment, get_environment_constructor, load_tasks
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.world.world import ReplayError


def environment(room: Domain, **task_data: Any) -> Tau2Environment:
    return Tau2Environment({"domain": room, "db_path": room.data_dir / "db.json", **task_data})


def calls(one: Tau2Environment) -> list[dict[str, Any]]:
    return [call for message in one.trajectory.messages for call in message.get("tool_calls") or ()]


# Tools as functions.


def test_a_tool_is_called_like_a_function_and_the_call_is_written_down(room):
    one = environment(room)

    assert one.tools["paint"](colour="red") == "The wall is red."
    assert one.tools["look"]() == '{"wall": "red", "coats": 1}'

    assert [message["role"] for message in one.trajectory.messages] == ["assistant", "tool"] * 2
    assert one.trajectory.steps == 4
    assert [call["id"] for call in calls(one)] == ["call_1", "call_2"]


@pytest.mark.parametrize(
    ("args", "kwargs", "recorded"),
    [
        (("red",), {}, {"colour": "red"}),
        (("red", 2), {}, {"colour": "red", "coats": 2}),
        (("red",), {"coats": 2}, {"colour": "red", "coats": 2}),
    ],
)
def test_positional_arguments_are_recorded_by_name(room, args, kwargs, recorded):
    one = environment(room)

    assert one.tools["paint"](*args, **kwargs) == "The wall is red."
    assert calls(one)[0]["arguments"] == recorded


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [(("black",), {}), ((), {}), (("red", 1, "extra"), {}), ((), {"invented": 1})],
)
def test_a_tool_never_raises_and_replay_finds_the_same_error(room, args, kwargs):
    one = environment(room)

    text = one.tools["paint"](*args, **kwargs)

    assert text.startswith("Error: ")
    assert one.trajectory.messages[-1]["error"]
    environment(room).set_state(None, None, one.trajectory.messages)


def test_the_tools_of_a_subclass_are_made_with_it(room):
    class Quiet(Tau2Environment):
        def create_tools(self):
            return {"listen": self.get_db_hash}

        def create_user_tools(self, only=None):
            return {"wait": len}

    one = Quiet({"domain": room, "db_path": room.data_dir / "db.json"})

    assert list(one.tools) == ["listen"]
    assert one.user_tools()["wait"].__wrapped__ is len


@pytest.mark.parametrize(
    ("only", "offered"),
    [
        (None, ["press_switch", "set_lamp"]),
        (["set_lamp"], ["set_lamp"]),
        (["set_lamp", "fly"], []),
        ([], []),
    ],
)
def test_a_users_tools_are_those_that_a_task_names(room, only, offered):
    assert list(environment(room).user_tools(only)) == offered


def test_the_users_tools_are_recorded_as_the_users(room):
    one = environment(room)

    assert list(one.tools) == ["look", "paint"]
    assert one.create_user_tools()["press_switch"]() == "The light is on."
    assert [(m["role"], m.get("requestor")) for m in one.trajectory.messages] == [
        ("user", None),
        ("tool", "user"),
    ]


def test_calls_from_many_threads_are_written_one_after_another(room):
    one = environment(room)

    def work(colour):
        for _ in range(50):
            one.tools["paint"](colour)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, "abcd"))

    messages = one.trajectory.messages
    assert len(messages) == one.trajectory.steps == 400
    for call_message, answer in zip(messages[::2], messages[1::2], strict=True):
        (call,) = call_message["tool_calls"]
        assert answer["id"] == call["id"]
        assert answer["content"] == f"The wall is {call['arguments']['colour']}."
    assert len({call["id"] for call in calls(one)}) == 200
    environment(room).set_state(None, None, messages)


# The original's interface.


def test_a_response_has_the_originals_keys_and_is_not_recorded(room):
    one = environment(room)

    assert one.get_response("paint", "assistant", "7", colour="black") == {
        "id": "7",
        "content": "Error: No black walls",
        "requestor": "assistant",
        "error": True,
        "tool_call_id": "7",
    }
    assert one.trajectory.messages == []


@pytest.mark.parametrize("name", ["self", "tool_name", "requestor"])
def test_a_model_may_name_its_arguments_as_it_likes(room, name):
    call = {"name": "paint", "arguments": {"colour": "red", name: "x"}}

    answer = environment(room).respond(call)

    assert answer["error"] and answer["content"].endswith(f"argument '{name}'")
    assert (answer["id"], answer["requestor"]) == ("", "assistant")


def test_raw_calls_raise(room):
    one = environment(room)

    with pytest.raises(ValueError, match="No black walls"):
        one.make_tool_call("paint", colour="black")
    assert one.make_user_tool_call("press_switch") == "The light is on."
    with pytest.raises(ValueError, match="Invalid requestor: nobody"):
        one.make_tool_call("paint", "nobody", colour="red")


def test_assertions_of_a_task_file(room):
    one = environment(room)
    white = {"env_type": "assistant", "func_name": "wall_is", "arguments": {"colour": "white"}}

    assert one.run_env_function_call(white)
    assert one.run_env_assertion(white)
    assert not one.run_env_assertion({**white, "assert_value": False}, raise_assertion_error=False)
    with pytest.raises(AssertionError, match="not white"):
        one.run_env_assertion({**white, "assert_value": False, "message": "not white"})
    with pytest.raises(AttributeError, match="no attribute 'update_db'"):
        one.run_env_function_call({**white, "func_name": "update_db"})
    with pytest.raises(ValueError, match="env_type is 'nobody'"):
        one.run_env_function_call({**white, "env_type": "nobody"})
    assert one.run_env_assertion({"func_name": "wall_is", "arguments": {"colour": "white"}})


def test_either_keyword_gives_the_data(room):
    data = {"domain": room, "db_path": room.data_dir / "db.json"}

    assert Tau2Environment(environment_data=data).domain == "room"
    assert get_environment_constructor(data)(solo_mode=True).solo
    assert not get_environment_constructor(data)().solo


# Where it begins and what it tells.


def start(**initial_state: Any) -> dict[str, Any]:
    return {"initial_state": initial_state}


def pressed(content: str | None) -> list[dict[str, Any]]:
    call = {"id": "u1", "name": "press_switch", "arguments": {}, "requestor": "user"}
    return [
        {"role": "user", "content": None, "tool_calls": [call]},
        {"role": "tool", "id": "u1", "content": content, "requestor": "user"},
    ]


def in_openais_form(content: str) -> list[dict[str, Any]]:
    call = {"id": "u1", "type": "function", "function": {"name": "press_switch"}}
    return [
        {"role": "user", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "u1", "content": content},
    ]


@pytest.mark.parametrize("history", [pressed, in_openais_form])
def test_a_conversation_is_played_again_in_either_form(room, history):
    one = environment(room)

    one.set_state(None, None, history("The light is on."))
    assert one.user_toolkit.db.on
    with pytest.raises(ReplayError, match=r"Returned:\n.*\ncontent: The light is off"):
        one.set_state(None, None, history("The light is on."))
    assert environment(
        room, **start(message_history=history("The light is on."))
    ).user_toolkit.db.on


def test_what_the_original_cannot_read_raises_what_it_raises(room):
    with pytest.raises(TypeError, match="not NoneType"):
        environment(room).set_state(None, None, pressed(None))
    alone = environment(room, solo=True)
    with pytest.raises(AssertionError, match="not allowed in solo mode"):
        alone.set_state({"agent_data": {"wall": "red"}}, None, pressed("The light is on."))
    assert alone.db.wall == "white"


def test_alone_a_history_may_hold_calls_of_the_users_tools(room):
    press, answer = pressed("The light is on.")
    calls = [{**press["tool_calls"][0], "requestor": "assistant"}]
    history = [{**press, "role": "assistant", "tool_calls": calls}, answer]

    one = environment(room, solo=True, **start(message_history=history))

    assert one.user_toolkit.db.on


def test_traces_tell_what_changed(room):
    one = environment(room)
    untouched = one.get_db_hash(), one.get_user_db_hash()

    one.tools["paint"]("red")
    traces = one.gather_traces()

    assert (traces["initial_db_hash"], traces["final_user_db_hash"]) == untouched
    assert traces["final_db_hash"] == one.get_db_hash() != one.get_initial_db_hash()
    assert traces["db_changed"]
    one.create_user_tools()["press_switch"]()
    assert one.gather_traces()["final_user_db_hash"] == one.get_user_db_hash() != untouched[1]


def test_the_configuration_names_policy_and_tools_by_their_hashes(room):
    one, alone = environment(room).gather_config(), environment(room, solo=True).gather_config()

    assert one["domain"] == "room"
    assert len(one["policy_sha256"]) == 64
    assert one["policy_sha256"] != alone["policy_sha256"]


@pytest.mark.data
@pytest.mark.parametrize("domain", ["airline", "retail"])
def test_domains_without_a_solo_mode_refuse_it_in_the_originals_words(domain, tau2_data):
    (task,) = load_tasks(domain, limit=1).to_list()

    with pytest.raises(ValueError, match=f"^{domain.title()} domain does not support solo mode$"):
        Tau2Environment({**task.environment_data, "solo": True})


@pytest.mark.data
@pytest.mark.parametrize("held_by", ["items", "values", "get", "[]"])
def test_a_record_that_is_held_sees_what_a_tool_changes_afterwards(tau2_data, held_by):
    environment = Tau2Environment(load_tasks("retail", limit=1)[0].environment_data)
    orders = environment.db.orders
    key = next(key for key, order in orders.items() if order.status == "pending")
    held = {
        "items": lambda: dict(orders.items())[key],
        "values": lambda: next(order for order in orders.values() if order.order_id == key),
        "get": lambda: orders.get(key),
        "[]": lambda: orders[key],
    }[held_by]()
    environment.tools["cancel_pending_order"](order_id=key, reason="no longer needed")

    assert held.status == "cancelled" and held is environment.db.orders[key]


@pytest.mark.data
def test_a_record_of_a_list_that_is_held_sees_what_a_tool_changes_afterwards(tau2_data):
    environment = Tau2Environment(load_tasks("telecom", limit=1)[0].environment_data)
    line = next(line for line in environment.db.lines if line.status == "Active")
    (owner,) = [each for each in environment.db.customers if line.line_id in each.line_ids]
    call = {"customer_id": owner.customer_id, "line_id": line.line_id, "reason": "lost"}
    environment.tools["suspend_line"](**call)

    assert line.status == "Suspended"
    other = Tau2Environment(load_tasks("telecom", limit=1)[0].environment_data)
    assert next(each for each in other.db.lines if each.line_id == line.line_id).status == "Active"
