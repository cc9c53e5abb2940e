import json
import logging
from types import SimpleNamespace

import pytest

from maseval.core.messages import tool_call
from maseval.core.model import resolve_model
from maseval.core.seeding import SeedingError
from maseval.core.usage import StaticPricingCalculator
from maseval.interface.inference import provider
from maseval.interface.inference.anthropic import AnthropicModelAdapter
from maseval.testing.provider_server import ProviderServer
from tests.interface.inference.protocols import AnthropicProtocol, message
from tests.interface.libraries import needing

pytestmark = needing("anthropic")

HI = [{"role": "user", "content": "hi"}]
TOOLS = [
    {"type": "function", "function": {"name": "look", "description": "Look"}},
    {
        "type": "function",
        "function": {"name": "go", "parameters": {"type": "object", "properties": {"to": {}}}},
    },
]


@pytest.fixture
def model(server: ProviderServer) -> AnthropicModelAdapter:
    return resolve_model("anthropic/claude", base_url=server.url, api_key="key-1234")


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def test_a_conversation_takes_anthropics_form(model, server):
    server.will(AnthropicProtocol.text("ok"))
    calls = [tool_call("look", id="a"), tool_call("go", {"to": "Zürich"}, id="b")]
    calls[0]["function"]["arguments"] = "no json"

    model.chat(
        [
            {"role": "system", "content": "One"},
            {"role": "user", "content": "hi"},
            {"role": "system", "content": "Two"},
            {"role": "assistant", "content": "Looking", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "a", "content": "seen"},
            {"role": "tool", "tool_call_id": "b", "content": "gone"},
            {"role": "user", "content": "thanks"},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": [{"type": "text", "text": "bye"}]},
        ],
        {"stop": "###", "max_tokens": 9},
    )

    (request,) = server.requests
    assert request.path == "/v1/messages"
    assert request.body == {
        "model": "claude",
        "max_tokens": 9,
        "stop_sequences": ["###"],
        "system": "One\n\nTwo",
        "messages": [
            {"role": "user", "content": text("hi")},
            {
                "role": "assistant",
                "content": [
                    *text("Looking"),
                    {"type": "tool_use", "id": "a", "name": "look", "input": {}},
                    {"type": "tool_use", "id": "b", "name": "go", "input": {"to": "Zürich"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "seen"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "gone"},
                ],
            },
            {"role": "user", "content": text("thanks")},
            {"role": "user", "content": text("bye")},
        ],
    }


def test_a_conversation_that_opens_with_a_greeting_gets_an_opening(model, server):
    server.will(AnthropicProtocol.text("ok"))

    model.chat([{"role": "assistant", "content": "How can I help?"}, *HI])

    roles = [turn["role"] for turn in server.requests[0].body["messages"]]
    assert roles == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ({"type": "function", "function": {"name": "go"}}, {"type": "tool", "name": "go"}),
    ],
)
def test_tools_and_choice_take_anthropics_form(model, server, choice, sent):
    server.will(AnthropicProtocol.text("ok"))

    model.chat(HI, tools=TOOLS, tool_choice=choice)

    body = server.requests[0].body
    assert body["tool_choice"] == sent
    assert body["tools"] == [
        {
            "name": "look",
            "description": "Look",
            "input_schema": {"type": "object", "properties": {}},
        },
        {
            "name": "go",
            "description": "",
            "input_schema": {"type": "object", "properties": {"to": {}}},
        },
    ]


def test_what_came_from_the_cache_is_input_and_priced_as_such(server):
    body = AnthropicProtocol.text("ok")
    body["usage"] |= {
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 10,
        "output_tokens_details": {"thinking_tokens": 5},
    }
    server.will(body)
    rates = {"input": 1.0, "output": 0.0, "cached_input": 0.1, "cache_creation_input": 2.0}
    prices = StaticPricingCalculator({"claude": rates})
    model = resolve_model("anthropic/claude", base_url=server.url, cost_calculator=prices)

    assert model.chat(HI).usage == {
        "input_tokens": 1110,
        "output_tokens": 20,
        "total_tokens": 1130,
        "cached_input_tokens": 1000,
        "cache_creation_input_tokens": 10,
        "reasoning_tokens": 5,
    }
    assert model.gather_usage().cost == pytest.approx(100 + 1000 * 0.1 + 10 * 2)


def test_thoughts_are_sent_back_with_the_calls_they_led_to(model, server):
    thoughts = [
        {"type": "thinking", "thinking": "hm", "signature": "signed"},
        {"type": "redacted_thinking", "data": "x"},
    ]
    call = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    server.will(message([*thoughts, call], "tool_use"), AnthropicProtocol.text("ok"))

    answer = model.chat(HI, tools=TOOLS)
    result = {"role": "tool", "tool_call_id": "a", "content": "seen"}
    # As a benchmark does that keeps calls in a form of its own.
    again = {"role": "assistant", "content": None, "tool_calls": [tool_call("look", id="a")]}
    model.chat([*HI, again, result], tools=TOOLS)

    assert (answer.content, len(answer.tool_calls)) == (None, 1)
    assert server.requests[1].body["messages"][1]["content"] == [*thoughts, call]


def test_parameters_the_library_does_not_know_reach_the_server(model, server):
    server.will(AnthropicProtocol.text("ok"))

    model.chat(HI, {"temperature": 0.0, "top_k": 3})

    assert (server.requests[0].body["temperature"], server.requests[0].body["top_k"]) == (0.0, 3)


def test_a_seed_is_an_error_of_the_class():
    with pytest.raises(SeedingError, match=r"Anthropic models do not support seeding\."):
        AnthropicModelAdapter(SimpleNamespace(), "claude", seed=1)


def test_a_seeded_run_may_use_the_model_all_the_same(server, caplog):
    provider.warn_seed_unused.cache_clear()
    caplog.set_level(logging.WARNING)
    server.will(AnthropicProtocol.text("ok"), AnthropicProtocol.text("ok"))

    for seed in (1, 2):
        resolve_model("anthropic/claude", base_url=server.url, seed=seed).generate("hi")

    assert "seed" not in json.dumps(server.requests[0].body)
    assert [record.getMessage() for record in caplog.records] == [
        "anthropic takes no seed for model claude: it runs unseeded"
    ]


def test_a_wish_for_json_is_not_sent_since_there_is_no_switch_for_it(model, server):
    server.will(AnthropicProtocol.text("{}"))

    model.chat(HI, {"response_format": {"type": "json_object"}})

    assert "response_format" not in server.requests[0].body


@pytest.mark.parametrize(("policy", "sent"), [("auto", 1), ("keep", 2), ("drop", 0)])
def test_a_policy_says_which_thoughts_are_sent_back(model, server, policy, sent):
    thought = {"type": "thinking", "thinking": "hm", "signature": "signed"}
    call = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    server.will(
        message([thought, call], "tool_use"),
        message([thought, {"type": "text", "text": "Well."}], "end_turn"),
        AnthropicProtocol.text("ok"),
    )
    model.reasoning_policy = policy
    said = [*HI, model.chat(HI, tools=TOOLS).to_message()]
    said.append({"role": "tool", "tool_call_id": "a", "content": "seen"})
    said += [model.chat(said, tools=TOOLS).to_message(), *HI]

    model.chat(said, tools=TOOLS)

    assert json.dumps(server.requests[2].body).count("signed") == sent
    assert [m["reasoning"]["text"] for m in said if "reasoning" in m] == ["hm", "hm"]
