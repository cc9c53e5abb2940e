"""OpenAI's Responses API, through the library and a local server."""

from typing import Any

import pytest

from maseval.core import provider_errors as errors
from maseval.core.messages import tool_call
from maseval.core.model import resolve_model
from maseval.interface.inference.openai import UnusableClientError
from maseval.interface.inference.openai_responses import OpenAIResponsesModelAdapter
from maseval.testing.provider_server import ProviderServer, Reply
from tests.interface.inference.protocols import ResponsesProtocol, response
from tests.interface.libraries import needing

pytestmark = needing("openai")

HI = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "secret",
}
(CALL,) = ResponsesProtocol.calls(("look", {}))["output"]
(SPOKEN,) = ResponsesProtocol.text("Well.")["output"]


def model_at(server: ProviderServer, **options: Any) -> OpenAIResponsesModelAdapter:
    return resolve_model("openai-responses/gpt-5", base_url=f"{server.url}/v1", **options)


def test_a_conversation_takes_the_form_of_the_api(server):
    server.will(ResponsesProtocol.text("ok"))
    conversation = [
        {"role": "system", "content": "Be brief."},
        *HI,
        {"role": "assistant", "content": "Look:", "tool_calls": [tool_call("look", id="c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    ]

    model_at(server, max_tokens=9, reasoning_effort="low").chat(
        conversation, tools=[TOOL], tool_choice={"type": "function", "function": {"name": "look"}}
    )

    assert server.requests[0].path == "/v1/responses"
    assert server.requests[0].body == {
        "model": "gpt-5",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 9,
        "reasoning": {"effort": "low"},
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "Look:"},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        ],
        "tools": [
            {
                "type": "function",
                "name": "look",
                "description": "",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
        "tool_choice": {"type": "function", "name": "look"},
    }


def test_what_the_model_thought_goes_back_encrypted_and_in_its_place(server):
    second = {**THOUGHT, "id": "rs_2"}
    server.will(
        response([THOUGHT, SPOKEN, second, CALL]), ResponsesProtocol.text("ok"), Reply({}, 418)
    )
    model = model_at(server)
    answer = model.chat(HI, tools=[TOOL])
    turn = [*HI, answer.to_message(), {"role": "tool", "tool_call_id": "id_0", "content": "seen"}]

    model.chat(turn)

    assert answer.reasoning["text"] == "hm\nhm" and answer.content == "Well."
    assert server.requests[1].body["input"][1:-1] == [
        THOUGHT,
        {"role": "assistant", "content": "Well."},
        second,
        {"type": "function_call", "call_id": "id_0", "name": "look", "arguments": "{}"},
    ]


@pytest.mark.parametrize(("policy", "sent"), [(None, 0), ("auto", 0), ("keep", 1), ("drop", 0)])
def test_thoughts_of_earlier_turns_are_left_out_unless_all_are_kept(server, policy, sent):
    server.will(response([THOUGHT, CALL]), ResponsesProtocol.text("ok"))
    model = model_at(server, reasoning_policy=policy)
    turn = [*HI, model.chat(HI).to_message()]
    turn.append({"role": "tool", "tool_call_id": "id_0", "content": "seen"})

    model.chat([*turn, *HI])

    assert server.requests[1].body["input"].count(THOUGHT) == sent


def test_a_thought_that_the_server_would_have_to_find_again_is_not_sent(server):
    bare = {key: value for key, value in THOUGHT.items() if key != "encrypted_content"}
    server.will(response([bare, CALL]), ResponsesProtocol.text("ok"))
    model = model_at(server)

    model.chat([*HI, model.chat(HI).to_message()])

    assert [item.get("type") for item in server.requests[1].body["input"]] == [
        None,
        "function_call",
    ]


def test_a_model_that_does_not_think_is_asked_without_encryption(server):
    refusal = ResponsesProtocol.error("Encrypted content is not supported with this model.")
    server.will(Reply(refusal, 400), *[ResponsesProtocol.text("ok")] * 2)
    model = model_at(server)

    assert [model.generate("hi"), model.generate("hi")] == ["ok", "ok"]

    assert ["include" in request.body for request in server.requests] == [True, False, False]


def test_reasoning_and_cached_tokens_are_parts_of_the_sums(server):
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 15},
        "total_tokens": 120,
    }
    server.will({**ResponsesProtocol.text("ok"), "usage": usage})

    assert model_at(server).chat(HI).usage == {
        "input_tokens": 100,
        "output_tokens": 20,
        "total_tokens": 120,
        "cached_input_tokens": 40,
        "reasoning_tokens": 15,
    }


def test_a_refusal_is_what_the_model_says(server):
    server.will(ResponsesProtocol.text(None, content=[{"type": "refusal", "refusal": "I won't."}]))

    assert model_at(server).chat(HI).content == "I won't."


def test_an_answer_that_was_cut_off_says_why(server):
    incomplete = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    server.will({**ResponsesProtocol.text("Wel"), **incomplete})

    answer = model_at(server).chat(HI)

    assert (answer.content, answer.stop_reason) == ("Wel", "max_output_tokens")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rate_limit_exceeded", errors.RateLimitError),
        ("server_error", errors.OverloadedError),
        ("invalid_prompt", errors.MalformedRequestError),
        ("something_new", errors.OverloadedError),
    ],
)
def test_a_failure_that_comes_as_an_answer_has_its_name(server, code, kind):
    failed = {**response([]), "status": "failed", "error": {"code": code, "message": "sorry"}}
    server.will(*[failed] * 6)

    with pytest.raises(errors.ProviderError, match=f"{code}: sorry") as caught:
        model_at(server).chat(HI)

    assert type(caught.value) is kind


def test_a_client_without_the_api_is_refused():
    with pytest.raises(UnusableClientError, match=r"has no responses\.create"):
        OpenAIResponsesModelAdapter(object(), "gpt-5")
