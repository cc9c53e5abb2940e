import pytest

from maseval.core.messages import (
    ChatResponse,
    MessageHistory,
    chat_usage,
    openai_form,
    text_of,
    tool_call,
)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (ChatResponse(), {"role": "assistant"}),
        (ChatResponse(""), {"role": "assistant", "content": ""}),
        (ChatResponse("Hi", tool_calls=[]), {"role": "assistant", "content": "Hi"}),
        (
            ChatResponse(tool_calls=[tool_call("ping")], role="user"),
            {"role": "user", "tool_calls": [tool_call("ping")]},
        ),
    ],
)
def test_a_response_becomes_a_message_with_only_what_it_has(response, message):
    assert response.to_message() == message


def test_a_history_keeps_messages_in_the_order_they_came():
    history = MessageHistory()
    history.add_message("user", "Ping it", name="Ann", metadata={"mood": "calm"}, timestamp="t1")
    history.add_tool_call([tool_call("ping")], timestamp="t2")
    history.add_tool_call([tool_call("pong")], "now", {"n": 1}, timestamp="t3")
    history.add_tool_response("call_ping", "ok", name="ping", timestamp="t4")

    assert history.to_list() == [
        {
            "role": "user",
            "content": "Ping it",
            "name": "Ann",
            "metadata": {"mood": "calm"},
            "timestamp": "t1",
        },
        {"role": "assistant", "tool_calls": [tool_call("ping")], "timestamp": "t2"},
        {
            "role": "assistant",
            "tool_calls": [tool_call("pong")],
            "content": "now",
            "metadata": {"n": 1},
            "timestamp": "t3",
        },
        {
            "role": "tool",
            "tool_call_id": "call_ping",
            "content": "ok",
            "name": "ping",
            "timestamp": "t4",
        },
    ]


def test_a_list_given_to_a_history_is_used_and_not_copied():
    messages = []
    history = MessageHistory(messages)
    history.add_message("user", "Hi")
    assert messages == history.to_list()


def test_a_model_is_not_shown_what_only_we_know():
    history = MessageHistory()
    history.add_message("user", "Hi", name="Ann", metadata={"mood": "calm"})
    history.add_tool_call([tool_call("ping")])
    history.add_tool_response("call_ping", "ok")

    assert history.to_openai_format() == [
        {"role": "user", "content": "Hi", "name": "Ann"},
        {"role": "assistant", "tool_calls": [tool_call("ping")]},
        {"role": "tool", "content": "ok", "tool_call_id": "call_ping"},
    ]


def test_openai_form_keeps_a_models_keys_in_their_order():
    message = {"timestamp": "t", "content": "hi", "metadata": {"a": 1}, "role": "user"}

    assert list(openai_form(message).items()) == [("role", "user"), ("content", "hi")]
    assert "timestamp" in message


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "user", "content": "hi"}, "hi"),
        ({"role": "assistant", "content": None}, ""),
        ({"role": "assistant"}, ""),
        (
            {"role": "user", "content": [{"type": "text", "text": "a"}]},
            '[{"type": "text", "text": "a"}]',
        ),
    ],
)
def test_the_text_of_a_message(message, text):
    assert text_of(message) == text


def test_usage_adds_up_its_total_and_leaves_out_what_is_zero_or_unknown():
    assert chat_usage(3, 4, reasoning_tokens=2, audio_tokens=0, cost=None) == {
        "input_tokens": 3,
        "output_tokens": 4,
        "total_tokens": 7,
        "reasoning_tokens": 2,
    }
    assert chat_usage(3, 4, 9)["total_tokens"] == 9


def test_a_response_is_kept_with_what_its_model_thought():
    history = MessageHistory()

    history.add_response(ChatResponse(None, reasoning={"text": "hm"}))
    history.add_response(ChatResponse(None, [tool_call("look")]))

    silent, calling = history
    assert silent.pop("timestamp") and calling.pop("timestamp")
    assert silent == {"role": "assistant", "content": "", "reasoning": {"text": "hm"}}
    assert calling == {"role": "assistant", "tool_calls": [tool_call("look")]}
