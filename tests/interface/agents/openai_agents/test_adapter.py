import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from pydantic import BaseModel

from maseval.core.event_loop import run_async
from maseval.core.exceptions import ConfigurationError
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.interface.agents.openai_agents import OpenAIAgentsAdapter, as_tools
from tests.interface.agents.framework import Framework
from tests.interface.agents.served import CALLERS, KEY, NAME, answers, look, served


@pytest.fixture
def sdk() -> Any:
    return import_module("agents")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"text": ', "Error: the arguments are not valid JSON"),
        ("not json", "Error: the arguments are not valid JSON"),
        ('["a"]', 'Error: the arguments must be a JSON object, not ["a"]'),
    ],
)
def test_arguments_that_are_no_json_object_are_told_to_the_model(text, answer, clerk):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": text}}
    with served(call, "I see.") as (model, url):
        assert clerk(url, [look]).run("Look") == "I see."

    (told,) = answers(model)
    assert told.startswith(answer)


def test_the_configuration_tells_of_all_agents(sdk, clerk):
    settings = sdk.ModelSettings(temperature=0.0, extra_headers={"Authorization": f"Bearer {KEY}"})
    agent = clerk("http://localhost:1/v1", [look], limit=5)
    agent.agent.model_settings = settings
    agent.agent.handoffs = [sdk.Agent("boss", model="gpt-4.1")]

    config = json.loads(json.dumps(agent.gather_config()))["openai_agents_config"]

    assert KEY not in json.dumps(config)
    assert config["max_turns"] == 5
    assert [described["name"] for described in config["agents"]] == ["clerk", "boss"]
    assert config["agents"][0]["model"] == NAME
    assert config["agents"][0]["tools"] == ["look"]
    assert config["agents"][0]["handoffs"] == ["boss"]
    assert config["agents"][0]["model_settings"]["temperature"] == 0.0
    assert config["agents"][1]["model"] == "gpt-4.1"


def test_a_tool_that_does_not_exist_is_the_agents_failure_unless_the_sdk_is_told_otherwise(
    sdk, clerk
):
    with served({"name": "fly"}) as (_, url), pytest.raises(AgentGaveUpError, match="fly"):
        clerk(url, [look]).run("Fly")

    config = sdk.RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model")
    with served({"name": "fly"}, "I cannot.") as (_, url):
        assert clerk(url, [look], adapter={"run_config": config}).run("Fly") == "I cannot."


def test_a_failing_tool_is_told_to_the_model_as_the_sdk_does(sdk, clerk):
    def fail() -> str:
        """Fail."""
        raise ValueError("a secret")

    with served({"name": "fail"}, "Sorry.") as (model, url):
        assert clerk(url, [fail]).run("Fail") == "Sorry."

    assert answers(model) == [sdk.default_tool_error_function(None, ValueError())]


def test_after_a_handoff_the_other_agent_goes_on(sdk, framework):
    replies = ["Hello.", {"name": "transfer_to_expert"}, "Expert here.", "Still the expert."]
    with served(*replies) as (model, url):
        expert = sdk.Agent("expert", instructions="Know.", model=framework.model_at(url))
        clerk = sdk.Agent(
            "clerk", instructions="Help.", model=framework.model_at(url), handoffs=[expert]
        )
        agent = OpenAIAgentsAdapter(clerk, "team")
        said = [agent.run(query) for query in ("Hi", "I need more", "And now?")]

    assert said == ["Hello.", "Expert here.", "Still the expert."]
    assert agent.current_agent is expert
    prompts = [request["messages"][0]["content"] for request in model.requests]
    assert prompts == ["Help.", "Help.", "Know.", "Know."]
    asked = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "user"]
    assert asked == ["Hi", "I need more", "And now?"]
    own = [(m["role"], m.get("content")) for m in agent.get_messages()]
    assert own[:4] == [
        *(("system", "Help."), ("user", "Hi"), ("assistant", "Hello.")),
        *(("user", "I need more"),),
    ]
    assert [role for role, _ in own[4:]] == ["assistant", "tool"], "the call that hands over"
    traces = agent.gather_traces()
    assert [(m["role"], m["content"]) for m in traces["members"]["expert"]] == [
        *(("system", "Know."), ("user", "I need more"), ("assistant", "Expert here.")),
        *(("user", "And now?"), ("assistant", "Still the expert.")),
    ]
    assert {name: one["calls"] for name, one in traces["team"].items()} == {"team": 2, "expert": 2}
    total = sum(one["total_tokens"] for one in traces["team"].values())
    assert total == model.gather_usage().total_tokens


class Verdict(BaseModel):
    fair: bool
    why: str


