"""What all adapters to a provider have in common, each through its own library over HTTP."""

import json
import logging
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from maseval.core import provider_errors as errors
from maseval.core.call_policy import CallPolicy
from maseval.core.judge import Judge, Question
from maseval.core.messages import MessageHistory, tool_call
from maseval.core.model import ModelAdapter
from maseval.core.provider_errors import ProviderError
from maseval.core.report import error_record
from maseval.interface.inference import anthropic, google_genai, litellm, openai, openai_responses
from maseval.testing.provider_server import OpenAIProtocol, ProviderServer, Reply
from tests.interface.inference.protocols import AnthropicProtocol, GoogleProtocol, ResponsesProtocol
from tests.interface.libraries import QUIET_LITELLM, needing
from tests.waiting import wait_until

pytestmark = QUIET_LITELLM
CANARY = "canary-0123456789-do-not-sing"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_order",
            "description": "Look up an order",
            "parameters": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}},
                "required": ["order_id"],
            },
        },
    },
    {"type": "function", "function": {"name": "list_orders", "description": "All orders"}},
]


@dataclass(frozen=True)
class Provider:
    name: str
    library: str
    factory: object
    protocol: type
    model: str = "some-model"
    path: str = ""

    def adapter(self, server: ProviderServer, **options: Any) -> ModelAdapter:
        options = {"api_key": CANARY, "base_url": server.url + self.path, **options}
        return self.factory(self.model, **options)


PROVIDERS = [
    Provider("openai", "openai", openai.from_id, OpenAIProtocol, path="/v1"),
    Provider("openai-responses", "openai", openai_responses.from_id, ResponsesProtocol, path="/v1"),
    Provider("anthropic", "anthropic", anthropic.from_id, AnthropicProtocol),
    Provider("google", "google.genai", google_genai.from_id, GoogleProtocol),
    Provider("litellm", "litellm", litellm.from_id, OpenAIProtocol, "openai/some-model", "/v1"),
]
INSTALLED = [
    pytest.param(known, id=known.name, marks=needing(known.library)) for known in PROVIDERS
]


@pytest.fixture(params=INSTALLED)
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Provider:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    return request.param


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def failure(adapter: ModelAdapter, kind: type[Any]) -> ProviderError:
    with pytest.raises(errors.ProviderError) as caught:
        adapter.chat([user("hi")])
    assert type(caught.value) is kind, f"{type(caught.value).__name__}: {caught.value}"
    return caught.value


def test_a_text_is_answered_with_its_usage(provider, server):
    server.will(provider.protocol.text("Grüße, 世界 🌍"))
    adapter = provider.adapter(server)

    answer = adapter.chat([{"role": "system", "content": "Be kind"}, user("Wie geht's? 你好")])

    assert (answer.content, answer.tool_calls, answer.role) == ("Grüße, 世界 🌍", None, "assistant")
    assert answer.model == "served-model"
    assert answer.usage == {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    assert adapter.gather_usage().total_tokens == 120
    sent = json.dumps(server.requests[0].body, ensure_ascii=False)
    assert "Wie geht's? 你好" in sent and "Be kind" in sent


def test_parallel_tool_calls_come_back_with_ids_of_their_own(provider, server):
    server.will(provider.protocol.calls(("get_order", {"order_id": "#Ä1"}), ("get_order", {})))

    answer = provider.adapter(server).chat([user("both")], tools=TOOLS)

    functions = [call["function"] for call in answer.tool_calls]
    assert [function["name"] for function in functions] == ["get_order", "get_order"]
    assert [json.loads(f["arguments"]) for f in functions] == [{"order_id": "#Ä1"}, {}]
    assert len({call["id"] for call in answer.tool_calls}) == 2
    assert all(call["type"] == "function" for call in answer.tool_calls)


def test_a_whole_round_of_tools_is_told_to_the_model(provider, server):
    server.will(
        provider.protocol.calls(("get_order", {"order_id": "1"}), ("list_orders", {})),
        provider.protocol.text("Done"),
    )
    adapter = provider.adapter(server)
    conversation = [user("look")]

    answer = adapter.chat(conversation, tools=TOOLS)
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": f"result {number}"}
        for number, call in enumerate(answer.tool_calls)
    ]
    final = adapter.chat([*conversation, answer.to_message(), *results], tools=TOOLS)

    assert final.content == "Done"
    sent = json.dumps(server.requests[1].body)
    assert sent.index("result 0") < sent.index("result 1")
    for name in ("get_order", "list_orders"):
        assert name in sent


