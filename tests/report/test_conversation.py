import json
from typing import Any

from maseval.core.outcome import RecordedReport
from maseval.report import conversation as shown
from tests.report.builders import answered, call, report, said, simulated


def conversation(finished: dict[str, Any]) -> list[dict[str, Any]]:
    return shown.conversation(RecordedReport(finished))


def test_each_answer_stands_beside_its_call():
    messages = conversation(simulated())

    assert [message["index"] for message in messages] == [0, 1, 2, 4, 6, 7]
    assert [message["seconds"] for message in messages][:3] == [0, 2, 4]
    assert [each["calls"][0]["writes"] for each in messages[2:4]] == [False, True]
    (asked,) = messages[3]["calls"]
    assert asked["name"] == "cancel_order"
    assert asked["arguments"] == '{"order_id": "#W1"}'
    assert asked["result"] == {"text": "Order #W1 is cancelled", "failed": False, "took": 24}


def test_answers_find_their_calls_by_id_in_any_order():
    told = [
        said("user", None, call("a", "1"), call("b", "2")),
        answered("B", "2"),
        answered("A", "1"),
    ]

    (message,) = conversation(simulated(messages=told))

    assert [each["result"]["text"] for each in message["calls"]] == ["A", "B"]


def test_an_answer_that_nobody_asked_for_is_shown_where_it_stands():
    told = [said("assistant", None, call("a", "1")), answered("?", "other", error=True)]

    asked, stray = conversation(simulated(messages=told))

    assert asked["calls"][0]["result"] is None
    assert (stray["who"], stray["text"], stray["failed"]) == ("tool", "?", True)


def test_a_late_answer_does_not_move_up_past_other_words():
    told = [said("assistant", None, call("a", "1")), said("user", "Hello?"), answered("A", "1")]
    assert [message["who"] for message in conversation(simulated(messages=told))] == [
        "assistant",
        "user",
        "tool",
    ]


def test_without_a_simulation_the_messages_of_the_agents_are_shown():
    function = {"name": "book", "arguments": '{"room": "Ash"}'}
    told = [
        {"role": "user", "content": "A room, please."},
        {
            "role": "assistant",
            "tool_calls": [{"id": "1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "Ash is yours."},
    ]
    traces = {"agents": {"desk": {"messages": told}, "clerk": {"messages": told[:1]}}}

    first, second, third = conversation(report(traces=traces))

    assert (first["speaker"], third["speaker"]) == ("desk", "clerk")
    assert second["calls"][0]["arguments"] == '{"room": "Ash"}'
    assert second["calls"][0]["result"]["text"] == "Ash is yours."


def test_a_message_in_parts_is_shown_as_what_it_is():
    told = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}, "not a message"]

    parts, odd = conversation(simulated(messages=told))

    assert parts["text"] == '[{"type": "text", "text": "hi"}]'
    assert odd == {"index": 1, "who": "unknown"}


def test_a_message_says_what_it_took_as_far_as_that_is_recorded():
    counted = {"input_tokens": 900, "output_tokens": 30, "total_tokens": 930}
    told = [
        said("user", "Hello?"),
        said("assistant", "Yes?", second=3, usage=counted),
        said("user", "Oh.", second=2, usage={"prompt_tokens": 10, "completion_tokens": 1}),
    ]

    first, second, third = conversation(simulated(messages=told))

    assert "took" not in first and "tokens" not in first
    assert (second["took"], second["tokens"]) == (3, 930)
    # Clocks that were set back say nothing.
    assert "took" not in third and third["tokens"] == 11


def test_a_message_shows_what_its_model_thought():
    thought = {"reasoning": {"text": "They want a refund."}}
    told = [
        {**said("assistant", "Yes?"), "raw_data": thought},
        {**said("assistant", "Sure."), **thought},
        {**said("user", "Hm."), "raw_data": {"reasoning": "a fork's own form"}},
    ]

    shown = [message.get("thought") for message in conversation(simulated(messages=told))]

    assert shown == ["They want a refund.", "They want a refund.", None]


def test_a_message_says_what_is_recorded_of_its_models_request():
    told = [said("user", "Hi", second=1), said("assistant", "Hello", second=5)]
    call = {
        **{"timestamp": "2025-01-01T10:00:02", "generation_params": {"temperature": 0.5}},
        **{"message_count": 2, "tools_provided": 3, "duration_seconds": 1.25},
    }
    early = {**call, "timestamp": "2025-01-01T09:59:00"}
    given = simulated(messages=told)
    models = {"agent_model": {"model_id": "lab/agent-1", "logs": [early, call]}}
    given["traces"]["models"] = models

    user, agent = conversation(given)

    assert "model" not in user
    *said_of_it, (name, raw) = agent["model"]
    assert (name, json.loads(raw)) == ("Raw", call)
    assert said_of_it == [
        ("Model", "lab/agent-1"),
        ("Parameters", '{"temperature": 0.5}'),
        ("Sent", "2 messages, 3 tools"),
        ("Took", "1.2 s"),
    ]
