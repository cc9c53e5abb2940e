"""Agents of a society: each one's own messages, steps and tokens."""

import asyncio
import json
import re
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from maseval import Task
from maseval.core.clock import Clock
from maseval.core.exceptions import TaskTimeoutError
from maseval.core.provider_errors import AuthenticationError, ProviderTimeoutError
from maseval.interface.agents.camel import (
    CamelAgentAdapter,
    CamelRolePlayingTracer,
    CamelWorkforceTracer,
    as_tools,
    camel_role_playing_execution_loop,
)
from maseval.testing.provider_server import Reply
from tests.interface.agents.framework import Framework
from tests.interface.agents.served import CALLERS, ask_in_vain, look, served

LOOK = {"name": "look", "arguments": {"text": "é", "numbers": []}}


@pytest.fixture
def chat_agent(framework: Framework) -> Callable[..., Any]:
    def make(url, tools=()):
        return framework.agent(framework.model_at(url), as_tools(tools), "Help.")

    return make


def in_a_loop(work: Callable[..., Any], *agents: Any) -> None:
    """Do it in an event loop of its own, and close the connections that were opened in it."""

    async def all_of_it():
        await work
        for agent in agents:
            await agent.model_backend.current_model._async_client.close()

    asyncio.run(all_of_it())


@pytest.mark.parametrize("way", ["step", "astep"])
def test_a_step_that_others_let_it_take_is_recorded_with_its_calls(way, chat_agent):
    CALLERS.clear()
    with served(LOOK, "Seen.", loop=True) as (model, url):
        agent = chat_agent(url, [look])
        adapter = CamelAgentAdapter(agent, "clerk")
        if way == "step":
            agent.step("Look")
        else:
            in_a_loop(agent.astep("Look"), agent)
        models = agent.model_backend

    assert adapter.gather_usage() == model.gather_usage()
    assert adapter.gather_traces()["total_tool_calls"] == 1
    # CAMEL runs the tools of an async step in threads that know nothing of it.
    assert ["clerk" if way == "step" else None] == CALLERS
    assert adapter.get_messages()[-1]["content"] == "Seen."
    assert not hasattr(models, "follower"), "its own models again"


def test_of_several_adapters_the_latest_records_and_one_that_runs_records_alone(chat_agent):
    with served("Hello.", loop=True) as (model, url):
        agent = chat_agent(url)
        one, two = (CamelAgentAdapter(agent, name) for name in ("one", "two"))
        one.run("Hi")
        agent.step("Hi")

    total = one.gather_usage().total_tokens + two.gather_usage().total_tokens
    assert total == model.gather_usage().total_tokens
    assert (len(one.logs), len(two.logs)) == (1, 1)


@pytest.fixture
def society(framework: Framework) -> Callable[..., Any]:
    """Makes a role-playing of a clerk and a boss whose models are served at two URLs."""

    def make(clerk_url, boss_url, tools=(), stop_event=None):
        agent = {"retry_attempts": 1, "summarize_threshold": None, "token_limit": 10**9}
        clerk = {"model": framework.model_at(clerk_url), "tools": as_tools(tools), **agent}
        boss = {"model": framework.model_at(boss_url), **agent}
        return import_module("camel.societies").RolePlaying(
            assistant_role_name="clerk",
            user_role_name="boss",
            task_prompt="Sell a hat. " * 100,
            with_task_specify=False,
            assistant_agent_kwargs=clerk,
            user_agent_kwargs=boss,
            stop_event=stop_event,
        )

    return make


DONE = "<CAMEL_TASK_DONE>"


@pytest.mark.parametrize(
    ("stopped", "last", "side", "said"),
    [
        ("clerk", "Wait.", "assistant", ("Wait.", None)),
        ("boss", "Wait.", "user", (None, None)),
        (None, DONE, "user", (DONE, "Bye.")),
    ],
)
def test_role_playing_goes_on_until_a_side_ends_it(society, stopped, last, side, said):
    stop = threading.Event()

    def saying(text, who):
        def reply(messages, tools):
            if who == stopped:
                stop.set()
            return text

        return reply

    with (
        served("Look.", "Sell.", saying(last, "boss")) as (boss, one),
        served(LOOK, "Seen.", "Sold.", saying("Bye.", "clerk")) as (clerk, two),
    ):
        playing = society(two, one, [look], stop)
        adapter, tracer = CamelAgentAdapter(playing.assistant_agent, "c"), tracer_of(playing)
        answer = camel_role_playing_execution_loop(playing, Task("Sell"), tracer=tracer)

    assert answer == "Sold." and len(boss.requests) == 3
    assert adapter.gather_usage() == clerk.gather_usage()
    traces = json.loads(json.dumps(tracer.gather_traces()))
    assert (traces["name"], traces["trace_type"]) == ("team", "role_playing_orchestration")
    assert (traces["step_count"], traces["termination_reason"]) == (3, f"{side}_terminated")
    told = [(log["user_content"], log["assistant_content"]) for log in traces["step_logs"]]
    assert told == [("Look.", "Seen."), ("Sell.", "Sold."), said]
    config = tracer.gather_config()
    assert (config["assistant_role"], config["user_role"]) == ("clerk", "boss")
    assert len(config["task_prompt"]) == 500


