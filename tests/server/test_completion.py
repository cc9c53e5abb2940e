"""Answers in pieces: put together again they are the whole."""

import json
from typing import Any

import pytest

from maseval import ScriptedModelAdapter, tool_call
from maseval.core import call_policy
from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import ChatResponse
from maseval.core.provider_errors import (
    AuthenticationError,
    ContextOverflowError,
    ProviderConnectionError,
    RateLimitError,
)
from maseval.server import ModelServer
from maseval.server.completion import completion, stream_events
from tests.server.provider import ask, asking, saying


def chunks(answer: dict[str, Any], **options: bool) -> list[dict[str, Any]]:
    *events, done = list(stream_events(answer, **{"with_usage": False, **options}))
    assert done == b"data: [DONE]\n\n"
    assert all(event.startswith(b"data: ") and event.endswith(b"\n\n") for event in events)
    return [json.loads(event[6:]) for event in events]


def put_together(answer: dict[str, Any]) -> dict[str, str]:
    message = {}
    for chunk in chunks(answer):
        for choice in chunk["choices"]:
            for key, value in choice["delta"].items():
                if key == "tool_calls":
                    (call,) = value
                    assert call.pop("index") == len(message.setdefault(key, []))
                    message[key].append(call)
                elif key == "content" and value is not None:
                    message[key] = (message.get(key) or "") + value
                else:
                    message.setdefault(key, value)
    return message


@pytest.mark.parametrize(
    "message",
    [
        saying("hello"),
        saying(""),
        saying(None, tool_calls=[tool_call("a", {"x": "ü"}), tool_call("b", id="2")]),
        saying("and", tool_calls=[tool_call("a")]),
        saying("so", reasoning_content="because", annotations=[{"type": "url_citation"}]),
        saying(None, refusal="I will not"),
    ],
    ids=lambda answer: str(answer["choices"][0]["message"])[:60],
)
def test_a_stream_says_what_the_answer_says(message):
    assert put_together(message) == message["choices"][0]["message"]


def test_every_piece_names_the_answer_and_the_last_its_reason():
    found = chunks(saying("hello") | {"system_fingerprint": "fp"})

    assert {(one["id"], one["model"], one["system_fingerprint"]) for one in found} == {
        ("chatcmpl-1", "m-2026", "fp")
    }
    assert {one["object"] for one in found} == {"chat.completion.chunk"}
    reasons = [one["choices"][0]["finish_reason"] for one in found]
    assert reasons == [None] * (len(found) - 1) + ["stop"]


def test_usage_comes_last_and_only_if_it_is_wanted():
    last = chunks(saying("hello"), with_usage=True)[-1]

    assert last["choices"] == [] and last["usage"]["total_tokens"] == 5
    assert not any("usage" in one for one in chunks(saying("hello")))


def test_several_choices_keep_their_numbers():
    answer = saying("a")
    answer["choices"].append({**saying("b")["choices"][0], "index": 1})

    said = [
        (choice["index"], choice["delta"]["content"])
        for chunk in chunks(answer)
        for choice in chunk["choices"]
        if choice["delta"].get("content")
    ]
    assert said == [(0, "a"), (1, "b")]


def test_a_models_answer_in_the_protocols_form():
    usage = {"input_tokens": 3, "output_tokens": 2, "cached_input_tokens": 1}
    answer = completion(ChatResponse(None, [tool_call("a")], usage=usage), "m")

    (choice,) = answer["choices"]
    assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] is None
    assert answer["usage"]["total_tokens"] == 5
    assert answer["usage"]["prompt_tokens_details"] == {"cached_tokens": 1}


@pytest.fixture(autouse=True)
def one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_policy, "_default", call_policy.CallPolicy(max_attempts=1))


def test_each_model_answers_under_its_name():
    a, b = (ScriptedModelAdapter([f"I am {name}"], model_id=name) for name in "ab")

    with ModelServer(a) as server:
        server.add(b, "other")
        texts = [ask(server.url, asking("hi") | {"model": name}).content for name in ("other", "a")]

    assert texts == ["I am b", "I am a"]


def test_an_unknown_model_is_told_which_there_are():
    with ModelServer(ScriptedModelAdapter(["x"], model_id="a")) as server:
        reply = ask(server.url, asking("hi"))
        server.remove("a")
        again = ask(server.url, asking("hi") | {"model": "a"})

    assert reply.status == 404 and reply.error["code"] == "model_not_found"
    assert reply.error["message"] == "no model is served as 'm'; available: a"
    assert again.error["message"] == "no model is served as 'a'; available: none"


def test_one_name_is_for_one_model():
    model = ScriptedModelAdapter(["x"], model_id="a")
    with ModelServer(model) as server:
        assert server.add(model) == "a"
        with pytest.raises(ConfigurationError, match="another model is already served as 'a'"):
            server.add(ScriptedModelAdapter(["y"], model_id="a"))


def test_a_model_gets_what_the_client_asked():
    model = ScriptedModelAdapter([tool_call("look", {"x": 1})], model_id="m")
    tools = [{"type": "function", "function": {"name": "look"}}]

    with ModelServer(model) as server:
        request = asking("hi", tools=tools, tool_choice="auto", temperature=0, seed=None)
        answer = ask(server.url, {**request, "stream_options": None}).json

    assert model.requests == [
        {
            "messages": request["messages"],
            "tools": tools,
            "tool_choice": "auto",
            "generation_params": {"temperature": 0},
        }
    ]
    assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "look"


@pytest.mark.parametrize(
    ("error", "status", "wait"),
    [
        (RateLimitError("slow", provider="p", status=429, retry_after=2.5), 429, "2.5"),
        (AuthenticationError("no", provider="p", status=401), 401, None),
        (ProviderConnectionError("gone", provider="p"), 502, None),
        (ContextOverflowError("long", provider="p"), 422, None),
    ],
)
def test_a_providers_failure_keeps_its_meaning(error, status, wait):
    with ModelServer(ScriptedModelAdapter([error], model_id="m")) as server:
        reply = ask(server.url, asking("hi"))

    assert reply.status == status and reply.headers["Retry-After"] == wait
    assert reply.error["code"] == type(error).__name__


def test_a_script_that_is_over_is_not_asked_again():
    with ModelServer(ScriptedModelAdapter([], model_id="m")) as server:
        reply = ask(server.url, asking("hi"))

    assert reply.status == 422 and reply.error["code"] == "ScriptExhaustedError"
