"""Models and scripts of this process, for programs that know only a base URL."""

import pytest

from maseval import ScriptedModelAdapter, tool_call
from maseval.core import call_policy
from maseval.core.exceptions import ConfigurationError
from maseval.core.provider_errors import (
    AuthenticationError,
    ContextOverflowError,
    ProviderConnectionError,
    RateLimitError,
)
from maseval.server import ModelServer
from tests.server.provider import ask, asking


@pytest.fixture(autouse=True)
def one_attempt(monkeypatch):
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
