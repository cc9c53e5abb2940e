import base64
import json

import pytest

from maseval.core.messages import tool_call
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.provider_errors import (
    ContentFilterError,
    MalformedRequestError,
    MalformedResponseError,
    RateLimitError,
)
from maseval.testing.provider_server import ProviderServer, Reply
from tests.interface.inference.protocols import GoogleProtocol, candidate
from tests.interface.libraries import needing

pytestmark = needing("google.genai")

HI = [{"role": "user", "content": "hi"}]
TOOLS = [
    {"type": "function", "function": {"name": "look", "description": "Look"}},
    {
        "type": "function",
        "function": {
            "name": "go",
            "parameters": {"type": "object", "properties": {"to": {"type": "string"}}},
        },
    },
]


@pytest.fixture
def model(server: ProviderServer) -> ModelAdapter:
    return resolve_model("google/gemini", base_url=server.url, api_key="key-1234", seed=3)


def test_a_conversation_takes_googles_form(model, server):
    server.will(GoogleProtocol.text("ok"))

    model.chat(
        [
            {"role": "system", "content": "One"},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "Looking", "tool_calls": [tool_call("look", id="a")]},
            {"role": "tool", "tool_call_id": "a", "content": "seen"},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": "thanks"},
        ],
        {"stop": "###", "max_tokens": 9},
    )

    (request,) = server.requests
    assert request.path.endswith("/models/gemini:generateContent")
    assert request.headers["x-goog-api-key"] == "key-1234"
    body = request.body
    assert body["systemInstruction"]["parts"] == [{"text": "One"}]
    config = {"seed": 3, "stopSequences": ["###"], "maxOutputTokens": 9}
    assert body["generationConfig"] == config
    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "hi"}]},
        {
            "role": "model",
            "parts": [{"text": "Looking"}, {"functionCall": {"name": "look", "args": {}}}],
        },
        {
            "role": "function",
            "parts": [{"functionResponse": {"name": "look", "response": {"result": "seen"}}}],
        },
        {"role": "user", "parts": [{"text": "thanks"}]},
    ]


def test_results_go_back_in_one_entry_under_the_names_of_their_functions(model, server):
    server.will(GoogleProtocol.calls(("look", {}), ("look", {})), GoogleProtocol.text("ok"))

    answer = model.chat(HI, tools=TOOLS)
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": str(number)}
        for number, call in enumerate(answer.tool_calls)
    ]
    model.chat([*HI, answer.to_message(), *results], tools=TOOLS)

    assert [call["id"] for call in answer.tool_calls] == ["call_0_look", "call_1_look"]
    entry = server.requests[1].body["contents"][-1]
    assert [part["functionResponse"]["name"] for part in entry["parts"]] == ["look", "look"]
    assert [part["functionResponse"]["response"]["result"] for part in entry["parts"]] == ["0", "1"]


def test_ids_stay_unique_in_a_long_conversation(model, server):
    server.will(GoogleProtocol.calls(("look", {})))
    earlier = {"role": "assistant", "tool_calls": [tool_call("look", id="call_0_look")]}

    (call,) = model.chat([*HI, earlier], tools=TOOLS).tool_calls

    assert call["id"] == "call_1_look"


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (
            {"type": "function", "function": {"name": "go"}},
            {"mode": "ANY", "allowedFunctionNames": ["go"]},
        ),
    ],
)
def test_tools_and_choice_take_googles_form(model, server, choice, sent):
    server.will(GoogleProtocol.text("ok"))

    model.chat(HI, tools=TOOLS, tool_choice=choice)

    body = server.requests[0].body
    assert body["toolConfig"]["functionCallingConfig"] == sent
    (tool,) = body["tools"]
    assert [declared["name"] for declared in tool["functionDeclarations"]] == ["look", "go"]
    parameters = TOOLS[1]["function"]["parameters"]
    assert tool["functionDeclarations"][1]["parameters_json_schema"] == parameters


def test_thoughts_are_no_text_but_count_as_output(model, server):
    body = candidate([{"text": "hm", "thought": True}, {"text": "Hello"}])
    body["usageMetadata"] = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 7,
        "totalTokenCount": 127,
    }
    server.will(body)

    answer = model.chat(HI)

    assert answer.content == "Hello"
    assert answer.usage == {
        "input_tokens": 100,
        "output_tokens": 27,
        "total_tokens": 127,
        "cached_input_tokens": 60,
        "reasoning_tokens": 7,
    }


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("SAFETY", ContentFilterError), ("MALFORMED_FUNCTION_CALL", MalformedResponseError)],
)
def test_a_reason_to_stop_may_be_a_failure(model, server, reason, kind):
    server.will(candidate([], reason))

    with pytest.raises(kind, match=reason):
        model.chat(HI)


def test_a_wait_told_in_the_body_is_heard(model, server):
    body = GoogleProtocol.error("slow", 429, "RESOURCE_EXHAUSTED")
    body["error"]["details"] = [{"@type": "google.rpc.RetryInfo", "retryDelay": "17.5s"}]
    server.will(Reply(body, 429))

    with pytest.raises(RateLimitError, match="RESOURCE_EXHAUSTED: slow") as caught:
        model.chat(HI)

    assert caught.value.retry_after == 17.5


def test_an_unknown_parameter_is_a_malformed_request(model, server):
    with pytest.raises(MalformedRequestError, match="warmth"):
        model.chat(HI, warmth=3)

    assert server.requests == []


def test_a_wish_for_json_takes_googles_form(model, server):
    server.will(GoogleProtocol.text("{}"))

    model.chat(HI, {"response_format": {"type": "json_object"}})

    assert server.requests[0].body["generationConfig"]["responseMimeType"] == "application/json"


@pytest.mark.parametrize(("policy", "sent"), [(None, 1), ("keep", 1), ("drop", 0)])
def test_a_policy_says_whether_signatures_are_sent_back(model, server, policy, sent):
    signature = base64.b64encode(b"signed").decode()
    call = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": signature}
    server.will(candidate([{"text": "hm", "thought": True}, call]), GoogleProtocol.text("ok"))
    if policy is not None:
        model.reasoning_policy = policy

    answer = model.chat(HI, tools=TOOLS)
    model.chat([*HI, answer.to_message()], tools=TOOLS)

    assert (answer.content, answer.reasoning["text"]) == (None, "hm")
    assert json.loads(json.dumps(answer.reasoning)) == answer.reasoning
    sent_again = json.dumps(server.requests[1].body)
    assert sent_again.count(signature) == sent and '"hm"' not in sent_again
