"""Trajectories in ATIF: what is read, what is refused, and that nothing is lost on the way."""

import json
from typing import Any

import pytest

from maseval.exchange.atif import Trajectory, TrajectoryError, read_trajectory
from maseval.exchange.atif_writing import Conversation, trajectory_of
from tests.benchmark.tau2.results.builders import simulation
from tests.exchange.trajectories import answer, call, customer, refers_to, step, trajectory


def told(found: Trajectory) -> list[tuple[str, list[str] | str]]:
    """Each message in short: who, what was said or called, what a tool answered."""
    return [
        (each["role"], each["content"] or [one["name"] for one in each.get("tool_calls") or ()])
        for each in found.messages
    ]


@pytest.mark.parametrize("version", ["1.4", "1.5", "1.6", "1.7", "1.8"])
def test_a_conversation_of_any_version_is_read(version):
    found = read_trajectory(
        trajectory(
            step("user", "Where is my order?"),
            step("agent", tool_calls=[call("find", order="7")], **answer("shipped")),
            step("agent", "On its way.", metrics={"prompt_tokens": 9, "completion_tokens": 2}),
            version=version,
        )
    )

    assert told(found) == [
        ("user", "Where is my order?"),
        ("assistant", ["find"]),
        ("tool", "shipped"),
        ("assistant", "On its way."),
    ]
    assert found.messages[2]["id"] == found.messages[1]["tool_calls"][0]["id"] == "c1"
    assert found.messages[1]["tool_calls"][0]["arguments"] == {"order": "7"}
    assert found.messages[3]["usage"] == {"completion_tokens": 2, "prompt_tokens": 9}
    assert (found.id, found.own) == ("s1", {})


