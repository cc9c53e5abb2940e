"""An agent that a tool runs: its own messages and tokens, and no call counted twice."""

from importlib import import_module

import pytest

from maseval.core.usage import Usage
from maseval.interface.agents.pydantic_ai import PydanticAIAgentAdapter, as_tools
from tests.interface.agents.frameworks import PydanticAI
from tests.interface.agents.served import CALLERS, look, served

pytestmark = PydanticAI.marks()

LOOK = {"name": "look", "arguments": {"text": "é", "numbers": []}}
ASK = {"name": "ask", "arguments": {"question": "What now?"}}


@pytest.fixture(scope="module")
def kind():
    return PydanticAI


@pytest.fixture
def team(framework):
    """Makes a leader whose tool asks an expert, with or without its own count of tokens."""
    library = import_module("pydantic_ai")

    def make(url, expert_url, *, shared):
        model = framework.model_at(expert_url)
        expert = library.Agent(model, tools=as_tools([look]), instructions="Know.")
        leader = library.Agent(framework.model_at(url))

        async def ask(ctx, question: str) -> str:
            answer = await expert.run(question, usage=ctx.usage if shared else None)
            return answer.output

        ask.__annotations__["ctx"] = library.RunContext[None]
        leader.tool(ask)
        return PydanticAIAgentAdapter(leader, "leader"), expert

    return make


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("adapted", [True, False])
def test_every_call_is_counted_once_and_where_it_was_made(team, shared, adapted):
    CALLERS.clear()
    with (
        served(*[ASK, "Thanks."] * 2) as (outer, url),
        served(*[LOOK, "Seen."] * 2) as (inner, expert_url),
    ):
        agent, expert = team(url, expert_url, shared=shared)
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


def test_an_agent_run_by_its_own_adapter_records_its_work_once(team):
    with served("unused") as (_, url), served("Hello.") as (inner, expert_url):
        agent, expert = team(url, expert_url, shared=True)
        one, two = (PydanticAIAgentAdapter(expert, name) for name in ("one", "two"))
        one.run("Hi")

    assert one.gather_usage().total_tokens == inner.gather_usage().total_tokens
    assert [m["role"] for m in one.get_messages()] == ["system", "user", "assistant"]
    assert two.gather_usage() == agent.gather_usage() == Usage()
