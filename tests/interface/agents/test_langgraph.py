import asyncio
import json
import re
from functools import partial
from pathlib import Path
from typing import TypedDict

import pytest

from maseval import MASEvalError, ScriptedModelAdapter
from maseval.benchmark.tau2 import load_tasks
from maseval.core.exceptions import ConfigurationError
from maseval.core.provider_errors import (
    AuthenticationError,
    OverloadedError,
    ProviderConnectionError,
    ProviderTimeoutError,
    RateLimitError,
)
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.interface.agents.langgraph import LangGraphAgentAdapter, LangGraphLLMUser, as_tools
from maseval.interface.extras import is_installed
from maseval.server import ModelServer
from tests.interface.agents.graphs import (
    API_KEY,
    GRAPHS,
    agent_graph,
    async_graph,
    chat_model,
    one_node,
    recorder,
    serve_model,
)
from tests.interface.agents.solving import solve, tasks_of
from tests.interface.libraries import QUIET_LITELLM, needing
from tests.interface.provider_server import OpenAIProtocol, Reply

if is_installed("langgraph"):
    from langchain.agents import create_agent
    from langchain.agents.middleware import ModelCallLimitMiddleware, wrap_model_call
    from langchain_core.callbacks import StdOutCallbackHandler
    from langchain_core.messages import AIMessage
    from langchain_core.tools import StructuredTool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.types import interrupt

PAGE = Path(__file__).parents[3] / "docs" / "agents" / "langgraph.md"

pytestmark = [pytest.mark.data, QUIET_LITELLM, *needing("langgraph")]


@pytest.fixture(scope="module")
def models():
    with ModelServer() as server:
        yield server


@pytest.fixture
def serve(models):
    return partial(serve_model, models)


# Solving tasks


def solver(**options):
    def make(environment, url, name):
        graph = create_agent(
            chat_model(url, name),
            as_tools(environment.tools),
            system_prompt=environment.policy,
            **options,
        )
        return LangGraphAgentAdapter(graph, "agent")

    return make


def test_a_retail_task_is_solved_by_the_reference_calls():
    solved = solve(solver())

    assert solved.rewards == [1.0]
    task = tasks_of("retail", ["0"])[0]
    gold = [(a["name"], a["arguments"]) for a in task.evaluation_data["actions"]]
    messages = solved.environments[0].trajectory.messages
    assert [
        (call["name"], call["arguments"])
        for message in messages
        if message["role"] == "assistant"
        for call in message["tool_calls"] or ()
    ] == gold
    policy = solved.environments[0].policy
    assert solved.last_request()[0] == {"role": "system", "content": policy}


@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_conversation_of_several_turns_is_remembered(checkpointed):
    saver = {"checkpointer": InMemorySaver()} if checkpointed else {}
    solved = solve(solver(**saver), "telecom", [str(load_tasks("telecom")[0].id)])

    assert solved.rewards == [1.0]
    spoken = [m["content"] for m in solved.agents[0].get_messages() if m["role"] == "user"]
    asked = [m["content"] for m in solved.last_request() if m["role"] == "user"]
    assert len(asked) > 1
    assert asked == spoken[: len(asked)]
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("make_graph", [agent_graph, async_graph])
def test_tasks_are_solved_in_parallel_threads_with_one_checkpointer(make_graph):
    saver = InMemorySaver()

    def make(environment, url, name):
        tools = as_tools(environment.tools)
        graph = make_graph(chat_model(url, name), tools, checkpointer=saver)
        return LangGraphAgentAdapter(graph, "agent")

    solved = solve(make, "retail", ["0", "1", "2", "3"], num_workers=4)

    assert solved.rewards == [1.0] * 4


# Tools


# Memory and answers


@pytest.mark.parametrize("make", GRAPHS)
@pytest.mark.parametrize("config", [None, {"configurable": {"thread_id": "t"}}, {"tags": ["x"]}])
@pytest.mark.parametrize("checkpointed", [False, True])
def test_each_turn_knows_the_earlier_ones_exactly_once(make, config, checkpointed, serve):
    saver = InMemorySaver() if checkpointed else None
    model, client = serve(["One", "Two", "Three"])
    graph = make(client, as_tools([]), **({"checkpointer": saver} if saver else {}))
    agent = LangGraphAgentAdapter(graph, "a", config=config)

    assert [agent.run(query) for query in "abc"] == ["One", "Two", "Three"]

    said = [(m["role"], m["content"]) for m in model.requests[-1]["messages"]]
    expected = [("user", "a"), ("assistant", "One"), ("user", "b"), ("assistant", "Two")]
    assert said == [*expected, ("user", "c")]
    kept = [(m["role"], m["content"]) for m in agent.get_messages()]
    assert kept == [*said, ("assistant", "Three")]


def test_a_fresh_adapter_starts_fresh_though_the_checkpointer_is_shared(serve):
    model, client = serve(["One", "Two"])
    graph = create_agent(client, checkpointer=InMemorySaver())

    LangGraphAgentAdapter(graph, "a").run("a")
    LangGraphAgentAdapter(graph, "b").run("b")

    assert [m["content"] for m in model.requests[-1]["messages"]] == ["b"]


