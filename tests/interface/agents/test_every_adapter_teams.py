"""An agent that works for another one is on record whether or not it has an adapter of its own."""

import pytest

from maseval.core.outcome import RecordedReport
from maseval.core.usage import TokenUsage
from tests.interface.agents.frameworks import LangGraph, OpenAIAgents, PydanticAI, each
from tests.interface.agents.served import CALLERS, LOOKING, look, served


class TokenPrice:
    """Each token costs a dollar, whatever the model."""

    def calculate_cost(self, usage: TokenUsage, model_id: str) -> float:
        return float(usage.total_tokens)


@pytest.mark.parametrize("adapted", [True, False])
def test_who_did_what_is_told_in_order_of_time_and_no_token_is_lost(framework, say, adapted):
    CALLERS.clear()
    with (
        served(framework.asking, say("Thanks.")) as (outer, url),
        served(LOOKING, say("Seen.")) as (inner, member_url),
    ):
        member = framework.member(member_url, [look])
        expert = type(framework).adapter(member, "expert") if adapted else None
        leader = framework.led_by(url, member)
        assert leader.run("Help") == "Thanks."

    name = "expert" if adapted else framework.member_name
    assert [name] == CALLERS
    adapters = [leader, *([expert] if expert else [])]
    used = sum(adapter.gather_usage().total_tokens for adapter in adapters)
    assert used == outer.gather_usage().total_tokens + inner.gather_usage().total_tokens
    for adapter in adapters:
        adapter.use_prices(TokenPrice())
    assert sum(adapter.gather_usage().cost for adapter in adapters) == used
    traces = {adapter.name: adapter.gather_traces() for adapter in adapters}
    events = RecordedReport({"traces": {"agents": traces}}).events()
    events = [event for event in events if event.entry.raw["role"] != "system"]
    assert [(event.agent, event.entry.raw["role"]) for event in events] == [
        *(("clerk", "user"), ("clerk", "assistant")),
        *((name, "user"), (name, "assistant"), (name, "tool"), (name, "assistant")),
        *(("clerk", "tool"), ("clerk", "assistant")),
    ]
    assert "What now?" in next(e.entry.content for e in events if e.agent == name)


@pytest.mark.parametrize(
    "kind", each(lambda kind: kind in (LangGraph, OpenAIAgents, PydanticAI)), indirect=True
)
def test_each_member_has_its_own_calls_and_tokens_as_the_servers_counted_them(framework, say):
    with (
        served(framework.asking, say("Thanks.")) as (outer, url),
        served(LOOKING, say("Seen.")) as (inner, member_url),
    ):
        leader = framework.led_by(url, framework.member(member_url, [look]))
        assert leader.run("Help") == "Thanks."

    name, counted = framework.member_name, {"clerk": outer, framework.member_name: inner}
    team = leader.gather_traces()["team"]
    assert {one: team[one]["total_tokens"] for one in team} == {
        one: server.gather_usage().total_tokens for one, server in counted.items()
    }
    assert {one: team[one]["calls"] for one in team} == {"clerk": 2, name: 2}
    assert all(0 < each["seconds"] < 60 for each in team.values())
    total = sum(each["total_tokens"] for each in team.values())
    assert total == leader.gather_usage().total_tokens


@pytest.mark.parametrize("kind", each(lambda kind: kind is LangGraph), indirect=True)
def test_what_a_graph_is_told_beside_its_state_stands_first(framework, say, clerk):
    with served(say("Hello.")) as (model, url):
        agent = clerk(url)
        agent.run("Hi")

    told = model.requests[0]["messages"][0]
    assert told["role"] == "system"
    messages = agent.gather_traces()["messages"]
    assert [each["role"] for each in messages] == ["system", "user", "assistant"]
    assert messages[0]["content"] == told["content"]
    times = [each["timestamp"] for each in messages]
    assert times == sorted(times)
