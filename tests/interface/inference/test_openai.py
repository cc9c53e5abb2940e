from importlib import import_module
from types import SimpleNamespace

import pytest

from maseval.core.messages import MessageForm, tool_call
from maseval.core.model import resolve_model
from maseval.core.provider_errors import MalformedResponseError
from maseval.interface.inference.openai import OpenAIModelAdapter, UnusableClientError
from maseval.testing.provider_server import OpenAIProtocol
from tests.interface.libraries import needing

pytestmark = needing("openai")

HI = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def test_the_id_leads_to_the_model(server):
    server.will(OpenAIProtocol.text("hello"))

    model = resolve_model("openai/gpt-4.1", base_url=f"{server.url}/v1", api_key="key", seed=7)

    assert model.generate("hi") == "hello"
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer key"
    assert request.body == {"model": "gpt-4.1", "messages": HI, "seed": 7}


def test_the_environment_names_server_and_key(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    server.will(OpenAIProtocol.text("hello"))

    assert resolve_model("gpt-4.1").generate("hi") == "hello"
    assert server.requests[0].headers["authorization"] == "Bearer from-the-environment"


def test_a_strict_server_gets_only_what_the_protocol_knows(server):
    server.will(OpenAIProtocol.text("ok"))
    call = {**tool_call("look", {"at": "é"}, id="c1"), "index": 0}
    conversation = [
        {"role": "user", "content": "hi", "tool_calls": None, "timestamp": "now"},
        {"role": "assistant", "tool_calls": [call], "reasoning": "hm"},
        {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "seen", "error": False},
        {"role": "assistant", "content": "I saw", "tool_calls": None},
        {"role": "assistant", "content": "it", "tool_calls": []},
    ]

    resolve_model("openai/m", base_url=server.url).chat(conversation)

    assert server.requests[0].body["messages"] == [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [tool_call("look", {"at": "é"}, id="c1")],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        {"role": "assistant", "content": "I saw"},
        {"role": "assistant", "content": "it"},
    ]


@pytest.mark.parametrize("form", [MessageForm.NULLS, MessageForm.NO_NULLS])
def test_a_benchmark_may_ask_for_its_own_form_of_messages(server, form):
    server.will(OpenAIProtocol.text("ok"))
    function = {"name": "look", "arguments": "{}"}
    call = {"id": "c1", "name": "look", "function": function, "type": "function"}
    conversation = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "é", "tool_call_id": "c1"},
        {"role": "assistant", "content": "it", "tool_calls": None},
    ]
    model = resolve_model("openai/m", base_url=server.url)
    model.message_form = form

    model.chat(conversation)

    sent = server.requests[0].body["messages"]
    if form is MessageForm.NULLS:
        assert sent == conversation
    else:
        assert sent == [
            {"role": "assistant", "tool_calls": [call]},
            conversation[1],
            {"role": "assistant", "content": "it"},
        ]


@pytest.mark.parametrize(
    "choice", ["auto", "none", "required", {"type": "function", "function": {"name": "look"}}]
)
def test_tools_and_choice_are_sent_as_they_are(server, choice):
    server.will(OpenAIProtocol.text("ok"))

    resolve_model("openai/m", base_url=server.url).chat(HI, tools=[TOOL], tool_choice=choice)

    assert server.requests[0].body["tools"] == [TOOL]
    assert server.requests[0].body["tool_choice"] == choice


def test_what_only_the_server_knows_is_sent_all_the_same(server):
    server.will(OpenAIProtocol.text("ok"))

    resolve_model("openai/m", base_url=server.url, top_k=5, temperature=0).chat(
        HI, {"temperature": None}
    )

    assert server.requests[0].body["top_k"] == 5
    assert "temperature" not in server.requests[0].body


def test_every_kind_of_token_is_counted(server):
    body = OpenAIProtocol.text("ok")
    body["usage"] |= {
        "prompt_tokens_details": {"cached_tokens": 60, "audio_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 8, "audio_tokens": 3},
        "cost": 0.25,
    }
    server.will(body)
    model = resolve_model("openai/m", base_url=server.url)

    assert model.chat(HI).usage == {
        "input_tokens": 100,
        "output_tokens": 20,
        "total_tokens": 120,
        "cached_input_tokens": 60,
        "reasoning_tokens": 8,
        "audio_tokens": 5,
        "cost": 0.25,
    }
    assert model.gather_usage().cost == 0.25


def test_calls_without_ids_get_ids_that_are_new_to_the_conversation(server):
    body = OpenAIProtocol.calls(("look", {}), ("look", {}))
    for call in body["choices"][0]["message"]["tool_calls"]:
        call["id"] = ""
    server.will(body)
    earlier = {"role": "assistant", "tool_calls": [tool_call("look", id="call_0")]}

    answer = resolve_model("openai/m", base_url=server.url).chat([*HI, earlier])

    assert [call["id"] for call in answer.tool_calls] == ["call_1", "call_2"]


def test_a_refusal_is_what_the_model_says(server):
    server.will(OpenAIProtocol.text(None, refusal="I would rather not"))

    assert resolve_model("openai/m", base_url=server.url).generate("hi") == "I would rather not"


def test_the_retries_of_a_given_client_are_switched_off():
    client = import_module("openai").OpenAI(api_key="key-1234", max_retries=5, timeout=3)

    config = OpenAIModelAdapter(client, "m", {"top_p": 1}).gather_config()

    assert config["client_type"] == "OpenAI"
    assert config["client_config"] == {"timeout": 3, "max_retries": 0}
    assert config["default_generation_params"] == {"top_p": 1}


def test_a_time_out_in_parts_is_told_in_parts():
    parts = SimpleNamespace(connect=1, read=2, write=3, pool=4)
    client = SimpleNamespace(create=print, timeout=parts, max_retries=2)

    assert OpenAIModelAdapter(client, "m").gather_config()["client_config"] == {
        "timeout": {"connect": 1, "read": 2, "write": 3, "pool": 4},
        "max_retries": 2,
    }


def answer(**request):
    return {"choices": [{"message": {"content": f"{request.get('model')}"}}]}


def answer_without_model(messages):
    return {"choices": [{"text": f"{len(messages)} message"}]}


@pytest.mark.parametrize(
    ("client", "said"),
    [
        (SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=answer))), "m"),
        (SimpleNamespace(create=answer), "m"),
        (SimpleNamespace(complete=answer_without_model), "1 message"),
        (SimpleNamespace(chat=lambda prompt: None, generate=answer), "m"),
        (answer, "m"),
        (lambda **request: {"said": "so"}, "{'said': 'so'}"),
    ],
)
def test_anything_that_can_be_asked_will_do(client, said):
    assert OpenAIModelAdapter(client, "m").generate("hi") == said


def test_a_client_that_cannot_be_asked_is_a_type_error():
    with pytest.raises(UnusableClientError, match=r"openai\.OpenAI client") as caught:
        OpenAIModelAdapter(SimpleNamespace(create=lambda prompt: None), "m").generate("hi")

    assert isinstance(caught.value, TypeError)


def test_an_error_inside_the_client_stays_what_it_is():
    def create(**request):
        raise TypeError("of its own")

    with pytest.raises(TypeError, match="of its own"):
        OpenAIModelAdapter(SimpleNamespace(create=create), "m").generate("hi")


def test_an_error_in_a_good_answer_is_malformed():
    with pytest.raises(MalformedResponseError, match="boom"):
        OpenAIModelAdapter(lambda **request: {"error": "boom"}, "m").generate("hi")