def test_a_thread_that_is_bound_to_the_graph_is_used(serve):
    _, client = serve(["One"])
    graph = create_agent(client, checkpointer=InMemorySaver())
    bound = graph.with_config({"configurable": {"thread_id": "mine"}})

    LangGraphAgentAdapter(bound, "a").run("a")

    kept = graph.get_state({"configurable": {"thread_id": "mine"}}).values["messages"]
    assert [message.content for message in kept] == ["a", "One"]


@pytest.mark.parametrize("returned", [("ai", "Two"), {"role": "assistant", "content": "Two"}])
def test_a_state_without_a_reducer_loses_nothing(returned):
    seen = []

    def answer(state):
        seen.append(list(state["messages"]))
        return {"messages": [returned]}

    builder = StateGraph(TypedDict("Plain", {"messages": list}))
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    agent = LangGraphAgentAdapter(builder.compile(), "a")

    assert [agent.run("a"), agent.run("b")] == ["Two", "Two"]
    assert [m.content for m in seen[-1]] == ["a", "Two", "b"]
    assert [m["content"] for m in agent.get_messages()] == ["a", "Two", "b", "Two"]


def test_a_graph_that_says_nothing_gives_no_answer():
    agent = LangGraphAgentAdapter(one_node(lambda state: {"messages": []}), "a")

    assert agent.run("Hi") is None


def test_a_graph_without_messages_is_refused_by_name():
    graph = one_node(lambda state: {"text": "x"}, TypedDict("Other", {"text": str}))

    with pytest.raises(ConfigurationError, match="'messages'"):
        LangGraphAgentAdapter(graph, "a").run("Hi")


def test_a_question_of_an_interrupted_graph_is_answered_by_the_next_turn():
    def answer(state):
        name = interrupt("What is your name?")
        return {"messages": [AIMessage(f"Hello {name}")]}

    agent = LangGraphAgentAdapter(one_node(answer, checkpointer=InMemorySaver()), "a")

    assert agent.run("Hi") == "What is your name?"
    assert agent.run("Ann") == "Hello Ann"
    assert agent.run("Hi again") == "What is your name?"


# Async graphs


async def an_answer(state):
    return {"messages": [AIMessage("from a coroutine")]}


def test_an_async_graph_runs_with_and_without_a_running_loop():
    async def in_a_loop():
        return LangGraphAgentAdapter(one_node(an_answer), "a").run("Hi")

    assert LangGraphAgentAdapter(one_node(an_answer), "a").run("Hi") == "from a coroutine"
    assert asyncio.run(in_a_loop()) == "from a coroutine"


def test_an_async_node_deep_in_a_graph_is_found_before_anything_is_done():
    ran = []

    def first(state):
        ran.append("first")
        return {}

    async def route(state):
        return "answer"

    builder = StateGraph(MessagesState)
    builder.add_node("first", first)
    builder.add_node("answer", one_node(an_answer))
    builder.add_edge(START, "first")
    builder.add_conditional_edges("first", route, ["answer"])

    assert LangGraphAgentAdapter(builder.compile(), "a").run("Hi") == "from a coroutine"
    assert ran == ["first"]


def test_async_tools_such_as_those_of_mcp_run(serve):
    async def look(where: str) -> str:
        return f"nothing {where}"

    tool = StructuredTool.from_function(coroutine=look, name="look", description="Look.")
    model, client = serve([{"name": "look", "arguments": {"where": "here"}}, "Done"])

    assert LangGraphAgentAdapter(create_agent(client, [tool]), "a").run("Go") == "Done"
    assert len(model.requests) == 2
    assert model.requests[-1]["messages"][-1]["content"] == "nothing here"


@pytest.mark.parametrize("checkpointed", [False, True])
def test_async_middleware_runs(checkpointed, serve):
    @wrap_model_call
    async def passing_on(request, handler):
        return await handler(request)

    model, client = serve(["Done", "Again"])
    saver = InMemorySaver() if checkpointed else None
    graph = create_agent(client, middleware=[passing_on], checkpointer=saver)
    agent = LangGraphAgentAdapter(graph, "a")

    assert [agent.run("Go"), agent.run("On")] == ["Done", "Again"]
    assert [m["content"] for m in model.requests[-1]["messages"]] == ["Go", "Done", "On"]


# What is told afterwards


