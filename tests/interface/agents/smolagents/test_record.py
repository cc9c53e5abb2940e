"""Runs of an agent that its adapter did not make are on record, and none counts twice."""

import copy
from importlib import import_module
from typing import Any

import pytest

from maseval import AgentCallback, ComponentRegistry
from maseval.core.agent import AgentAdapter
from maseval.core.clock import Clock
from maseval.core.usage import TokenUsage, Usage
from maseval.interface.agents.smolagents import SmolAgentAdapter, as_tools
from tests.interface.agents.frameworks import Smolagents
from tests.interface.agents.served import LOOKING, look, served

say = Smolagents.say


def record_of(adapter: SmolAgentAdapter) -> tuple[list[dict[str, Any]], list[str], TokenUsage]:
    steps = [entry["step_type"] for entry in adapter.logs]
    return adapter.openai_messages().to_openai_format()[1:], steps, adapter.gather_usage()


@pytest.mark.parametrize("kind_of_agent", ["ToolCallingAgent", "CodeAgent"])
@pytest.mark.parametrize("adapted_before", [True, False])
def test_an_adapter_shows_a_run_that_it_did_not_make(
    framework, clerk, kind_of_agent, adapted_before
):
    replies = [{**LOOKING, "id": "c1"}, {**say("Seen."), "id": "c2"}]
    if kind_of_agent == "CodeAgent":
        replies = [
            "<code>\nprint(look('é', []))\n</code>",
            "<code>\nfinal_answer('Seen.')\n</code>",
        ]
    with served(*replies * 2) as (model, url):
        own = clerk(url, [look], kind=kind_of_agent)
        own.run("Look")
        model_of_agent = framework.model_at(url)
        agent = framework.agent(model_of_agent, as_tools([look]), "Help.", kind=kind_of_agent)
        early = SmolAgentAdapter(agent, "early") if adapted_before else None
        agent.run("Look")
        adapter = early or SmolAgentAdapter(agent, "late")

    messages, steps, usage = record_of(adapter)
    assert [m["role"] for m in messages] == [m["role"] for m in record_of(own)[0]]
    assert messages[-1] == {"role": "assistant", "content": "Seen."}
    assert "é" in messages[2]["content"]
    assert steps == ["TaskStep", "ActionStep", "ActionStep"]
    assert usage == own.gather_usage()
    assert adapter.gather_traces()["total_steps"] == 2
    assert adapter.get_messages().to_list() == own.get_messages().to_list()
    assert usage + own.gather_usage() == model.gather_usage()


def test_a_run_between_those_of_the_adapter_is_part_of_its_conversation(clerk):
    with served(say("One."), say("Two."), say("Three.")) as (model, url):
        worker = clerk(url)
        worker.run("Hi")
        worker.agent.run("Go on", reset=False)
        worker.run("And on")

    assert worker.gather_usage() == model.gather_usage()
    asked = [m["content"] for m in worker.openai_messages() if m["role"] == "user"]
    assert asked == ["Hi", "Go on", "And on"]


def test_a_run_that_no_adapter_made_counts_once(framework):
    with served(say("One.")) as (model, url):
        agent = framework.agent(framework.model_at(url), [], "Help.")
        agent.run("Hi")
    registry = ComponentRegistry()
    for name in ("first", "second"):
        registry.register("agents", name, SmolAgentAdapter(agent, name))

    registry.collect_usage()
    assert registry.total_usage.total_tokens == model.gather_usage().total_tokens


def test_a_repetition_does_not_count_the_runs_of_another(clerk):
    first, second = Clock(), Clock()
    with served(say("One."), say("Two.")) as (model, url):
        agent = clerk(url).agent
        with first.active():
            worker = SmolAgentAdapter(agent, "worker")
            worker.run("Hi")
        with second.active():
            other = SmolAgentAdapter(agent, "other")
            assert [m["role"] for m in other.openai_messages()] == ["system"]
            assert other.gather_usage() == Usage() and other.logs == []
            other.run("Ho")

    assert worker.openai_messages()[-1]["content"] == "One."
    assert other.openai_messages()[-1]["content"] == "Two."
    assert worker.gather_usage() + other.gather_usage() == model.gather_usage()


def test_each_adapter_continues_its_own_conversation(framework, clerk):
    with served(say("One."), say("Two."), say("Three.")) as (model, url):
        first = clerk(url)
        second = SmolAgentAdapter(first.agent, "second")
        first.run("Hi")
        second.run("Ho")
        first.run("Ha")

    assert framework.asked(model.requests[-1]["messages"]) == ["Hi", "Ha"]
    assert [m["content"] for m in second.openai_messages()][1:] == ["Ho", "Two."]
    assert first.gather_usage() + second.gather_usage() == model.gather_usage()


