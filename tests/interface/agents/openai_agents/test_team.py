"""Handoffs and agents as tools: each agent's own messages and tokens, no call counted twice."""

from importlib import import_module

import pytest

from maseval.interface.agents.openai_agents import OpenAIAgentsAdapter, as_tools
from tests.interface.agents.frameworks import OpenAIAgents
from tests.interface.agents.served import CALLERS, look, served

pytestmark = OpenAIAgents.marks()

LOOK = {"id": "l1", "name": "look", "arguments": {"text": "é", "numbers": []}}
TRANSFER = {"id": "t1", "name": "transfer_to_expert", "arguments": {}}
ASK = {"name": "ask_expert", "arguments": {"input": "What now?"}}


@pytest.fixture(scope="module")
def kind():
    return OpenAIAgents


@pytest.fixture
def sdk():
    return import_module("agents")


@pytest.fixture
def team(sdk, framework):
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


def test_the_hooks_of_an_agent_still_work(sdk, team):
    called = []

    class Own(sdk.AgentHooks):
        async def on_llm_end(self, context, agent, response):
            called.append("answer")

        async def on_tool_end(self, context, agent, tool, result):
            called.append("tool")

    with served(ASK, "Thanks.") as (_, url), served(LOOK, "Seen.") as (_, expert_url):
        agent, expert = team(url, expert_url, "tool", hooks=Own())
        OpenAIAgentsAdapter(expert, "expert")
        OpenAIAgentsAdapter(expert, "expert again")
        agent.run("Help")

    assert called == ["answer", "tool", "answer"]


def test_an_agent_run_by_its_own_adapter_records_its_work_once(team):
    with served("unused") as (_, url), served("Hello.") as (inner, expert_url):
        _, expert = team(url, expert_url, "tool")
        other = OpenAIAgentsAdapter(expert, "expert")
        other.run("Hi")

    assert other.gather_usage().total_tokens == inner.gather_usage().total_tokens
    assert [m["role"] for m in other.get_messages()] == ["system", "user", "assistant"]
