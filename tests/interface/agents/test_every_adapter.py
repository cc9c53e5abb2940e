"""What every adapter must do: solve tasks, keep the conversation, and report messages and usage."""

import asyncio
import json

import pytest

from maseval import ScriptedModelAdapter
from maseval.benchmark.tau2 import load_tasks
from maseval.core.messages import tool_call
from maseval.core.tool import tool_definition
from maseval.core.usage import StaticPricingCalculator, Usage
from tests.interface.agents.frameworks import each, in_every_way
from tests.interface.agents.served import (
    COUNTED,
    KEY,
    LOOKING,
    NAME,
    example_of,
    look,
    recorded_calls,
    served,
)
from tests.interface.agents.solving import solve


def test_a_retail_task_is_solved_by_the_reference_calls(framework, tau2_agent, capfd):
    solved = solve(tau2_agent)

    gold = load_tasks("retail")[0].evaluation_data["actions"]
    assert solved.rewards == [1.0]
    assert recorded_calls(solved.environments[0]) == [(a["name"], a["arguments"]) for a in gold]
    assert solved.last_request()[0]["role"] == "system"
    policy = solved.environments[0].policy.strip()
    assert policy in framework.texts(solved.last_request())[0]
    assert capfd.readouterr() == ("", "")


def test_the_conversation_is_remembered_over_the_turns_of_a_telecom_task(framework, tau2_agent):
    solved = solve(tau2_agent, "telecom", [str(load_tasks("telecom")[0].id)])

    assert solved.rewards == [1.0]
    heard = framework.asked(solved.last_request())
    said = [m["content"] for m in solved.agents[0].openai_messages() if m["role"] == "user"]
    assert heard == said
    assert len(heard) == len(set(heard)) > 1


def test_simulations_run_side_by_side(tau2_agent):
    solved = solve(tau2_agent, ids=("0", "1", "2", "3"), num_workers=4)

    assert solved.rewards == [1.0] * 4
    used = sorted(agent.gather_usage().total_tokens for agent in solved.agents)
    assert used == sorted(model.gather_usage().total_tokens for model in solved.models.values())


@pytest.mark.parametrize("kind", each(lambda kind: kind.starts_afresh), indirect=True)
def test_a_new_adapter_starts_a_new_conversation(framework, clerk, say):
    with served(say("Hello."), say("Hello.")) as (model, url):
        first = clerk(url)
        first.run("Hi")
        told, used = first.openai_messages().to_list(), first.gather_usage()
        second = type(first)(first.agent, "another")
        second.run("Ho")

    assert framework.asked(model.requests[-1]["messages"]) == ["Ho"]
    assert [m["role"] for m in model.requests[-1]["messages"]] == ["system", "user"]
    assert (first.openai_messages().to_list(), first.gather_usage()) == (told, used)
    assert second.gather_usage().total_tokens > 0


@in_every_way
def test_an_agent_can_be_run_where_an_event_loop_runs(clerk, say):
    async def notebook(url):
        return clerk(url, [look]).run("Look")

    with served(LOOKING, say("Hello.")) as (_, url):
        assert asyncio.run(notebook(url)) == "Hello."