def test_half_a_character_does_no_harm(provider, server):
    server.will(provider.protocol.text("half: \ud83d"), provider.protocol.text("ok"))
    adapter = provider.adapter(server)
    call = tool_call("get_order", {"order_id": "\udc00"}, id="call_0")
    done = {"role": "tool", "tool_call_id": "call_0", "content": "\ud83d\ude00 \ud83d"}

    said = adapter.chat([user("hi")])
    calling = {"role": "assistant", "content": None, "tool_calls": [call]}
    adapter.chat([user("hi"), said.to_message(), user("look"), calling, done], tools=TOOLS)

    sent = json.dumps(server.requests[1].body, ensure_ascii=False)
    assert "half: \ufffd" in sent and "😀 \ufffd" in sent


def test_a_history_can_be_sent_as_it_is(provider, server):
    server.will(provider.protocol.text("ok"))
    history = MessageHistory()
    history.add_message("user", "hello", metadata={"secret": "inside"})

    provider.adapter(server).chat(history)

    assert "inside" not in json.dumps(server.requests[0].body)


def test_later_parameters_win_over_earlier_ones(provider, server):
    server.will(provider.protocol.text("ok"))
    adapter = provider.adapter(server, temperature=0.1, top_p=0.2, generation_params={"top_p": 1})

    adapter.chat([user("hi")], {"temperature": 0.3}, temperature=0.4)

    body = server.requests[0].body
    body = body.get("generationConfig", body)
    assert body["temperature"] == 0.4
    assert body.get("top_p", body.get("topP")) == 0.2


STATUSES = {
    400: errors.MalformedRequestError,
    401: errors.AuthenticationError,
    403: errors.AuthenticationError,
    404: errors.ModelNotFoundError,
    422: errors.MalformedRequestError,
    429: errors.RateLimitError,
    500: errors.OverloadedError,
    503: errors.OverloadedError,
    529: errors.OverloadedError,
}


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_becomes_a_named_error_at_the_first_request(provider, server, status):
    server.will(Reply(provider.protocol.error("it went wrong", status), status))

    error = failure(provider.adapter(server), STATUSES[status])

    assert len(server.requests) == 1  # nobody but the run loop tries again
    assert error.status == status or (provider.name, status) == ("litellm", 422)  # it says 400
    assert error.model_id == provider.model
    assert "it went wrong" in str(error)
    assert f"[HTTP {error.status}]" in str(error)


def refused(protocol: Any, text: str, status: Any, *code: Any) -> Reply:
    return Reply(protocol.error(text, status, *code), status)


FAILURES = {
    "late": (lambda p: Reply(p.text("late"), delay=20), errors.ProviderTimeoutError),
    "dropped": (lambda p: Reply("", drop=True), errors.ProviderConnectionError),
    "cut": (lambda p: Reply('{"choices": ['), errors.MalformedResponseError),
    "no body": (lambda p: Reply(""), errors.MalformedResponseError),
    "a page": (lambda p: Reply("<html>Welcome</html>"), errors.MalformedResponseError),
    "nothing in it": (lambda p: p.empty(), errors.MalformedResponseError),
    "withheld": (lambda p: p.content_filter(), errors.ContentFilterError),
    "a refused prompt": (
        lambda p: refused(p, *reversed(p.filter_error)),
        errors.ContentFilterError,
    ),
    "too long": (lambda p: refused(p, *reversed(p.overflow_error)), errors.ContextOverflowError),
    "an empty purse": (
        lambda p: refused(p, "insufficient_quota: check your plan", 429, "insufficient_quota"),
        errors.QuotaExhaustedError,
    ),
}