def tracer_of(playing: Any) -> CamelRolePlayingTracer:
    return CamelRolePlayingTracer(playing, name="team")


def test_role_playing_ends_after_its_steps(society):
    with served("Go.", loop=True) as (boss, one), served("Went.", loop=True) as (_, two):
        playing = society(two, one)
        tracer = tracer_of(playing)
        assert camel_role_playing_execution_loop(playing, None, 2, tracer) == "Went."
        assert camel_role_playing_execution_loop(playing, None, max_steps=0) is None

    assert len(boss.requests) == 2
    assert tracer.gather_traces()["termination_reason"] is None


def test_failures_of_others_in_role_playing_are_raised_as_such(society, server):
    server.will(Reply({"error": {"message": "no such key"}}, 401))
    with served("Go.", loop=True) as (_, one), served({"name": "ask_in_vain"}) as (_, two):
        with pytest.raises(AuthenticationError):
            camel_role_playing_execution_loop(society(f"{server.url}/v1", one), None)
        with pytest.raises(ProviderTimeoutError, match="too slow"):
            camel_role_playing_execution_loop(society(two, one, [ask_in_vain]), None)
        clock = Clock(deadline=0.0)
        with clock.active(), pytest.raises(TaskTimeoutError):
            camel_role_playing_execution_loop(society(two, one), None)


DEPENDENCIES = {"look": [], "sell": ["look"]}


def assign(messages: list[dict[str, Any]], tools: Any) -> Any:
    """Play the coordinator: each task that is named in the request goes to the first worker."""
    text = messages[-1]["content"]
    worker = re.search(r"<([^<>]+)>:<Sells hats>", text)
    if worker is None:  # asked how good a result is
        return json.dumps({"reasoning": "Fine.", "quality_score": 100, "issues": []})
    ids = re.findall(r"Task ID: (\S+)", text)
    chosen = [
        {"task_id": i, "assignee_id": worker[1], "dependencies": DEPENDENCIES[i]} for i in ids
    ]
    return json.dumps({"assignments": chosen})


def test_a_workforce_is_traced(framework, chat_agent):
    workforce_module = import_module("camel.societies.workforce")
    result = json.dumps({"content": "Done.", "failed": False})
    with served(assign, loop=True) as (_, one), served(result, loop=True) as (worker, two):
        boss, clerk = chat_agent(one), chat_agent(two)
        team = workforce_module.Workforce(
            "Sellers",
            coordinator_agent=boss,
            task_agent=boss,
            graceful_shutdown_timeout=0.1,
            mode=workforce_module.workforce.WorkforceMode.PIPELINE,
        )
        team.add_single_agent_worker("Sells hats", worker=clerk)
        tracer = CamelWorkforceTracer(team)
        assert tracer.gather_traces()["completed_tasks"] == []
        team.pipeline_add("Look at the hat", task_id="look")
        team.pipeline_add("Sell the hat", task_id="sell", dependencies=["look"])
        team.pipeline_build()
        assert tracer.gather_traces()["pending_tasks_count"] == 2
        whole = import_module("camel.tasks").Task(content="Sell a hat", id="whole")
        in_a_loop(team.process_task_async(whole), boss, clerk)

    traces, config = json.loads(json.dumps([tracer.gather_traces(), tracer.gather_config()]))
    (node,) = config["workers"]
    assert (config["name"], config["mode"]) == ("workforce", "pipeline")
    assert (node["type"], node["description"]) == ("SingleAgentWorker", "Sells hats")
    assert traces["trace_type"] == "workforce_orchestration"
    assert traces["task_decomposition"] == DEPENDENCIES
    assert traces["worker_assignments"] == dict.fromkeys(["look", "sell"], node["node_id"])
    done = {task["id"]: (task["state"], task["result"]) for task in traces["completed_tasks"]}
    assert done["look"] == done["sell"] == ("DONE", "Done.")
    assert traces["pending_tasks_count"] == 0 and len(worker.requests) == 2
