"""Messages in v0.2.0's form: the keys it writes, and their defaults."""

import pytest

from maseval.benchmark.tau2.formats.message import SpokenMessage, ToolMessage, complete


@pytest.mark.parametrize(
    ("message", "form"),
    [
        ({"role": "user", "content": "Hi"}, SpokenMessage),
        ({"content": "2.0", "role": "tool", "id": "c1"}, ToolMessage),
    ],
)
def test_a_complete_message_has_every_key_of_its_form_in_the_forms_order(message, form):
    whole = complete(message)

    assert list(whole) == list(form.__annotations__)
    assert {key: whole[key] for key in message} == message


def test_an_answer_without_a_requestor_goes_to_the_agent_and_is_no_error():
    whole = complete({"role": "tool", "id": "c1"})

    assert (whole["requestor"], whole["error"], whole["content"]) == ("assistant", False, None)


def test_the_calls_of_a_message_are_completed_and_unknown_keys_are_left_out():
    call = {"name": "ping", "arguments": {}, "mood": "calm"}

    whole = complete({"role": "assistant", "tool_calls": [call], "is_audio": False})

    assert "is_audio" not in whole
    assert whole["tool_calls"] == [
        {"id": "", "name": "ping", "arguments": {}, "requestor": "assistant"}
    ]


def test_no_calls_and_an_empty_list_of_calls_are_different():
    assert complete({"role": "user", "content": "Hi"})["tool_calls"] is None
    assert complete({"role": "user", "tool_calls": []})["tool_calls"] == []
