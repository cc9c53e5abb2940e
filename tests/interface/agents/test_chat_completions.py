"""Agents behind an HTTP address: what they are sent, what is done for them, how they fail."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval import ScriptedModelAdapter, Task, resolve_model
from maseval.benchmark.tau2 import load_tasks
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.players.scripted import GOODBYE
from maseval.commands import tau2
from maseval.core.agent import AgentAdapter
from maseval.core.exceptions import AgentError, EnvironmentError
from maseval.core.messages import ChatResponse, MessageHistory
from maseval.core.tool import tool_definition
from maseval.interface.agents.chat_completions import ChatCompletionsAgentAdapter
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.server import ModelServer
from tests.interface.agents.solving import Rehearsed, solve, tasks_of
from tests.interface.libraries import needing

PAGE = Path(__file__).parents[3] / "docs" / "agents" / "http.md"


def over_http(test: Callable[..., Any]) -> Callable[..., Any]:
    data = (pytest.mark.data, pytest.mark.usefixtures("tau2_data"))
    for mark in (*data, *needing("openai")):
        test = mark(test)
    return test


def behind_http(
    environment: Tau2Environment, base_url: str, name: str
) -> ChatCompletionsAgentAdapter:
    model = resolve_model(f"openai/{name}", base_url=base_url, api_key="key-1234")
    return ChatCompletionsAgentAdapter(
        model, tools=environment.tools, instructions=environment.policy
    )


def first_of(domain: str) -> Task:
    return load_tasks(domain).to_list()[0]


def weigh(item: str, times: int = 1) -> str:
    """Weigh something.

    Args:
        item: What to weigh.
        times: How often.
    """
    return f"{item!r} {times!r} ü"


def agent_of(*replies: object, **options: Any) -> ChatCompletionsAgentAdapter:
    model = ScriptedModelAdapter(replies, model_id="remote")
    return ChatCompletionsAgentAdapter(model, **{"tools": [weigh], **options})


def raw_call(arguments: str, name: str = "weigh", call_id: str = "c1") -> ChatResponse:
    function = {"name": name, "arguments": arguments}
    return ChatResponse(tool_calls=[{"id": call_id, "type": "function", "function": function}])


def results_of(agent: ChatCompletionsAgentAdapter) -> list[str]:
    return [message["content"] for message in agent.get_messages().filter_by_role("tool")]


@over_http
def test_a_retail_task_is_solved_over_http():
    solved = solve(behind_http, "retail", ["5"])

    assert solved.rewards == [1.0]
    (task,) = tasks_of("retail", ["5"])
    called = [
        (call["name"], call["arguments"])
        for message in solved.environments[0].trajectory.messages
        for call in message.get("tool_calls") or ()
    ]
    gold = [(one["name"], one["arguments"]) for one in task.evaluation_data["actions"]]
    assert called == gold


@over_http
def test_what_the_agent_used_is_counted_once_however_its_model_was_made():
    class Registered(Rehearsed):
        def setup_agents(self, agent_data, environment, task, user, seed_generator):
            agents, named = super().setup_agents(
                agent_data, environment, task, user, seed_generator
            )
            self.register("models", "mine", agents[0].agent)
            return agents, named

    counted = []
    for kind in (Rehearsed, Registered):
        with ModelServer() as server:
            benchmark = kind(behind_http, server, "gold")
            (report,) = benchmark.run(tasks_of("library", [first_of("library").id]), {})
            (model,) = benchmark.solved.models.values()
        (used,) = report["usage"]["models"].values()
        counted.append(used["total_tokens"])
        assert counted[-1] == model.gather_usage().total_tokens > 0
        assert "total_tokens" not in report["usage"]["agents"]["http_agent"]
        assert "key-1234" not in json.dumps(report["config"])
        assert benchmark.usage.total_tokens == counted[-1]
    assert counted[0] == counted[1]


def test_an_agent_that_just_answers_needs_no_tools():
    agent = agent_of("Hello", "Bye", tools=None, instructions="Be brief")

    assert isinstance(agent, AgentAdapter)
    assert [agent.run("Hi"), agent.run("So long")] == ["Hello", "Bye"]
    asked = agent.agent.requests[-1]
    assert asked["tools"] is None
    assert [(m["role"], m["content"]) for m in asked["messages"]] == [
        ("system", "Be brief"),
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "So long"),
    ]


def test_calls_are_made_until_there_is_a_text():
    agent = agent_of(
        [{"name": "weigh", "arguments": {"item": item}, "id": item} for item in ("c", "a")],
        {"content": "One more", "tool_calls": [{"name": "weigh", "arguments": {"item": "rice"}}]},
        "Done",
    )

    assert agent.run("Weigh") == "Done"
    assert results_of(agent) == ["'c' 1 ü", "'a' 1 ü", "'rice' 1 ü"]
    roles = [message["role"] for message in agent.get_messages()]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"]
    first, second, third = agent.get_messages().filter_by_role("tool")
    assert (first["tool_call_id"], second["tool_call_id"], first["name"]) == ("c", "a", "weigh")
    assert agent.get_messages()[4]["content"] == "One more"
    assert third["tool_call_id"] == agent.get_messages()[4]["tool_calls"][0]["id"]
    assert agent.agent.requests[0]["tools"] == [tool_definition(weigh)]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ('{"item": 3, "times": "x"}', "3 'x' ü"),
        ('{"item": ["ä", {"n": null}]}', "['ä', {'n': None}] 1 ü"),
        ("", "Error: weigh() missing 1 required positional argument: 'item'"),
        (
            '{"item": "tea", "color": 1}',
            "Error: weigh() got an unexpected keyword argument 'color'",
        ),
        ("{not json", "Error: weigh() got an unexpected keyword argument 'invalid_json_arguments'"),
        ("[1]", "Error: weigh() got an unexpected keyword argument 'invalid_json_arguments'"),
    ],
)
def test_arguments_reach_the_function_as_they_were_sent(arguments, answer):
    agent = agent_of(raw_call(arguments), "Done")

    assert agent.run("Weigh") == "Done"
    assert results_of(agent) == [answer]


def test_a_tool_that_is_not_there_is_answered_and_not_fatal():
    agent = agent_of(raw_call("{}", name="fly"), "Sorry")

    assert agent.run("Fly") == "Sorry"
    assert results_of(agent) == ["Error: Tool 'fly' not found."]


def test_an_agent_that_calls_without_end_has_failed():
    agent = agent_of(*[raw_call('{"item": "tea"}')] * 102)

    with pytest.raises(AgentGaveUpError, match="101 tool calls in one turn"):
        agent.run("Weigh")

    assert len(results_of(agent)) == 100
    assert agent.logs[-1]["error_type"] == "AgentGaveUpError"


def test_only_the_agents_own_faults_are_told_to_it():
    faults = [AgentError("no such item"), EnvironmentError("the scales are broken")]

    def press() -> str:
        raise faults.pop(0)

    agent = agent_of(*[raw_call("{}", name="press")] * 2, tools=[press])

    with pytest.raises(EnvironmentError, match="scales"):
        agent.run("Press")
    assert results_of(agent) == ["Error: no such item"]


@pytest.mark.data
@pytest.mark.usefixtures("tau2_data")
def test_an_empty_answer_is_the_agents_failure() -> None:
    class Silent(Rehearsed):
        def setup_agents(self, agent_data, environment, task, user, seed_generator):
            agent = agent_of(ChatResponse(content=None))
            return [agent], {agent.name: agent}

    with ModelServer() as server:
        (report,) = Silent(behind_http, server, "gold").run([first_of("library")], {})

    assert report["status"] == "agent_error"
    assert report["error"]["error_type"] == "EmptyAgentTurnError"


@over_http
def test_the_example_of_the_page_runs(tmp_path):
    (example,) = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    task = first_of("library")
    gold = [(one["name"], one["arguments"]) for one in task.evaluation_data["actions"]]
    calls = [{"name": name, "arguments": arguments} for name, arguments in gold]
    names = {}
    with ModelServer(ScriptedModelAdapter([*calls, GOODBYE], model_id="my-agent")) as server:
        exec(example.replace("http://localhost:9000/v1", server.url), names)
        result = tau2.run(
            domain="library",
            task_id=[str(task.id)],
            agent=names["agent"],
            user="scripted",
            output=tmp_path / "run",
        )

    assert result.summary.overall.passed == 1
    assert result.summary.tokens > 0


def test_a_conversation_that_another_agent_began_is_continued_under_its_own_instructions():
    agent = agent_of("Two", instructions="Be kind.")
    earlier = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "One"}]

    agent.load_messages(MessageHistory(list(earlier)))

    assert agent.loads_messages and agent.run("b") == "Two"
    sent = [(m["role"], m["content"]) for m in agent.agent.requests[-1]["messages"]]
    assert sent == [
        ("system", "Be kind."),
        ("user", "a"),
        ("assistant", "One"),
        ("user", "b"),
    ]