def test_traces_and_configuration_can_be_stored_and_hold_no_secret(serve):
    _, client = serve(["One"])
    config = {
        "configurable": {"thread_id": "t-1", "user": "u"},
        "recursion_limit": 50,
        "metadata": {"api_key": "secret-0"},
        "callbacks": [StdOutCallbackHandler()],
    }
    graph = create_agent(client, as_tools([]), checkpointer=InMemorySaver())
    agent = LangGraphAgentAdapter(graph, "a", config=config)
    agent.run("Hello")

    stored = json.dumps([agent.gather_config(), agent.gather_traces()])
    assert API_KEY not in stored and "secret-0" not in stored
    told = agent.gather_config()["langgraph_config"]
    assert told["has_checkpointer"] is True
    assert told["config"]["configurable"] == {"has_thread_id": True}
    assert told["config"]["recursion_limit"] == 50
    assert told["graph_info"] == {"num_nodes": 3, "num_edges": 2}
    (entry,) = agent.logs
    assert entry["query"] == "Hello" and entry["query_length"] == 5
    assert entry["status"] == "success" and entry["message_count"] == 2
    assert "messages" in entry["state_keys"]
    assert entry["checkpoint_metadata"] == {"source": "loop", "step": 1}
    assert entry["checkpoint_created_at"]


# Failures


FAILURES = [
    (Reply(OpenAIProtocol.error("slow down"), 429, {"Retry-After": "7"}), RateLimitError),
    (Reply(OpenAIProtocol.error("broken"), 500), OverloadedError),
    (Reply(OpenAIProtocol.error("who are you?"), 401), AuthenticationError),
    (Reply("", drop=True), ProviderConnectionError),
    (Reply("", delay=1.0), ProviderTimeoutError),
]


@pytest.mark.parametrize("make", GRAPHS)
@pytest.mark.parametrize(("reply", "kind"), FAILURES)
def test_a_failing_provider_is_not_a_failing_agent(make, reply, kind, server):
    server.will(OpenAIProtocol.calls(("take", {})), reply)
    client = chat_model(server.url + "/v1", "gpt", timeout=0.5)
    agent = LangGraphAgentAdapter(make(client, as_tools({"take": recorder()[1]})), "a")

    with pytest.raises(kind) as caught:
        agent.run("Go")

    assert caught.value.retry_after == (7.0 if kind is RateLimitError else None)
    assert caught.value.model_id == "gpt"
    assert agent.gather_usage().total_tokens == 120
    assert [m["role"] for m in agent.get_messages()] == ["user", "assistant", "tool"]
    assert agent.logs[-1]["error_type"] == kind.__name__


def test_a_server_that_is_not_there_is_a_failure_of_the_connection():
    agent = LangGraphAgentAdapter(create_agent(chat_model("http://127.0.0.1:9/v1", "gpt")), "a")

    with pytest.raises(ProviderConnectionError):
        agent.run("Go")


@pytest.mark.parametrize("make", GRAPHS)
def test_an_agent_at_the_limit_of_its_steps_has_given_up(make, serve):
    _, client = serve([{"name": "take"}], loop=True)
    calls, take = recorder()
    graph = make(client, as_tools({"take": take}))
    agent = LangGraphAgentAdapter(graph, "a", config={"recursion_limit": 6})

    with pytest.raises(AgentGaveUpError, match=r"[Rr]ecursion"):
        agent.run("Go")

    assert len(calls) == 3
    assert len([m for m in agent.get_messages() if m["role"] == "tool"]) == 3


def test_an_agent_at_a_limit_of_its_middleware_has_given_up(serve):
    _, client = serve([{"name": "take"}], loop=True)
    limit = ModelCallLimitMiddleware(run_limit=2, exit_behavior="error")
    graph = create_agent(client, as_tools({"take": recorder()[1]}), middleware=[limit])

    with pytest.raises(AgentGaveUpError, match="limit"):
        LangGraphAgentAdapter(graph, "a").run("Go")


def test_a_turn_that_failed_is_not_part_of_the_memory(server):
    server.will(Reply(OpenAIProtocol.error("broken"), 500), OpenAIProtocol.text("Hello"))
    agent = LangGraphAgentAdapter(create_agent(chat_model(server.url + "/v1", "gpt")), "a")

    with pytest.raises(MASEvalError):
        agent.run("a")

    assert agent.run("b") == "Hello"
    assert [m["content"] for m in server.requests[-1].body["messages"]] == ["b"]


# The user as a tool, and the page


def test_a_simulated_user_can_be_asked_by_a_tool(serve):
    replies = ['{"text": "It is blue"}']
    user = LangGraphLLMUser(
        "Ann", ScriptedModelAdapter(replies), {"name": "Ann"}, "wants paint", max_turns=2
    )
    question = {"name": "ask_user", "arguments": {"question": "Which colour?"}}
    model, client = serve([question, "Blue, then"])

    assert LangGraphAgentAdapter(create_agent(client, [user.get_tool()]), "a").run("Hi")

    assert "It is blue" in model.requests[-1]["messages"][-1]["content"]
    assert user.messages[0]["content"] == "Which colour?"
    assert model.requests[0]["tools"][0]["function"]["name"] == "ask_user"


def test_the_example_of_the_page_runs(server, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/v1")
    monkeypatch.setenv("OPENAI_API_BASE", server.url + "/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "key-1234")
    server.will(OpenAIProtocol.text("Hello!"))
    (example,) = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)

    exec(example, {})

    assert capsys.readouterr().out.splitlines() == ["Hello!", "120"]
