import json
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from maseval.core import provider_errors
from maseval.core.exceptions import ConfigurationError
from maseval.core.usage import StaticPricingCalculator
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.interface.agents.pydantic_ai import PydanticAIAgentAdapter, as_tools
from tests.interface.agents.frameworks import PydanticAI
from tests.interface.agents.served import (
    CALLERS,
    FAILURES,
    KEY,
    LOOKING,
    NAME,
    answers,
    look,
    served,
)


@pytest.fixture
def library() -> ModuleType:
    return import_module("pydantic_ai")


@pytest.mark.parametrize("text", ['{"text": ', "not json", '["a"]'])
def test_arguments_that_are_no_json_object_are_refused_as_the_framework_does(text, clerk):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": text}}
    with served(call, LOOKING, "I see.") as (model, url):
        assert clerk(url, [look]).run("Look") == "I see."

    refused, answered = answers(model)
    assert json.loads(refused)["error"]
    assert answered == "é"

    again = {**call, "id": "c2"}
    with served(call, again) as (_, url), pytest.raises(AgentGaveUpError, match="max retries"):
        clerk(url, [look]).run("Look")


def test_the_price_is_the_frameworks_unless_a_calculator_is_given(library, framework):
    counted = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
    mine = StaticPricingCalculator({"gpt-4.1": {"input": 1.0, "output": 0.0}})
    with served("Hello.", name="gpt-4.1", usage=counted, loop=True) as (_, url):
        agent = library.Agent(framework.model_at(url, "gpt-4.1"))
        theirs = PydanticAIAgentAdapter(agent, "one")
        ours = PydanticAIAgentAdapter(agent, "two", cost_calculator=mine)
        for adapter in (theirs, ours):
            adapter.run("Hi")
            adapter.run("Hi")

    assert 0.0 < theirs.gather_usage().cost < 1.0
    assert ours.gather_usage().cost == 2000.0


def test_the_configuration_tells_of_agent_and_model(clerk):
    settings = {"temperature": 0.0, "extra_headers": {"Authorization": f"Bearer {KEY}"}}
    with served("Hello.") as (_, url):
        agent = clerk(url, [look], model_settings=settings)
        agent.agent.name = "Ann"
        agent.run("Hi")

    config = json.loads(json.dumps(agent.gather_config()))["pydantic_ai_config"]

    assert KEY not in json.dumps(config)
    assert config["agent_name"] == "Ann" and config["model"] == NAME
    assert config["system_prompt"] == "Help."
    assert config["tools"] == ["look"]
    assert config["model_settings"]["temperature"] == 0.0


def test_if_every_model_of_a_fallback_fails_it_is_the_providers_failure(library, framework, server):
    fallback = import_module("pydantic_ai.models.fallback").FallbackModel
    broken, _ = FAILURES[1]
    server.will(broken, broken)
    url = f"{server.url}/v1"
    agent = library.Agent(fallback(framework.model_at(url, "one"), framework.model_at(url, "two")))

    with pytest.raises(provider_errors.OverloadedError):
        PydanticAIAgentAdapter(agent, "clerk").run("Hi")


def test_a_tool_that_does_not_exist_can_be_missed_once(clerk):
    with served({"name": "fly"}, "I cannot.") as (model, url):
        assert clerk(url, [look]).run("Fly") == "I cannot."
    assert "fly" in answers(model)[0]

    with served({"name": "fly"}, {"name": "fly"}) as (_, url), pytest.raises(AgentGaveUpError):
        clerk(url, [look]).run("Fly")


def test_a_function_that_cannot_take_the_arguments_is_tried_again(clerk):
    wrong = {"name": "look", "arguments": {"text": "é"}}
    with served(wrong, LOOKING, "Done.") as (model, url):
        assert clerk(url, [look]).run("Look") == "Done."

    refused, answered = answers(model)
    assert "missing a required argument: 'numbers'" in refused
    assert answered == "é"


def test_a_failing_tool_fails_the_turn_as_in_the_framework(clerk):
    def fail() -> str:
        """Fail."""
        raise ValueError("out of order")

    with served({"name": "fail"}) as (_, url), pytest.raises(ValueError, match="out of order"):
        clerk(url, [fail]).run("Fail")


class Verdict(BaseModel):
    fair: bool
    why: str


def test_an_answer_that_is_no_text_is_given_as_json(library, framework):
    verdict = {"fair": True, "why": "été"}
    with served({"name": "final_result", "arguments": verdict}) as (_, url):
        agent = PydanticAIAgentAdapter(
            library.Agent(framework.model_at(url), output_type=Verdict), "judge"
        )
        assert agent.run("Fair?") == '{"fair":true,"why":"été"}'


def test_a_tool_that_waits_for_approval_is_a_mistake_of_the_set_up(library, framework):
    waiting = library.Tool(look, requires_approval=True)
    either = [str, library.DeferredToolRequests]
    with served(LOOKING) as (_, url):
        agent = library.Agent(framework.model_at(url), tools=[waiting], output_type=either)
        with pytest.raises(ConfigurationError, match="its calls to: look"):
            PydanticAIAgentAdapter(agent, "clerk").run("Look")


ASK = {"name": "ask", "arguments": {"question": "What now?"}}


@pytest.fixture
def team(framework: PydanticAI) -> Callable[..., Any]:
    """Makes a leader whose tool asks an expert that counts its tokens as the leader's."""
    library = import_module("pydantic_ai")

    def make(url, expert_url):
        model = framework.model_at(expert_url)
        expert = library.Agent(model, tools=as_tools([look]), instructions="Know.")
        leader = library.Agent(framework.model_at(url))

        async def ask(ctx, question: str) -> str:
            answer = await expert.run(question, usage=ctx.usage)
            return answer.output

        ask.__annotations__["ctx"] = library.RunContext[None]
        leader.tool(ask)
        return PydanticAIAgentAdapter(leader, "leader"), expert

    return make


@pytest.mark.parametrize("adapted", [True, False])
def test_every_call_is_counted_once_and_where_it_was_made(team, adapted):
    CALLERS.clear()
    with (
        served(*[ASK, "Thanks."] * 2) as (outer, url),
        served(*[LOOKING, "Seen."] * 2) as (inner, expert_url),
    ):
        agent, expert = team(url, expert_url)
        other = PydanticAIAgentAdapter(expert, "expert") if adapted else None
        agent.run("Help")
        agent.run("More")

    assert set(CALLERS) == {"expert"}
    own, others = outer.gather_usage().total_tokens, inner.gather_usage().total_tokens
    if other is None:
        assert agent.gather_usage().total_tokens == own + others
        return
    assert agent.gather_usage().total_tokens == own
    assert other.gather_usage().total_tokens == others
    roles = [message["role"] for message in other.get_messages()]
    assert roles == ["system", "user", "assistant", "tool", "assistant"] * 2
    assert other.get_messages()[1]["content"] == "What now?"
    assert other.gather_traces()["message_count"] == 10