@pytest.mark.parametrize("how", FAILURES)
def test_a_failure_is_called_by_its_name_at_the_first_request(provider, server, how):
    reply, kind = FAILURES[how]
    server.will(reply(provider.protocol))

    failure(provider.adapter(server, **({"timeout": 0.5} if how == "late" else {})), kind)

    # A busy machine may read the request after the client has given up.
    wait_until(lambda: server.requests)
    assert len(server.requests) == 1


def test_an_address_where_nobody_listens_is_named(provider, server):
    adapter = provider.adapter(server)
    server.shutdown()
    server.server_close()

    failure(adapter, errors.UnreachableError)


def test_a_storm_is_waited_out_by_the_policy_alone(provider, server):
    protocol = provider.protocol
    server.will(
        Reply(protocol.error("slow", 429), 429, {"Retry-After": "0.1"}),
        Reply(protocol.error("broken", 500), 500),
        Reply(protocol.error("overloaded", 529), 529),
        Reply(protocol.text("late"), delay=20),
        Reply("", drop=True),
        Reply('{"choices": [', status=200),
        protocol.empty(),
        protocol.calls(("get_order", {"order_id": "ünï"}), ("list_orders", {})),
    )
    adapter = provider.adapter(server, timeout=3)
    adapter.policy = CallPolicy(max_attempts=8, base_delay=0.01)

    answer = adapter.chat([user("hi")], tools=TOOLS)

    assert [call["function"]["name"] for call in answer.tool_calls] == ["get_order", "list_orders"]
    assert [entry.get("error_type") for entry in adapter.logs] == [
        *("RateLimitError", "OverloadedError", "OverloadedError", "ProviderTimeoutError"),
        *("ProviderConnectionError", "MalformedResponseError", "MalformedResponseError", None),
    ]
    assert adapter.logs[1]["waited_seconds"] >= 0.1
    assert len(server.requests) == 8
    assert adapter.gather_usage().total_tokens == 120  # what failed is not counted


def test_a_seed_is_sent_where_there_are_seeds(provider, server):
    server.will(provider.protocol.text("ok"))

    provider.adapter(server, seed=11).chat([user("hi")])

    body = server.requests[0].body
    sent = body.get("generationConfig", body).get("seed")
    assert sent == (None if provider.name in ("anthropic", "openai-responses") else 11)


def test_the_key_shows_up_nowhere(provider, server, caplog):
    # At its lowest level LiteLLM logs whatever a server says; that is not ours to prevent.
    caplog.set_level(logging.INFO if provider.name == "litellm" else logging.DEBUG)
    quoting = provider.protocol.error(f"wrong key {CANARY}, really", 401)
    server.will(provider.protocol.text("ok"), Reply(quoting, 401), Reply("", drop=True))
    adapter = provider.adapter(server)

    adapter.chat([user("hi")])
    refused = failure(adapter, errors.AuthenticationError)
    dropped = failure(adapter, errors.ProviderConnectionError)

    seen = [adapter.gather_traces(), adapter.gather_config(), adapter.gather_usage()]
    seen += [str(refused), repr(refused), vars(refused), error_record(refused)]
    seen += [error_record(dropped), caplog.text]
    assert CANARY not in repr(seen)
    assert CANARY in repr([request.headers for request in server.requests])


ADDRESSES = {"google": "GOOGLE_GEMINI_BASE_URL", "litellm": "OPENAI_API_BASE"}
VARIABLES = {"google": "GEMINI_API_KEY or GOOGLE_API_KEY", "litellm": "OPENAI_API_KEY"}


def variable_of(provider: Provider, table: dict[str, str], ending: str) -> str:
    return table.get(provider.name, f"{provider.library.upper()}_{ending}")


@pytest.mark.parametrize("named", ["given", "by its variable"])
def test_a_server_of_ones_own_needs_no_key(provider, server, monkeypatch, named):
    for variable in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(variable)
    server.will(provider.protocol.text("ok"))
    if named == "given":
        adapter = provider.adapter(server, api_key=None)
    else:
        variable = variable_of(provider, ADDRESSES, "BASE_URL")
        monkeypatch.setenv(variable, server.url + provider.path)
        adapter = provider.factory(provider.model)

    assert adapter.generate("hi") == "ok"
    assert len(server.requests) == 1


