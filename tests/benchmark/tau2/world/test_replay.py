"""Which recorded answers a replay accepts."""

from typing import Any

import pytest

from maseval.benchmark.tau2.world.world import (
    ReplayError,
    calls_with_answers,
    refuse_user_messages,
    replay,
    same_content,
)


@pytest.mark.parametrize(
    ("found", "recorded"),
    [
        ("done", "done"),
        ('{"a": 1, "b": [2]}', '{"b": [2], "a": 1.0}'),
        ("[1]", "[1.0]"),
        ("NaN is a bread", "NaN is a bread"),
        ('{"price": NaN}', '{"price": NaN}'),
        ("line\nFor further information visit https://errors.pydantic.dev/2.10/v/x", "line"),
        (
            "a\n    For further information visit https://errors.pydantic.dev/2.10/v/x\nb",
            "a\n    For further information visit https://errors.pydantic.dev/2.12/v/x\nb",
        ),
    ],
)
def test_answers_that_say_the_same_are_equal(found, recorded):
    assert same_content(found, recorded)


@pytest.mark.parametrize(
    ("found", "recorded"),
    [
        ("done", "Done"),
        ('{"a": 1}', '{"a": 2}'),
        ("1", '"1"'),
        ("a\nb", "a\nc"),
        ("a\n", "a"),
        (
            "a\n    For further information visit https://errors.pydantic.dev/2.10/v/x",
            "b\n    For further information visit https://errors.pydantic.dev/2.10/v/x",
        ),
    ],
)
def test_answers_that_say_something_else_are_not(found, recorded):
    assert not same_content(found, recorded)


@pytest.mark.parametrize("answer", ["NaN", " NaN\n"])
def test_an_answer_that_is_nan_does_not_even_equal_itself(answer):
    assert not same_content(answer, answer)


def test_a_recorded_answer_of_none_cannot_be_compared():
    with pytest.raises(TypeError):
        same_content("done", None)


def call(call_id: str = "c", **more: str) -> dict[str, Any]:
    return {"id": call_id, "name": "paint", "arguments": {}, **more}


def asks(*calls: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": None, "tool_calls": list(calls)}


def answers(call_id: str = "c", content: str = "done") -> dict[str, str]:
    return {"role": "tool", "id": call_id, "content": content}


def answer(made: dict[str, Any]) -> tuple[str, bool]:
    return "done", False


def test_calls_are_paired_with_the_answers_that_follow_them_in_order():
    messages = [
        {"role": "assistant", "content": "Hi."},
        asks(call("a"), call("b")),
        answers("a"),
        answers("b"),
        asks(call("c", requestor="user"), role="user"),
        answers("c"),
    ]

    pairs = list(calls_with_answers(messages))

    assert [(index, made["id"], made["requestor"]) for index, made, _ in pairs] == [
        (2, "a", "assistant"),
        (3, "b", "assistant"),
        (5, "c", "user"),
    ]
    assert [answer for _, _, answer in pairs] == [messages[2], messages[3], messages[5]]


@pytest.mark.parametrize(
    ("messages", "index", "text"),
    [
        ([answers()], 0, "Tool message not expected"),
        ([asks(call()), answers(), answers()], 2, "Tool message not expected"),
        ([asks(call())], 1, "Got None"),
        ([asks(call()), asks(call())], 1, "AssistantMessage"),
        ([asks(call("a")), answers("b")], 1, "Got a and b"),
        ([asks(call(), call()), answers()], 2, "Got None"),
    ],
)
def test_calls_and_answers_out_of_order_are_refused_with_their_place(messages, index, text):
    with pytest.raises(ReplayError, match=text) as refused:
        list(calls_with_answers(messages))

    assert refused.value.index == index


def test_a_different_answer_is_reported_with_both_texts_and_its_place():
    with pytest.raises(ReplayError) as refused:
        replay(answer, [asks(call()), answers(content="undone")])

    error = refused.value
    assert (error.index, error.expected, error.found) == (1, "undone", "done")
    assert error.call is not None and error.call["name"] == "paint"
    assert isinstance(error.original, ValueError)


def test_nothing_is_called_before_the_order_of_all_messages_is_known_to_be_right():
    made = []

    with pytest.raises(ReplayError):
        replay(
            lambda each: made.append(each) or answer(each), [asks(call()), answers(), asks(call())]
        )

    assert made == []


def test_in_solo_mode_nobody_but_the_agent_speaks():
    refuse_user_messages([{"role": "assistant", "content": "Hi."}, answers()])

    with pytest.raises(ReplayError) as refused:
        refuse_user_messages([{"role": "assistant"}, {"role": "user", "content": "Hi."}])

    assert refused.value.index == 1
    assert isinstance(refused.value.original, AssertionError)
