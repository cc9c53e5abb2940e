"""Which thoughts are sent back to the model that had them."""

from typing import Any

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import ChatResponse, MessageHistory, tool_call
from maseval.core.model import resolve_model
from maseval.core.scripted import ScriptedModelAdapter

USER = {"role": "user", "content": "hi"}


def thinking(text: str, *, call: str | None = None, content: str | None = None) -> ChatResponse:
    calls = [tool_call("look", id=call)] if call else None
    return ChatResponse(content, calls, reasoning={"text": text, "key": "reasoning_content"})


def result(call: str) -> dict[str, str]:
    return {"role": "tool", "tool_call_id": call, "content": "seen"}


def converse(model: ScriptedModelAdapter) -> list[dict[str, Any]]:
    """Two turns: in each, a tool call that was thought about, and an answer that was."""
    said = []
    for turn in ("one", "two"):
        said.append(USER)
        said.append(model.chat(said).to_message())
        said.append(result(turn))
        said.append(model.chat(said).to_message())
    return said


def replies() -> list[ChatResponse]:
    return [
        thinking("first", call="one"),
        thinking("second", content="Well."),
        thinking("third", call="two"),
        thinking("fourth", content="Bye."),
    ]


def sent_thoughts(request: dict[str, Any]) -> list[str]:
    return [m["reasoning"]["text"] for m in request["messages"] if "reasoning" in m]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("drop", [[], [], [], []]),
        ("auto", [[], ["first"], [], ["third"]]),
        ("keep", [[], ["first"], ["first", "second"], ["first", "second", "third"]]),
    ],
)
def test_a_policy_says_which_thoughts_are_sent_back(policy, expected):
    model = resolve_model("scripted/x", replies=replies(), reasoning_policy=policy)

    said = converse(model)

    assert [sent_thoughts(request) for request in model.requests] == expected
    # Whatever is sent, the record has all of it.
    assert [m["reasoning"]["text"] for m in said if m["role"] == "assistant"] == [
        *("first", "second", "third", "fourth")
    ]


def test_nothing_is_sent_back_unless_it_is_asked_for():
    model = ScriptedModelAdapter(replies())

    converse(model)

    assert model.gather_config()["reasoning_policy"] == "drop"
    assert not any(sent_thoughts(request) for request in model.requests)


def test_the_thoughts_behind_a_call_are_found_though_its_message_has_none():
    model = resolve_model("scripted/x", replies=replies(), reasoning_policy="auto")
    call = model.chat([USER]).tool_calls

    model.chat([USER, {"role": "assistant", "tool_calls": call}, result("one")])

    assert sent_thoughts(model.requests[1]) == ["first"]


def test_no_model_reads_the_thoughts_of_another():
    one = resolve_model("scripted/one", replies=replies(), reasoning_policy="keep")
    other = resolve_model("scripted/other", replies=replies(), reasoning_policy="keep")

    other.chat([USER, one.chat([USER]).to_message(), result("one")])

    assert one.requests[0]["messages"] == [USER]
    assert sent_thoughts(other.requests[0]) == []


def test_a_history_keeps_the_thoughts_for_the_model_alone():
    model = resolve_model("scripted/x", replies=replies(), reasoning_policy="auto")
    history = MessageHistory([USER, model.chat([USER]).to_message(), result("one")])

    model.chat(history)

    assert sent_thoughts(model.requests[1]) == ["first"]
    assert all("reasoning" not in message for message in history.to_openai_format())


def test_the_log_says_how_long_a_thought_was_and_not_what():
    model = ScriptedModelAdapter(replies())

    model.chat([USER])

    assert model.logs[0]["reasoning_length"] == len("first")
    assert "first" not in str(model.logs)


def test_a_policy_that_is_none_is_refused():
    with pytest.raises(ConfigurationError, match="'maybe'; choose one of: keep, drop, auto"):
        resolve_model("scripted/x", replies=[], reasoning_policy="maybe")


@pytest.mark.parametrize("nonsense", ["a text", 7, {"text": 7}, {"details": []}, {}])
def test_thoughts_that_cannot_be_read_are_left_out(nonsense):
    model = ScriptedModelAdapter([ChatResponse("ok", reasoning=nonsense)])

    assert model.chat([USER]).reasoning is None


def test_an_id_that_a_server_uses_again_does_not_bring_old_thoughts_back():
    plain = ChatResponse(None, [tool_call("look", id="one")])
    model = resolve_model("scripted/x", replies=[*replies()[:1], plain, "ok"])
    model.reasoning_policy = "keep"
    model.chat([USER])

    call = model.chat([USER]).tool_calls
    model.chat([USER, {"role": "assistant", "tool_calls": call}, result("one")])

    assert sent_thoughts(model.requests[2]) == []
