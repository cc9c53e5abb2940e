"""What makes two requests the same."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.answer_cache import AnswerCache
from maseval.server.replaying import canonical
from tests.server.provider import asking


def key(request: dict[str, Any]) -> str:
    return AnswerCache(Path()).key(canonical(request))


def call(id: str, name: str = "look", arguments: str = "{}") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def conversation(first: str, second: str) -> dict[str, Any]:
    """Two calls of one turn, answered in the other order."""
    return {
        "model": "m",
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [call(first), call(second)]},
            {"role": "tool", "tool_call_id": second, "content": "2"},
            {"role": "tool", "tool_call_id": first, "content": "1"},
        ],
    }


@pytest.mark.parametrize(
    "more",
    [
        {"stream": True, "stream_options": {"include_usage": True}},
        {"user": "me", "metadata": {"run": 7}, "store": True, "safety_identifier": "x"},
        {"temperature": None, "seed": None, "tools": None, "tool_choice": None},
        {"tools": []},
        {"api_key": "sk-abcdefghijklmnop"},
        {"service_tier": "flex", "prompt_cache_key": "k", "timeout": 3},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_does_not_change_the_answer_does_not_count(more):
    assert key(asking("hi", **more)) == key(asking("hi"))


@pytest.mark.parametrize(
    "more",
    [
        {"model": "other"},
        {"temperature": 0},
        {"seed": 1},
        {"max_tokens": 5},
        {"tool_choice": "required"},
        {"parallel_tool_calls": False},
        {"response_format": {"type": "json_object"}},
        {"stop": ["x"]},
        {"n": 2},
        {"top_k": 3},
        {"tools": [{"type": "function", "function": {"name": "look"}}]},
        {"messages": [{"role": "system", "content": "hi"}]},
        {"messages": [{"role": "user", "content": "Hi"}]},
        {"messages": [{"role": "user", "content": ""}]},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_may_change_the_answer_counts(more):
    assert key(asking("hi") | more) != key(asking("hi"))


def test_a_null_in_a_schema_counts_as_it_may_be_a_default():
    def tool(**schema):
        parameters = {"type": "object", "properties": {"x": {"type": "string", **schema}}}
        return [{"type": "function", "function": {"name": "look", "parameters": parameters}}]

    assert key(asking("hi", tools=tool(default=None))) != key(asking("hi", tools=tool()))


def test_one_text_part_is_a_text():
    parts = [{"type": "text", "text": "hi"}]

    assert key(asking("hi") | {"messages": [{"role": "user", "content": parts}]}) == key(
        asking("hi")
    )
    assert key(asking("hi") | {"messages": [{"role": "user", "content": parts * 2}]}) != key(
        asking("hi")
    )


def test_a_number_counts_by_its_value():
    assert key(asking("hi", temperature=0.0)) == key(asking("hi", temperature=0))
    assert key(asking("hi", temperature=0.5)) != key(asking("hi", temperature=0))
    assert key(asking("hi", logprobs=True)) != key(asking("hi", logprobs=1))


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_invented_ids_of_calls_do_not_count(first, second):
    different = first[0] != first[1] and second[0] != second[1]

    if different:
        assert key(conversation(*first)) == key(conversation(*second))


def test_which_call_a_result_belongs_to_counts():
    exchanged = conversation("a", "b")
    exchanged["messages"][2]["tool_call_id"] = "a"
    exchanged["messages"][3]["tool_call_id"] = "b"

    assert key(exchanged) != key(conversation("a", "b"))


def test_an_id_that_comes_back_means_the_latest_call():
    def twice(first, second):
        turn = lambda id: [  # noqa: E731
            {"role": "assistant", "tool_calls": [call(id)]},
            {"role": "tool", "tool_call_id": id, "content": "1"},
        ]
        return {"model": "m", "messages": [*turn(first), *turn(second)]}

    assert key(twice("a", "a")) == key(twice("x", "y"))


@pytest.mark.parametrize(
    "messages",
    [
        [{}],
        [{"role": "assistant", "tool_calls": "x"}],
        [{"role": "assistant", "tool_calls": [1, None]}],
        [{"role": "tool", "tool_call_id": {"a": 1}}],
        [{"role": "user", "content": [{"type": "text"}]}],
        [{"role": "user", "content": "\ud800"}],
    ],
    ids=str,
)
def test_odd_messages_have_a_key_too(messages):
    assert key({"messages": messages})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values), st.randoms(use_true_random=False))
def test_the_order_of_keys_and_the_way_over_the_wire_do_not_count(parameters, chance):
    request = {**parameters, **asking("hi")}

    def shuffled(value):
        if isinstance(value, dict):
            keys = list(value)
            chance.shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(item) for item in value] if isinstance(value, list) else value

    assert key(shuffled(json.loads(json.dumps(request)))) == key(request)
