import json

import pytest

from maseval.core.exceptions import (
    ConfigurationError,
    HookResultError,
    ScriptExhaustedError,
    UnknownModelError,
)
from maseval.core.messages import ChatResponse, tool_call
from maseval.core.scripted import ScriptedModelAdapter, from_id


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def test_replies_are_played_in_order():
    model = ScriptedModelAdapter(["Hello", ChatResponse(content="again", stop_reason="length")])

    first, second = model.chat([user("hi")]), model.chat([user("hi")])

    assert (first.content, first.tool_calls, first.stop_reason) == ("Hello", None, "stop")
    assert (second.content, second.stop_reason) == ("again", "length")
    assert first.model == second.model == "scripted"


@pytest.mark.parametrize(
    ("reply", "content", "names"),
    [
        (tool_call("look", {"at": "door"}), None, ["look"]),
        ([tool_call("look"), tool_call("open")], None, ["look", "open"]),
        ({"name": "look", "arguments": {"at": "door"}}, None, ["look"]),
        ({"content": "Wait", "tool_calls": [{"name": "look"}]}, "Wait", ["look"]),
        ({"content": "Just text"}, "Just text", []),
    ],
)
def test_a_reply_may_call_tools(reply, content, names):
    response = ScriptedModelAdapter([reply]).chat([user("go")])

    assert response.content == content
    assert [call["function"]["name"] for call in response.tool_calls or []] == names
    assert all(
        isinstance(json.loads(c["function"]["arguments"]), dict) for c in response.tool_calls or []
    )


def test_calls_written_short_get_ids_of_their_own():
    look = {"name": "look"}
    model = ScriptedModelAdapter([[look, look], look, {"name": "look", "id": "mine"}])

    ids = [call["id"] for _ in range(3) for call in model.chat([user("go")]).tool_calls]

    assert len(set(ids)) == 4 and ids[-1] == "mine"


def test_an_exception_is_raised_and_the_script_goes_on():
    model = ScriptedModelAdapter([ConnectionError("line down"), "Hello"])

    with pytest.raises(ConnectionError, match="line down"):
        model.chat([user("hi")])

    assert model.chat([user("hi")]).content == "Hello"
    assert [entry["status"] for entry in model.logs] == ["error", "success"]


def test_a_function_looks_at_what_was_asked():
    tools = [{"type": "function", "function": {"name": "look"}}]
    model = ScriptedModelAdapter(lambda messages, tools: f"{messages[-1]['content']} {len(tools)}")

    assert [model.chat([user(str(n))], tools=tools).content for n in range(3)] == [
        "0 1",
        "1 1",
        "2 1",
    ]


def test_it_remembers_what_it_was_asked_at_that_time():
    model = ScriptedModelAdapter(["a"])
    messages = [user("hi")]

    model.chat(messages, {"temperature": 0}, tool_choice="none")
    messages[0]["content"] = "changed"

    assert model.requests == [
        {
            "messages": [user("hi")],
            "tools": None,
            "tool_choice": "none",
            "generation_params": {"temperature": 0},
        }
    ]


def test_an_exhausted_script_says_how_long_it_was_and_what_was_asked():
    model = ScriptedModelAdapter(["one", "two"])
    model.generate("a"), model.generate("b")

    with pytest.raises(ScriptExhaustedError, match=r"2 replies.*'content': 'c'.*loop=True"):
        model.generate("c")


def test_a_looping_script_starts_again():
    model = ScriptedModelAdapter([tool_call("look"), "b"], loop=True)

    first = model.chat([user("x")])
    first.tool_calls.clear()

    assert model.generate("x") == "b"
    assert model.chat([user("x")]).tool_calls == [tool_call("look")]


def test_usage_is_estimated_from_the_texts():
    model = ScriptedModelAdapter(["x" * 40])

    response = model.chat([user("y" * 80), {"role": "assistant", "content": None}])

    assert response.usage == {"input_tokens": 20, "output_tokens": 10, "total_tokens": 30}


def test_an_answer_takes_the_time_it_was_given(ticks):
    before = ticks.now

    ScriptedModelAdapter(["a"], delay_seconds=20).generate("x")

    assert ticks.now - before == 20


@pytest.mark.parametrize("replies", ["Hello", {"content": "Hello"}])
def test_a_single_reply_must_be_put_into_a_list(replies):
    with pytest.raises(ConfigurationError, match="must be a list"):
        ScriptedModelAdapter(replies)


@pytest.mark.parametrize("reply", [7, None, [], {"what": 1}, {"tool_calls": [{"x": 1}]}])
def test_a_reply_that_means_nothing_is_refused(reply):
    with pytest.raises(HookResultError):
        ScriptedModelAdapter([reply]).generate("x")


def test_echo_repeats_the_last_user_message():
    model = from_id("echo")
    said = [user("one"), user("two"), {"role": "assistant", "content": "three"}]

    assert model.chat(said).content == "two"
    assert model.chat([]).content == ""
    assert model.model_id == "scripted/echo"


def test_a_file_of_replies_is_played(tmp_path):
    script = ["Hello", {"content": "Let me see", "tool_calls": [{"name": "look"}]}]
    path = tmp_path / "play.json"
    path.write_text(json.dumps(script), encoding="utf-8")

    model = from_id(str(path), seed=1)

    assert model.generate("x") == "Hello"
    assert model.chat([user("x")]).tool_calls[0]["function"] == {"name": "look", "arguments": "{}"}


def test_replies_may_be_given_under_any_name():
    model = from_id("my-play", replies=["Hello"], loop=True)

    assert [model.generate("x"), model.generate("x")] == ["Hello", "Hello"]
    assert model.model_id == "scripted/my-play"


@pytest.mark.parametrize("content", ["{not json", '{"a": 1}', None])
def test_a_file_that_holds_no_replies_is_named(tmp_path, content):
    path = tmp_path / "play.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")

    with pytest.raises(UnknownModelError, match=r"play\.json"):
        from_id(str(path))


def test_an_unknown_name_is_answered_with_the_possibilities():
    with pytest.raises(UnknownModelError, match=r"'ecco'.*scripted/echo.*\.json.*replies="):
        from_id("ecco")
