"""The one list of a simulation's messages: steps, times, ids, and v0.2.0's form."""

import copy
from pathlib import Path
from typing import Any

import pytest

from maseval import AgentAdapter, tool_call
from maseval.benchmark.tau2.agent import SORRY
from maseval.benchmark.tau2.formats.message import assistant_message, user_message
from maseval.benchmark.tau2.world import trajectory as module
from maseval.benchmark.tau2.world.trajectory import Trajectory, cost_of
from tests.benchmark.tau2.rooms import Live, action, conversation, room_domain, room_task


def answer(call_id: str, content: str = "ok") -> dict[str, Any]:
    return {
        "id": call_id,
        "role": "tool",
        "content": content,
        "requestor": "assistant",
        "error": False,
    }


def test_a_tasks_own_history_is_dated_a_second_apart_and_costs_nothing():
    history = [{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Hello"}]
    given = copy.deepcopy(history)

    trajectory = Trajectory(history)

    first, second = (message["timestamp"] for message in trajectory.messages)
    assert first < second < module.now()
    assert trajectory.steps == 0
    assert trajectory.messages[0]["tool_calls"] is None
    assert history == given


def test_times_never_run_backwards(monkeypatch):
    clock = iter(["2025-01-01T00:00:00", "2025-01-02", "2025-01-01T12:00:00", "2025-01-03"])
    monkeypatch.setattr(module, "now", lambda: next(clock))
    trajectory = Trajectory()

    for text in ("a", "b", "c"):
        trajectory.add(user_message(text))

    times = [message["timestamp"] for message in trajectory.messages]
    assert times == ["2025-01-02", "2025-01-02", "2025-01-03"]


def test_the_simulation_has_v020s_keys_and_shares_nothing_with_the_trajectory():
    trajectory = Trajectory()
    call = {"id": "1", "name": "x", "arguments": {"deep": [1]}, "requestor": "assistant"}
    trajectory.add(assistant_message(None, tool_calls=[call], cost=0.5))
    trajectory.add_answers([answer("1")])
    trajectory.add(user_message("bye", cost=0.25))
    trajectory.end("user_stop")

    found = trajectory.to_simulation(task_id="t", seed=7)
    found["messages"][0]["tool_calls"][0]["arguments"]["deep"].append(2)

    assert call["arguments"] == {"deep": [1]}
    assert [message["turn_idx"] for message in found["messages"]] == [0, 1, 2]
    assert (found["agent_cost"], found["user_cost"]) == (0.5, 0.25)
    assert found["termination_reason"] == "user_stop"
    assert found["start_time"] <= found["end_time"] == found["timestamp"]
    assert found["duration"] > 0
    assert (found["task_id"], found["trial"], found["seed"]) == ("t", None, 7)
    assert list(found) == [
        *("id", "task_id", "timestamp", "start_time", "end_time", "duration"),
        *("termination_reason", "agent_cost", "user_cost", "reward_info", "messages"),
        *("trial", "seed"),
    ]


@pytest.mark.parametrize(
    ("costs", "expected"), [([0.5, 0.25], (0.5, 0.25)), ([0.5, None], (None, None)), ([], (0, 0))]
)
def test_costs_are_known_only_if_every_messages_cost_is(costs, expected):
    messages = [
        {"role": role, "cost": cost}
        for role, cost in zip(("assistant", "user"), costs, strict=False)
    ]
    messages.append({"role": "tool"})

    assert (cost_of(messages, "assistant"), cost_of(messages, "user")) == expected


def test_costs_are_added_one_after_the_other_as_the_original_does():
    assert cost_of([{"role": "user", "cost": 0.1}] * 10, "user") == 0.9999999999999999


PAINT = [tool_call("paint", {"colour": "red"}), tool_call("paint", {"colour": "black"})]
PRESS = tool_call("press_switch", {})


@pytest.fixture
def report(tmp_path: Path) -> dict[str, Any]:
    task = room_task(room_domain(tmp_path), action("paint", colour="red"))
    user = ["Red, and nothing else but red, please", PRESS, "Thanks ###STOP###"]
    (report,) = Live([PAINT, "Now press the switch at the door, please"], user).run([task])
    return report


def test_each_side_has_what_it_saw(report):
    agent = report["traces"]["agents"]["default_agent"]["messages"]
    user = report["traces"]["user"]["messages"]

    assert [message["role"] for message in agent] == [
        *("user", "assistant", "tool", "tool", "assistant")
    ]
    assert [call["function"]["name"] for call in agent[1]["tool_calls"]] == ["paint", "paint"]
    assert [message["role"] for message in user] == [
        *("assistant", "user", "assistant", "user", "tool", "user")
    ]
    assert report["traces"]["user"]["turns_used"] == 2


def test_a_tool_has_all_its_calls_with_what_they_returned(report):
    tools = report["traces"]["tools"]

    assert {name: tools[name]["total_invocations"] for name in tools} == {
        **{"paint": 2, "press_switch": 1}
    }
    first, second = tools["paint"]["invocations"]
    assert (first["inputs"], first["outputs"]) == ({"colour": "red"}, "The wall is red.")
    assert (first["status"], second["status"]) == ("success", "error")
    assert "No black walls" in second["outputs"]
    assert tools["press_switch"]["invocations"][0]["requestor"] == "user"


def test_no_text_is_stored_twice(report):
    known = {id(message["content"]) for message in conversation(report)}
    calls = [c for m in conversation(report) for c in m.get("tool_calls") or ()]
    traces = report["traces"]
    views = [*traces["agents"]["default_agent"]["messages"], *traces["user"]["messages"]]
    used = [one for tool in traces["tools"].values() for one in tool["invocations"]]

    assert all(id(message["content"]) in known for message in views)
    assert all(id(one["outputs"]) in known for one in used)
    assert {id(one["inputs"]) for one in used} == {id(call["arguments"]) for call in calls}


def test_an_agent_that_keeps_no_messages_is_shown_with_those_of_the_trajectory(tmp_path):
    class Painter(AgentAdapter):
        def _run_agent(self, query):
            return self.agent(colour="red")

    class Painting(Live):
        def setup_agents(self, agent_data, environment, task, user):
            painter = Painter(environment.tools["paint"], "painter")
            return [painter], {"painter": painter}

    (report,) = Painting((), ["Red", "###STOP###"]).run([room_task(room_domain(tmp_path))])

    messages = report["traces"]["agents"]["painter"]["messages"]
    assert [message["content"] for message in messages] == [
        *("Red", None, "The wall is red.", "The wall is red.")
    ]


def test_a_limit_of_tool_calls_given_with_the_agents_data_holds_in_a_run(tmp_path):
    benchmark = Live([PAINT, PAINT], ["Red", "###STOP###"])
    agent_data = {"model_id": "caretaker", "max_tool_calls": 3}

    (report,) = benchmark.run([room_task(room_domain(tmp_path))], agent_data)

    assert report["status"] == "success"
    assert report["traces"]["tools"]["paint"]["total_invocations"] == 4
    assert report["traces"]["environment"]["simulation"]["messages"][-2]["content"] == SORRY