def test_a_missing_key_is_named_before_any_request(provider, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for found in [found for found in os.environ if found.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(found)

    with pytest.raises(errors.AuthenticationError) as caught:
        provider.factory(provider.model)

    assert variable_of(provider, VARIABLES, "API_KEY") in str(caught.value)
    assert "api_key=" in str(caught.value)
    assert caught.value.fatal_for_run and not caught.value.transient


class City(BaseModel):
    """A model whose field has a default, which not every provider's schema may have."""

    name: str
    people: int = 0


BERN = '{"name": "Bern", "people": 134000}'


def test_a_response_model_uses_the_providers_own_mechanism(provider, server):
    server.will(provider.protocol.text(BERN))

    answer = provider.adapter(server).chat([user("Which?")], response_model=City)

    assert answer.parsed == City(name="Bern", people=134000)
    body = server.requests[0].body
    if provider.name == "google":
        assert body["generationConfig"]["responseMimeType"] == "application/json"
        schema = body["generationConfig"]["responseJsonSchema"]
    elif provider.name == "anthropic":
        schema = body["output_config"]["format"]["schema"]
    elif provider.name == "openai-responses":
        assert body["text"]["format"]["strict"] is True
        schema = body["text"]["format"]["schema"]
    else:
        assert body["response_format"]["json_schema"]["strict"] is True
        schema = body["response_format"]["json_schema"]["schema"]
    assert set(schema["properties"]) == {"name", "people"}
    # Nothing else of the request has changed.
    assert "JSON" not in json.dumps(body.get("messages", body.get("contents", body.get("input"))))


def test_a_server_that_refuses_the_mechanism_is_asked_in_words(provider, server):
    server.will(
        Reply(provider.protocol.error("response format is not supported"), 400),
        provider.protocol.text(f"```json\n{BERN}\n```"),
        provider.protocol.text("Bern"),
        provider.protocol.text(BERN),
    )
    judge = Judge(provider.adapter(server))
    question = Question("place", "Which?", City)

    found = [judge.ask(question, {"task_id": name}) for name in "ab"]

    assert [each.answer for each in found] == [{"name": "Bern", "people": 134000}] * 2
    assert len(server.requests) == 4  # the second answer was not asked for in vain
    assert "matches this JSON schema" in json.dumps(server.requests[1].body)
    assert "Your answer cannot be used" in json.dumps(server.requests[3].body)
    assert judge.model.gather_usage().total_tokens == 3 * 120
    assert [each.usage["total_tokens"] for each in found] == [120, 120]  # one line each request


def test_a_request_that_is_refused_in_words_too_is_not_asked_for_ever(provider, server):
    server.will(*[Reply(provider.protocol.error("no such parameter"), 400)] * 2)

    with pytest.raises(errors.MalformedRequestError, match="no such parameter"):
        provider.adapter(server).chat([user("Which?")], response_model=City)

    assert len(server.requests) == 2


PAGES = Path(__file__).parents[3] / "docs" / "models"
EXAMPLE = re.compile(r"^```py\n(.*?)^```$", re.M | re.S)


def example(page: str) -> str:
    (found,) = EXAMPLE.findall((PAGES / f"{page}.md").read_text(encoding="utf-8"))
    return found


def test_the_example_of_its_page_runs(provider, server, monkeypatch, capsys):
    addresses = {**ADDRESSES, "litellm": "DEEPSEEK_API_BASE"}  # of the provider in the example
    monkeypatch.setenv(variable_of(provider, addresses, "BASE_URL"), server.url + provider.path)
    for key in ("OPENAI", "ANTHROPIC", "GEMINI", "DEEPSEEK"):
        monkeypatch.setenv(f"{key}_API_KEY", "key-1234")
    server.will(provider.protocol.text("Hello!"))

    exec(example(provider.name), {})

    said, number = capsys.readouterr().out.splitlines()
    assert said == "Hello!"
    assert float(number) > 0
    assert len(server.requests) == 1
