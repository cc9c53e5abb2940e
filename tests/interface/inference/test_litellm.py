import logging
from importlib import import_module
from typing import Any

import pytest

from maseval.core.model import resolve_model
from maseval.core.provider_errors import ModelNotFoundError
from maseval.interface.inference import provider
from maseval.interface.inference.litellm import LiteLLMModelAdapter
from maseval.testing.provider_server import OpenAIProtocol, completion
from tests.interface.inference.protocols import AnthropicProtocol
from tests.interface.libraries import QUIET_LITELLM, needing

pytestmark = [QUIET_LITELLM, *needing("litellm")]

HI = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


@pytest.fixture(autouse=True)
def litellm(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    return import_module("litellm")


def test_litellm_tells_the_cost_of_a_model_it_knows(server, litellm):
    body = OpenAIProtocol.text("hello")
    body["model"] = "gpt-4o"
    body["usage"]["prompt_tokens_details"] = {"cached_tokens": 60}
    server.will(body)
    model = resolve_model("litellm/openai/gpt-4o", base_url=server.url, api_key="key-1234", seed=1)

    answer = model.chat(HI, tools=[TOOL], tool_choice="auto")

    rates = litellm.model_cost["gpt-4o"]
    expected = (
        40 * rates["input_cost_per_token"]
        + 60 * rates["cache_read_input_token_cost"]
        + 20 * rates["output_cost_per_token"]
    )
    assert answer.usage["cached_input_tokens"] == 60
    assert model.gather_usage().cost == pytest.approx(expected)
    sent = server.requests[0].body
    assert (sent["seed"], sent["tool_choice"], sent["tools"]) == (1, "auto", [TOOL])


def test_other_providers_are_reached_by_their_names(server, caplog):
    provider.warn_seed_unused.cache_clear()
    caplog.set_level(logging.WARNING, "maseval")
    server.will(AnthropicProtocol.calls(("look", {"at": "me"})))
    name = "litellm/anthropic/claude-sonnet-5-5"

    answer = resolve_model(name, base_url=server.url, api_key="key-1234", seed=1).chat(
        HI, tools=[TOOL]
    )

    assert answer.tool_calls[0]["function"] == {"name": "look", "arguments": '{"at": "me"}'}
    assert server.requests[0].headers["x-api-key"] == "key-1234"
    assert "it runs unseeded" in caplog.text


def test_an_unknown_provider_is_a_model_not_found(capsys):
    with pytest.raises(ModelNotFoundError, match="LLM Provider NOT provided"):
        LiteLLMModelAdapter("nonsense/model", api_key="key-1234").chat(HI)

    assert capsys.readouterr() == ("", "")


def test_the_configuration_tells_litellms_own():
    config = LiteLLMModelAdapter("m", {"api_key": "hidden", "top_p": 1}).gather_config()

    assert config["litellm_global_config"] == {
        "num_retries": None,
        "drop_params": False,
        "verbose": False,
    }
    assert config["default_generation_params"] == {"api_key": "<redacted>", "top_p": 1}


@pytest.mark.parametrize(("policy", "sent"), [(None, None), ("auto", "hm")])
def test_thoughts_go_the_way_that_litellm_knows(server, policy, sent):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "reasoning_content": "hm"}
    server.will(
        completion({**message, "tool_calls": [call]}, "tool_calls"), OpenAIProtocol.text("ok")
    )
    model = resolve_model(
        "litellm/openai/m", base_url=server.url, api_key="key", reasoning_policy=policy
    )
    asked = [{"role": "user", "content": "hi"}]

    answer = model.chat(asked)
    model.chat([*asked, answer.to_message(), {"role": "tool", "tool_call_id": "c1", "content": ""}])

    assert answer.reasoning["text"] == "hm"
    assert server.requests[1].body["messages"][1].get("reasoning_content") == sent