def test_an_answer_that_is_no_text_is_given_as_json(sdk, framework):
    with served('{"fair": true, "why": "été"}') as (_, url):
        agent = sdk.Agent("judge", model=framework.model_at(url), output_type=Verdict)
        assert OpenAIAgentsAdapter(agent, "judge").run("Fair?") == '{"fair":true,"why":"été"}'


def test_a_tool_that_waits_for_approval_is_a_mistake_of_the_set_up(clerk):
    with served({"name": "look"}) as (_, url):
        agent = clerk(url, [look])
        agent.agent.tools[0].needs_approval = True
        with pytest.raises(ConfigurationError, match="approval of: look"):
            agent.run("Look")


def test_nothing_is_traced_unless_asked_for(sdk, clerk):
    traced = []

    class Listener(sdk.TracingProcessor):
        def on_trace_start(self, trace):
            traced.append(trace.name)

        def on_trace_end(self, trace): ...
        def on_span_start(self, span): ...
        def on_span_end(self, span): ...
        def shutdown(self): ...
        def force_flush(self): ...

    sdk.set_trace_processors([Listener()])
    with served("Hello.", "Hello.") as (_, url):
        clerk(url).run("Hi")
        assert traced == []
        clerk(url, adapter={"run_config": sdk.RunConfig(workflow_name="seen")}).run("Hi")
    sdk.set_trace_processors([])

    assert traced == ["seen"]


LOOK = {"id": "l1", "name": "look", "arguments": {"text": "é", "numbers": []}}
TRANSFER = {"id": "t1", "name": "transfer_to_expert", "arguments": {}}
ASK = {"name": "ask_expert", "arguments": {"input": "What now?"}}


@pytest.fixture
def team(sdk: Any, framework: Framework) -> Callable[..., Any]:
    """Makes a leader and an expert that it can reach in one way."""

    def make(url, expert_url, way, **options):
        tools = as_tools([look])
        model = framework.model_at(expert_url)
        expert = sdk.Agent("expert", model=model, instructions="Know.", tools=tools, **options)
        reached = (
            {"handoffs": [expert]}
            if way == "handoff"
            else {"tools": [expert.as_tool("ask_expert", "Ask")]}
        )
        leader = sdk.Agent("leader", model=framework.model_at(url), **reached)
        return OpenAIAgentsAdapter(leader, "leader"), expert

    return make


@pytest.mark.parametrize("adapted", [True, False])
@pytest.mark.parametrize("way", ["handoff", "tool"])
def test_every_call_is_counted_once_and_where_it_was_made(team, way, adapted):
    CALLERS.clear()
    replies = [TRANSFER] if way == "handoff" else [ASK, "Thanks.", ASK, "Thanks again."]
    with (
        served(*replies) as (outer, url),
        served(LOOK, "Seen.", LOOK | {"id": "l2"}, "Seen again.") as (inner, expert_url),
    ):
        agent, expert = team(url, expert_url, way)
        other = OpenAIAgentsAdapter(expert, "expert") if adapted else None
        agent.run("Help")
        agent.run("More")

    assert set(CALLERS) == {"expert"}
    own, others = outer.gather_usage().total_tokens, inner.gather_usage().total_tokens
    if other is None:
        assert agent.gather_usage().total_tokens == own + others
        return
    assert agent.gather_usage().total_tokens == own
    assert other.gather_usage().total_tokens == others
    said = [message for message in other.get_messages() if message["role"] == "assistant"]
    assert said[-1]["content"] == "Seen again."
    assert other.get_messages()[0] | {"timestamp": 0} == {
        **{"role": "system", "content": "Know.", "timestamp": 0}
    }
    results = [message for message in other.get_messages() if message["role"] == "tool"]
    assert "é" in [message["content"] for message in results]
    if way == "tool":
        roles = [message["role"] for message in other.get_messages()]
        assert roles == ["system", "user", "assistant", "tool", "assistant"] * 2


def test_the_hooks_of_a_run_that_others_make_still_work(sdk, framework):
    called = []

    class Own(sdk.RunHooks):
        async def on_llm_end(self, context, agent, response):
            called.append("answer")

        async def on_tool_end(self, context, agent, tool, result):
            called.append("tool")

    with served(LOOK, "Seen.") as (model, url):
        expert = sdk.Agent("expert", model=framework.model_at(url), tools=as_tools([look]))
        adapter = OpenAIAgentsAdapter(expert, "expert")
        run_async(sdk.Runner.run(expert, "Look", hooks=Own()))

    assert called == ["answer", "tool", "answer"]
    assert adapter.gather_usage().total_tokens == model.gather_usage().total_tokens