def test_steps_that_were_put_into_the_memory_are_shown(clerk):
    sdk = import_module("smolagents.memory")
    monitoring = import_module("smolagents.monitoring")
    agent = clerk("http://localhost:1/v1").agent
    step = sdk.ActionStep(
        step_number=1,
        timing=monitoring.Timing(start_time=1.0, end_time=3.0),
        model_output="Seen.",
        token_usage=monitoring.TokenUsage(input_tokens=3, output_tokens=4),
    )
    agent.memory.steps += [sdk.TaskStep(task="Look"), step]

    adapter = SmolAgentAdapter(agent, "late")
    assert [m["role"] for m in adapter.openai_messages()] == ["system", "user", "assistant"]
    assert adapter.gather_usage().total_tokens == 7
    assert adapter.gather_traces()["total_duration_seconds"] == 2.0
    assert [m["role"] for m in adapter.get_messages()] == ["system", "user", "assistant"]


def test_a_member_that_gets_an_adapter_later_leaves_its_tokens_to_its_manager(framework, clerk):
    sdk = import_module("smolagents")
    quiet = {"verbosity_level": sdk.LogLevel.OFF}
    with (
        served({"name": "worker", "arguments": {"task": "Look"}}, say("Done.")) as (top, url),
        served(say("Seen.")) as (member, worker_url),
    ):
        options = {"name": "worker", "description": "Works", **quiet}
        worker = sdk.ToolCallingAgent([], framework.model_at(worker_url), **options)
        boss = sdk.ToolCallingAgent([], framework.model_at(url), managed_agents=[worker], **quiet)
        manager = SmolAgentAdapter(boss, "boss")
        manager.run("Look")
        late = SmolAgentAdapter(worker, "worker")

    assert late.gather_usage() == Usage()
    assert manager.gather_usage() == top.gather_usage() + member.gather_usage()


def test_a_copy_of_an_observed_agent_counts_its_own_steps_once(clerk):
    with served(say("One.")) as (model, url):
        observed = clerk(url)
        made = copy.copy(observed.agent)  # with the same callbacks
        made.memory = import_module("smolagents").AgentMemory(made.system_prompt)
        agent = SmolAgentAdapter(made, "copy")
        agent.run("Hi")

    assert agent.gather_usage() == model.gather_usage()
    assert [m["role"] for m in agent.openai_messages()] == ["system", "user", "assistant"]
    assert observed.gather_usage() == Usage()


class Listener(AgentCallback):
    def on_run_start(self, agent: AgentAdapter) -> None:
        self.before = agent.get_messages().to_list()

    def on_run_end(self, agent: AgentAdapter, result: object) -> None:
        self.after = agent.get_messages().to_list()


def test_get_messages_has_smolagents_own_form_also_before_the_run(clerk):
    listener = Listener()
    with served(LOOKING, say("Seen.")) as (_, url):
        adapter = clerk(url, [look], adapter={"callbacks": [listener]})
        adapter.run("Look")

    assert [m["role"] for m in listener.before] == ["system"]
    roles = [m["role"] for m in listener.after]
    assert roles == ["system", "user", *["tool-call", "tool-response"] * 2]
    assert all(
        [part["type"] for part in message["content"]] == ["text"] for message in listener.after
    )
    assert listener.after[1]["content"] == [{"type": "text", "text": "New task:\nLook"}]
    assert "'name': 'look'" in listener.after[2]["content"][0]["text"]
    assert adapter.get_messages().to_openai_format() == adapter.messages.to_openai_format()
    assert adapter.gather_traces()["messages"] == adapter.messages.to_list()
    assert {m["role"] for m in adapter.messages} == {"system", "user", "assistant", "tool"}


def test_a_member_called_by_code_has_its_own_tokens_within_a_repetition(framework, clerk):
    sdk = import_module("smolagents")
    quiet = {"verbosity_level": sdk.LogLevel.OFF}
    with (
        served("<code>\nfinal_answer(worker(task='Look'))\n</code>") as (top, url),
        served(say("Seen.")) as (member, worker_url),
        Clock().active(),
    ):
        options = {"name": "worker", "description": "Works", **quiet}
        worker = sdk.ToolCallingAgent([], framework.model_at(worker_url), **options)
        boss = sdk.CodeAgent([], framework.model_at(url), managed_agents=[worker], **quiet)
        adapters = SmolAgentAdapter(boss, "boss"), SmolAgentAdapter(worker, "worker")
        assert "Seen." in adapters[0].run("Look")

    assert [adapter.gather_usage() for adapter in adapters] == [
        *(top.gather_usage(), member.gather_usage())
    ]
    assert adapters[1].openai_messages()[-1]["content"] == "Seen."


def test_the_tool_of_a_user_has_its_former_name_and_module():
    optional = import_module("maseval.interface.agents.smolagents_optional")

    class Person:
        def respond(self, question):
            return f"{question}? Yes."

    tool = optional.SmolAgentUserSimulationInputTool(Person())
    assert isinstance(tool, import_module("smolagents").UserInputTool)
    assert tool.forward("Blue") == "Blue? Yes."