def test_messages_have_openais_form(framework, clerk, say):
    calls = [
        tool_call("look", {"text": text, "numbers": []}, id=f"c{number}")
        for number, text in [(9, "neun ü"), (10, "ten")]
    ]
    replies = [{"content": "One moment.", "tool_calls": calls}, say("Done."), say("Bye.")]
    with served(*replies) as (_, url):
        agent = clerk(url, [look])
        agent.run("Look")
        agent.run("Thanks")

    *system, asked, calling, nine, ten, done, thanks, bye = (
        agent.openai_messages().to_openai_format()
    )
    assert framework.keeps("Help.", system)
    for call in calling["tool_calls"]:  # a JSON text, which may have been written anew
        call["function"]["arguments"] = json.dumps(json.loads(call["function"]["arguments"]))
    assert [asked, calling, nine, ten, done, thanks, bye] == [
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": "One moment.", "tool_calls": calls},
        {"role": "tool", "content": "neun ü", "name": "look", "tool_call_id": "c9"},
        {"role": "tool", "content": "ten", "name": "look", "tool_call_id": "c10"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": "Bye."},
    ]
    times = [message["timestamp"] for message in agent.gather_traces()["messages"]]
    assert times == sorted(times) and times[-1] > times[len(system)]


@in_every_way
def test_usage_is_what_the_server_counted_over_all_turns(framework, clerk, say):
    prices = StaticPricingCalculator({NAME: {"input": 0.01, "output": 0.1}})
    with served(LOOKING, say("Done."), say("Bye."), usage=COUNTED) as (_, url):
        agent = clerk(url, [look], adapter={"cost_calculator": prices})
        assert type(agent.gather_usage()) is Usage
        agent.run("Look")
        agent.run("Thanks")

    usage = agent.gather_usage()
    told = {name: getattr(usage, name) for name in framework.counted}
    assert told == {name: 3 * COUNTED[name] for name in framework.counted}
    assert usage.cost == prices.calculate_cost(usage, NAME) > 0
    assert sum(entry.get("total_tokens", 0) for entry in agent.logs) == 3 * COUNTED["total_tokens"]


@pytest.mark.parametrize("kind", each(lambda kind: kind.logs_turns), indirect=True)
def test_each_turn_is_logged(clerk, say):
    with served(LOOKING, say("Done."), say("Bye."), usage=COUNTED) as (_, url):
        agent = clerk(url, [look])
        agent.run("Look")
        agent.run("Thanks")

    first, second = json.loads(json.dumps(agent.gather_traces()))["logs"]
    assert (first["query"], first["query_length"], first["status"]) == ("Look", 4, "success")
    assert (second["query"], second["query_length"], second["status"]) == ("Thanks", 6, "success")
    assert (first["total_tokens"], second["total_tokens"]) == (240, 120)
    assert first["timestamp"] < second["timestamp"] and first["duration_seconds"] > 0


def test_the_configuration_is_json_and_holds_no_key(framework, clerk, say):
    with served(say("Hello.")) as (_, url):
        agent = clerk(url, [look])
        agent.run("Hi")

    config = agent.gather_config()
    assert config[f"{framework.page.replace('-', '_')}_config"]
    assert KEY not in json.dumps(config)


@pytest.mark.parametrize("kind", each(lambda kind: kind.user), indirect=True)
def test_a_user_can_be_asked_by_a_tool(framework, clerk, say):
    player = ScriptedModelAdapter(['{"text": "The red one."}'])
    user = framework.user("Ann", player, {"name": "Ann"}, "Buys a bag", "Hi", max_turns=2)
    ask = {"name": framework.asking_tool, "arguments": {"question": "Which?"}}
    with served(ask, say("Fine.")) as (model, url):
        agent = clerk(url, own_tools=[user.get_tool()])
        assert agent.run(user.get_initial_query()) == "Fine."

    assert framework.results(model) == ["The red one."]
    (offered,) = framework.offered(model)
    assert offered["function"]["name"] == framework.asking_tool
    assert offered["function"]["parameters"]["required"] == ["question"]
    assert [message["content"] for message in user.messages] == ["Hi", "Which?", "The red one."]


def test_the_example_of_the_page_runs(framework, say, monkeypatch, capfd):
    replies = [*framework.page_calls, say("It was delivered.")]
    names = {}
    with served(*replies, name="gpt-4.1") as (model, url):
        for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_API_BASE_URL"):
            monkeypatch.setenv(variable, url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        exec(example_of(framework.page), names)
        if "model" in names:
            framework.close_model(names["model"])

    said, tokens = capfd.readouterr().out.splitlines()
    assert said == "It was delivered."
    assert int(tokens) == model.gather_usage().total_tokens
    assert all("yusuf_rossi_9620" in result for result in framework.results(model))
    assert len(framework.results(model)) == len(framework.page_calls)
    tools = names["environment"].tools
    definitions = [tool_definition(function, name=name) for name, function in tools.items()]
    assert framework.offered(model) == framework.told(definitions)
