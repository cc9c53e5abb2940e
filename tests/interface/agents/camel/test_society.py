"""Agents of a society: each one's own messages, steps and tokens."""

import asyncio
from importlib import import_module

import pytest

from maseval.core.usage import Usage
from maseval.interface.agents.camel import CamelAgentAdapter, as_tools
from tests.interface.agents.frameworks import Camel
from tests.interface.agents.served import look, served

pytestmark = Camel.marks()

LOOK = {"name": "look", "arguments": {"text": "é", "numbers": []}}


@pytest.fixture(scope="module")
def kind():
    return Camel


@pytest.fixture
def chat_agent(framework):
    def make(url, tools=()):
        return framework.agent(framework.model_at(url), as_tools(tools), "Help.")

    return make


def test_in_role_playing_each_agent_has_its_own_record(framework):
    with served("Instruct.", loop=True) as (user, one), served("Do.", loop=True) as (clerk, two):
        society = import_module("camel.societies").RolePlaying(
            assistant_role_name="clerk",
            user_role_name="boss",
            task_prompt="Sell a hat",
            with_task_specify=False,
            assistant_agent_kwargs={"model": framework.model_at(two)},
            user_agent_kwargs={"model": framework.model_at(one)},
        )
        first = CamelAgentAdapter(society.assistant_agent, "clerk")
        second = CamelAgentAdapter(society.user_agent, "boss")
        message = society.init_chat()
        for _ in range(2):
            answer, _ = society.step(message)
            message = answer.msg

    assert first.gather_usage() == clerk.gather_usage()
    assert second.gather_usage() == user.gather_usage()
    for adapter in (first, second):
        traces = adapter.gather_traces()
        assert traces["total_steps"] == 2
        assert [entry["step_number"] for entry in traces["logs"]] == [1, 2]
        assert traces["message_count"] > 3
    assert first.logs[0]["query"] == "Instruct."


@pytest.mark.parametrize("way", ["step", "astep"])
def test_a_step_that_others_let_it_take_is_recorded_with_its_calls(way, chat_agent):
    with served(LOOK, "Seen.", loop=True) as (model, url):
        agent = chat_agent(url, [look])
        adapter = CamelAgentAdapter(agent, "clerk")
        if way == "step":
            agent.step("Look")
        else:
            asyncio.run(agent.astep("Look"))
        models = agent.model_backend

    assert adapter.gather_usage() == model.gather_usage()
    assert adapter.gather_traces()["total_tool_calls"] == 1
    assert adapter.get_messages()[-1]["content"] == "Seen."
    assert not hasattr(models, "follower"), "its own models again"


def test_of_several_adapters_the_latest_records_and_one_that_runs_records_alone(chat_agent):
    with served("Hello.", loop=True) as (model, url):
        agent = chat_agent(url)
        one, two = (CamelAgentAdapter(agent, name) for name in ("one", "two"))
        one.run("Hi")
        assert two.gather_usage() == Usage()
        agent.step("Hi")

    total = one.gather_usage().total_tokens + two.gather_usage().total_tokens
    assert total == model.gather_usage().total_tokens
    assert (len(one.logs), len(two.logs)) == (1, 1)
