"""The agents of a workflow: each one's own messages and tokens, and no call counted twice."""

from importlib import import_module

import pytest

from maseval.interface.agents.llamaindex import LlamaIndexAgentAdapter, as_tools
from tests.interface.agents.frameworks import LlamaIndex
from tests.interface.agents.served import CALLERS, LOOKING, look, served

pytestmark = LlamaIndex.marks()

HANDOFF = {"name": "handoff", "arguments": {"to_agent": "expert", "reason": "hard"}}


@pytest.fixture(scope="module")
def kind():
    return LlamaIndex


@pytest.fixture
def workflow(framework):
    """Makes a receptionist and an expert with a tool, whose models are at two URLs."""
    agents = import_module("llama_index.core.agent.workflow")

    def make(url, expert_url):
        receptionist = agents.FunctionAgent(
            name="receptionist",
            description="Sees who can help.",
            system_prompt="Receive.",
            llm=framework.model_at(url),
        )
        expert = agents.FunctionAgent(
            name="expert",
            description="Knows.",
            system_prompt="Know.",
            tools=as_tools([look]),
            llm=framework.model_at(expert_url),
        )
        return agents.AgentWorkflow(agents=[receptionist, expert], root_agent="receptionist")

    return make


@pytest.mark.parametrize("adapted", [[], ["expert"], ["receptionist", "expert"]])
def test_every_call_is_counted_once_and_where_it_was_made(workflow, adapted):
    CALLERS.clear()
    with (
        served(HANDOFF) as (front, url),
        served(LOOKING, "Seen.", "Again.") as (back, expert_url),
    ):
        team = workflow(url, expert_url)
        others = {name: LlamaIndexAgentAdapter(team.agents[name], name) for name in adapted}
        agent = LlamaIndexAgentAdapter(team, "team")
        assert agent.run("Help") == "Seen."
        assert agent.run("More") == "Again."

    assert CALLERS == ["expert"]
    total = {"receptionist": front.gather_usage(), "expert": back.gather_usage()}
    own = sum(total[name].total_tokens for name in total if name not in adapted)
    assert agent.gather_usage().total_tokens == own
    for name, other in others.items():
        assert other.gather_usage().total_tokens == total[name].total_tokens
    if "expert" in adapted:
        messages = others["expert"].get_messages()
        assert [message["role"] for message in messages] == [
            *("system", "user", "assistant", "tool", "assistant", "user", "assistant")
        ]
        assert messages[0]["content"] == "Know."
        assert [messages[place]["content"] for place in (1, 4, 5, 6)] == [
            *("Help", "Seen.", "More", "Again.")
        ]


def test_the_whole_conversation_is_the_workflows(workflow):
    with served(HANDOFF) as (_, url), served("Seen.") as (_, expert_url):
        team = workflow(url, expert_url)
        LlamaIndexAgentAdapter(team.agents["expert"], "expert")
        agent = LlamaIndexAgentAdapter(team, "team")
        agent.run("Help")

    speakers = [m["metadata"]["agent"] for m in agent.get_messages() if "metadata" in m]
    assert speakers == ["receptionist", "expert"]
