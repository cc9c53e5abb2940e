import json
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from maseval.core.messages import MessageForm, tool_call
from maseval.core.model import resolve_model
from maseval.core.provider_errors import MalformedResponseError
from maseval.interface.inference.chat_completions import strict_schema
from maseval.interface.inference.openai import OpenAIModelAdapter, UnusableClientError
from maseval.testing.provider_server import OpenAIProtocol, completion
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


def answer(**request: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": f"{request.get('model')}"}}]}


@pytest.mark.parametrize(
    ("client", "said"),
    [
        (SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=answer))), "m"),
        (SimpleNamespace(create=answer), "m"),
        (SimpleNamespace(complete=lambda messages: {"choices": [{"text": "so"}]}), "so"),
        (SimpleNamespace(chat=lambda prompt: None, generate=answer), "m"),
        (answer, "m"),
        (lambda **request: {"said": "so"}, "{'said': 'so'}"),
    ],
)
def test_anything_that_can_be_asked_will_do(client, said):
    assert OpenAIModelAdapter(client, "m").generate("hi") == said


def test_a_client_that_cannot_be_asked_and_an_error_in_a_good_answer_have_their_names():
    with pytest.raises(UnusableClientError, match=r"openai\.OpenAI client") as caught:
        OpenAIModelAdapter(SimpleNamespace(create=lambda prompt: None), "m").generate("hi")
    assert isinstance(caught.value, TypeError)
    with pytest.raises(MalformedResponseError, match="boom"):
        OpenAIModelAdapter(lambda **request: {"error": "boom"}, "m").generate("hi")


def thinking(**thought: str) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return completion(
        {"role": "assistant", "content": None, "tool_calls": [call], **thought}, "tool_calls"
    )


DETAILS = [{"type": "reasoning.encrypted", "data": "x"}]


@pytest.mark.parametrize(
    ("thought", "text"),
    [
        ({"reasoning_content": "hm"}, "hm"),  # DeepSeek, Kimi, Qwen, SGLang, earlier vLLM
        ({"reasoning": "hm"}, "hm"),  # vLLM, Ollama
        ({"reasoning": "hm", "reasoning_details": DETAILS}, "hm"),  # OpenRouter
    ],
)
@pytest.mark.parametrize("form", MessageForm)
def test_thoughts_are_sent_back_as_they_came_within_a_turn(server, thought, text, form):
    server.will(thinking(**thought), *[OpenAIProtocol.text("ok")] * 2)
    model = resolve_model("openai/m", base_url=server.url, reasoning_policy="auto")
    model.message_form = form
    turn = [*HI, model.chat(HI).to_message(), {"role": "tool", "tool_call_id": "c1", "content": ""}]

    model.chat(turn)
    model.chat([*turn, *HI])

    assert turn[1]["reasoning"]["text"] == text
    within, later = (request.body["messages"][1] for request in server.requests[1:])
    assert {key: within.get(key) for key in thought} == thought
    assert not thought.keys() & later.keys()
    # What is maseval's own stays here.
    assert '"key"' not in json.dumps(within) and '"model"' not in json.dumps(within)


@pytest.mark.parametrize("form", MessageForm)
def test_by_default_thoughts_are_kept_and_not_sent(server, form):
    server.will(thinking(reasoning_content="hm"), OpenAIProtocol.text("ok"))
    model = resolve_model("openai/m", base_url=server.url)
    model.message_form = form

    answer = model.chat(HI)
    model.chat([*HI, answer.to_message()])

    assert answer.reasoning == {"text": "hm", "key": "reasoning_content", "model": "m"}
    assert "hm" not in json.dumps(server.requests[1].body)


# A part of the output, as OpenAI counts; apart from it, as xAI does.
@pytest.mark.parametrize("answered", [70, 20])
def test_reasoning_counts_once_as_output(server, answered):
    counts = {"prompt_tokens": 100, "completion_tokens": answered, "total_tokens": 170}
    details = {"completion_tokens_details": {"reasoning_tokens": 50}}
    server.will({**OpenAIProtocol.text("ok"), "usage": {**counts, **details}})

    usage = resolve_model("openai/m", base_url=server.url).chat(HI).usage

    assert usage == {
        "input_tokens": 100,
        "output_tokens": 70,
        "total_tokens": 170,
        "reasoning_tokens": 50,
    }


class Thing(BaseModel):
    """A model with everything that a strict schema cannot have as it is."""

    class Part(BaseModel):
        """What an optional field refers to."""

        default: str = "x"

    kind: Literal["a", "b"] = "a"
    part: Part | None = Field(None, description="a part")


def test_a_strict_schema_names_all_keys_and_forbids_others():
    schema = strict_schema(Thing.model_json_schema())

    part = schema["$defs"]["Part"]
    assert part["properties"].keys() == {"default"} and part["required"] == ["default"]
    assert schema["required"] == ["kind", "part"] and schema["additionalProperties"] is False
    assert "default" not in schema["properties"]["kind"]


def test_a_free_form_is_sent_as_it_is(server):
    class Free(BaseModel):
        """A model with keys that nobody knows."""

        counts: dict[str, int]

    server.will(OpenAIProtocol.text('{"counts": {"a": 1}}'))

    model = resolve_model("openai/m", base_url=server.url)

    assert model.chat([{"role": "user", "content": "hi"}], response_model=Free).parsed.counts == {
        "a": 1
    }
    assert server.requests[0].body["response_format"]["json_schema"]["strict"] is False