def test_copied_context_is_left_out_and_parts_of_a_text_are_joined():
    found = read_trajectory(
        trajectory(
            step("user", "from before", is_copied_context=True),
            step("user", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
        )
    )

    assert told(found) == [("user", "one\ntwo")]


def test_what_a_customer_did_stands_where_a_step_refers_to_it():
    turn = customer(step("agent", tool_calls=[call("toggle")], **answer("off")))
    found = read_trajectory(
        trajectory(
            step("agent", "Switch it off."),
            step("system", **refers_to("turn")),
            step("user", "Done."),
            subagent_trajectories=[turn],
        )
    )

    assert told(found) == [
        ("assistant", "Switch it off."),
        ("user", ["toggle"]),
        ("tool", "off"),
        ("user", "Done."),
    ]
    assert [found.messages[at].get("requestor") for at in (2,)] == ["user"]


CYCLE = customer(step("system", **refers_to("turn")), step("agent", "x"))
CYCLE["subagent_trajectories"] = [customer(step("agent", "y"), step("system", **refers_to("turn")))]
IMAGE = [{"type": "image", "source": {"media_type": "image/png", "path": "/etc/passwd"}}]
DEEP: dict[str, object] = {}
for _ in range(300):
    DEEP = {"deeper": DEEP}

REFUSED = {
    "version": (trajectory(step("user", "a"), version="2.0"), "should be ATIF-v1.4 to ATIF-v1.8"),
    "no object": ([1], "should be an object, found '[1]'"),
    "no agent": (trajectory(step("user", "a"), agent=None), "agent: should be an object"),
    "steps": ({**trajectory(), "steps": {"a": 1}}, "steps: should be a list"),
    "repeated step": (
        trajectory(step("user", "a"), step("user", "b", step_id=1)),
        "steps[1].step_id: should be 2, as steps are counted, found '1'",
    ),
    "source": (trajectory(step("robot", "a")), "steps[0].source: should be system, user or agent"),
    "image": (trajectory(step("user", IMAGE)), "a part of type 'image'; only texts can be judged"),
    "image of a tool": (
        trajectory(step("agent", tool_calls=[call("see")], **answer(IMAGE))),
        "observation.results[0].content: holds a part of type 'image'",
    ),
    "no text": (trajectory(step("user", 10**40)), "steps[0].message: should be a text"),
    **{
        f"metrics {value}": (
            trajectory(step("agent", "a", metrics={"cost_usd": value})),
            "steps[0].metrics.cost_usd: should be from 0, found",
        )
        for value in (-3, float("nan"), float("inf"), 10**400, "1")
    },
    "arguments": (
        trajectory(step("agent", tool_calls=[{**call("f"), "arguments": "{}"}])),
        "steps[0].tool_calls[0].arguments: should be an object",
    ),
    "call without a name": (
        trajectory(step("agent", tool_calls=[{**call("f"), "function_name": None}])),
        "tool_calls[0]: its name should be a text",
    ),
    "calls of a user": (
        trajectory(step("user", "a", tool_calls=[call("f")])),
        "a user step has neither calls nor observations",
    ),
    "two of one id": (
        trajectory(step("user", "a"), subagent_trajectories=[customer(), customer()]),
        "a second sub-agent trajectory is called 'turn'",
    ),
    "dangling": (
        trajectory(step("system", **refers_to("gone"))),
        "there is no sub-agent trajectory 'gone'",
    ),
    "referred to twice": (
        trajectory(
            step("system", **refers_to("turn", "turn")),
            subagent_trajectories=[customer(step("agent", "x"))],
        ),
        "refers to 'turn' for the second time",
    ),
    "never referred to": (
        trajectory(step("user", "a"), subagent_trajectories=[customer(step("agent", "x"))]),
        "no step refers to the sub-agent trajectory 'turn'",
    ),
    "cycle": (
        trajectory(step("system", **refers_to("turn")), subagent_trajectories=[CYCLE]),
        "refers to 'turn' for the second time",
    ),
    "another file": (
        trajectory(step("agent", "a", **answer("b", id=None, subagent_trajectory_ref=[{}]))),
        "refers to a trajectory in another file, which is not read",
    ),
    "a sub-agent's calls": (
        trajectory(
            step("user", "a"),
            subagent_trajectories=[
                {**trajectory(step("agent", tool_calls=[call("f")])), "trajectory_id": "sub"}
            ],
        ),
        "sub-agent trajectory 'sub' calls tools, and the order",
    ),
    "deep": (
        trajectory(step("agent", tool_calls=[call("f", **DEEP)])),
        "nested more than 100 levels deep",
    ),
    "newer form": (
        trajectory(step("user", "a"), extra={"maseval": {"form": 2}}),
        "extra.maseval.form: should be 1, found '2'; a newer maseval may read it",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_judged_is_refused_and_the_place_is_named(name):
    value, words = REFUSED[name]
    with pytest.raises(TrajectoryError) as caught:
        read_trajectory(value)

    assert words in str(caught.value)


def back(record: dict[str, Any], **facts: Any) -> tuple[dict[str, Any], list[str]]:
    """A record, after it was written as ATIF and read again."""
    root, notes = trajectory_of(Conversation(record, **facts))
    found = read_trajectory(json.loads(json.dumps(root)))
    return {"messages": found.messages, **found.own["simulation"]}, notes


ODD = {
    "nothing said": simulation(messages=[]),
    "no messages": simulation(messages=None),
    "an orphan answer": simulation(messages=[{"role": "tool", "id": "c9", "content": None}]),
    "an answer to another call": simulation(
        messages=[
            {"role": "assistant", "tool_calls": [{"id": "a", "name": "f", "arguments": {}}]},
            {"role": "tool", "id": "b", "content": "1", "requestor": "assistant"},
        ]
    ),
    "the wrong side": simulation(
        messages=[
            {
                "role": "assistant",
                "tool_calls": [{"id": "a", "name": "f", "arguments": {}, "requestor": "user"}],
            },
            {"role": "tool", "id": "a", "content": "1", "requestor": "user"},
        ]
    ),
    "empty lists and texts": simulation(
        messages=[
            {"role": "user", "content": "", "tool_calls": []},
            {"role": "assistant", "content": None, "cost": 1, "usage": {"prompt_tokens": 1.5}},
            {"role": "system", "content": None, "timestamp": "soon"},
            {"role": "assistant", "content": "a", "cost": -1.5, "usage": {"prompt_tokens": -2}},
        ]
    ),
    "unknown keys": simulation(
        more={"own": [1]}, messages=[{"role": "user", "content": "a", "is_audio": False}]
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_conversations_come_back_unchanged(name):
    found, notes = back(ODD[name], prompt="Be kind.", told={"domain": "airline"})

    assert json.dumps(found, sort_keys=True) == json.dumps(ODD[name], sort_keys=True)
    assert notes == []


def test_what_is_no_character_is_replaced_and_said():
    found, notes = back(simulation(messages=[{"role": "user", "content": "a\ud800b"}]))

    assert found["messages"][0]["content"] == "a\ufffdb"
    assert notes == ["texts held characters that are not Unicode, which U+FFFD replaces"]


def test_what_the_fields_of_atif_can_say_stands_in_them():
    said = {"prompt_tokens": 12, "completion_tokens": 3}
    thought = {"reasoning": {"text": "Which order?"}}
    record = simulation(
        messages=[
            {
                "role": "assistant",
                "content": "Hello",
                "cost": 0.25,
                "usage": said,
                "raw_data": thought,
            },
            {"role": "user", "content": "Hi", "cost": 0.5, "usage": {"prompt_tokens": 40}},
        ]
    )
    tools = [{"type": "function", "function": {"name": "find"}}]
    root, notes = trajectory_of(
        Conversation(record, agent={"tool_definitions": tools}, prompt="Be kind.")
    )

    prompt, hello, _ = root["steps"]
    assert (prompt["source"], prompt["message"]) == ("system", "Be kind.")
    assert hello["metrics"] == {**said, "cost_usd": 0.25}
    assert (hello["reasoning_content"], hello["llm_call_count"]) == ("Which order?", 1)
    assert root["agent"]["tool_definitions"] == tools
    assert root["final_metrics"]["total_prompt_tokens"] == 12
    assert notes == ["40 input tokens of the customer are not in the metrics"]
    assert root["notes"] == notes[0]


def test_the_members_of_a_team_are_embedded_and_do_not_speak_twice():
    asked = {"id": "c1", "function": {"name": "look", "arguments": '{"at": 1}'}}
    members = {
        "boss": [{"role": "assistant", "content": "Look it up."}],
        "scout": [
            {"role": "assistant", "content": None, "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
        ],
    }
    root, _ = trajectory_of(Conversation(simulation(), members=members))

    names = [each["trajectory_id"] for each in root["subagent_trajectories"]]
    assert names == ["s1/agents/boss", "s1/agents/scout"]
    (seen,) = root["subagent_trajectories"][1]["steps"]
    assert seen["tool_calls"][0]["arguments"] == {"at": 1}
    assert seen["observation"]["results"] == [{"source_call_id": "c1", "content": "found"}]
    assert len(read_trajectory(root).messages) == len(simulation()["messages"])


def test_roles_that_atif_does_not_have_come_back():
    said = [{"role": "developer", "content": text} for text in ("a", "b")]
    record = simulation(messages=[*said, {"role": "system", "content": "c"}])

    found, _ = back(record)
    assert found["messages"] == record["messages"]
