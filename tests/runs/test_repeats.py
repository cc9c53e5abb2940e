"""Repeated objects are written once and read as they were."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from maseval.runs.report_line import with_repeats, without_repeats

LONG = "The wall is red, and so is the door. " * 3


def traces() -> dict[str, Any]:
    message = {"role": "tool", "content": LONG}
    return {
        "agents": {"a": {"messages": [message, {"role": "assistant", "content": LONG}]}},
        "environment": {"simulation": {"messages": [message]}},
        "tools": {"look": {"invocations": [{"outputs": LONG, "inputs": {}}]}},
    }


def through_json(value: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(value))


def test_the_environment_holds_what_others_refer_to():
    given_traces = traces()
    written = without_repeats(given_traces)

    assert given_traces == traces(), "what is given is left alone"
    assert list(written) == ["agents", "environment", "tools"]
    assert written["environment"] == traces()["environment"]
    assert json.dumps(written).count(LONG) == 1
    assert written["agents"]["a"]["messages"][0] == {
        "$same_as": ["environment", "simulation", "messages", 0]
    }


def test_what_is_read_is_what_was_given_and_shared_again():
    read = with_repeats(through_json(without_repeats(traces())))

    assert read == traces()
    message = read["environment"]["simulation"]["messages"][0]
    assert read["agents"]["a"]["messages"][0] is message
    assert read["tools"]["look"]["invocations"][0]["outputs"] is message["content"]


def test_what_is_nested_too_deeply_to_be_read_again_is_cut():
    deep: list = [LONG]
    for _ in range(600):
        deep = [deep]
    read = with_repeats(through_json(without_repeats({"deep": deep, "text": LONG})))

    assert "<nested too deeply>" in str(read["deep"])
    assert read["text"] == LONG


KEYS = ["a", "b", "$same_as", "$literal", "environment"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just(LONG),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner),
    max_leaves=30,
)


@given(st.dictionaries(st.sampled_from(KEYS), json_values), json_values)
def test_anything_survives(some, value):
    given_traces = {**some, "twice": [value, value, {"again": value}]}

    assert with_repeats(through_json(without_repeats(given_traces))) == given_traces
