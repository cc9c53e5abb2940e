import json
from typing import Any, TypedDict

import pytest

from maseval import MASEvalError
from maseval.core.exceptions import ConfigurationError
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools
from maseval.testing.provider_server import OpenAIProtocol, Reply
from tests.interface.agents.langgraph.graphs import (
    GRAPHS,
    agent_graph,
    async_graph,
    one_node,
    saver,
)
from tests.interface.agents.served import KEY, LOOKING, look
from tests.interface.agents.solving import solve


@pytest.mark.parametrize("make_graph", [agent_graph, async_graph])
def test_tasks_are_solved_in_parallel_threads_with_one_checkpointer(make_graph, framework):
    shared = saver()

    def make(environment, url, name):
        tools = as_tools(environment.tools)
        graph = make_graph(framework.model_at(url, name), tools, checkpointer=shared)
        return LangGraphAgentAdapter(graph, "agent")

    solved = solve(make, "retail", ["0", "1", "2", "3"], num_workers=4)

    assert solved.rewards == [1.0] * 4


@pytest.mark.parametrize("make", GRAPHS)
@pytest.mark.parametrize("config", [None, {"configurable": {"thread_id": "t"}}, {"tags": ["x"]}])
@pytest.mark.parametrize("checkpointed", [False, True])
def test_each_turn_knows_the_earlier_ones_exactly_once(make, config, checkpointed, serve):
    model, client = serve("One", "Two", "Three")
    graph = make(client, **({"checkpointer": saver()} if checkpointed else {}))
    agent = LangGraphAgentAdapter(graph, "a", config=config)

    assert [agent.run(query) for query in "abc"] == ["One", "Two", "Three"]

    said = [(m["role"], m["content"]) for m in model.requests[-1]["messages"]]
    expected = [("user", "a"), ("assistant", "One"), ("user", "b"), ("assistant", "Two")]
    assert said == [*expected, ("user", "c")]
    kept = [(m["role"], m["content"]) for m in agent.get_messages()]
    assert kept == [*said, ("assistant", "Three")]


def test_a_fresh_adapter_starts_fresh_though_the_checkpointer_is_shared(serve):
    model, client = serve("One", "Two")
    graph = agent_graph(client, checkpointer=saver())

    LangGraphAgentAdapter(graph, "a").run("a")
    LangGraphAgentAdapter(graph, "b").run("b")

    assert [m["content"] for m in model.requests[-1]["messages"]] == ["b"]


def test_a_thread_that_is_bound_to_the_graph_is_used(serve):
    _, client = serve("One")
    graph = agent_graph(client, checkpointer=saver())
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

    agent = LangGraphAgentAdapter(one_node(answer, TypedDict("Plain", {"messages": list})), "a")

    assert [agent.run("a"), agent.run("b")] == ["Two", "Two"]
    assert [m.content for m in seen[-1]] == ["a", "Two", "b"]
    assert [m["content"] for m in agent.get_messages()] == ["a", "Two", "b", "Two"]


def test_a_graph_without_messages_is_refused_by_name():
    graph = one_node(lambda state: {"text": "x"}, TypedDict("Other", {"text": str}))

    with pytest.raises(ConfigurationError, match="'messages'"):
        LangGraphAgentAdapter(graph, "a").run("Hi")


def test_a_question_of_an_interrupted_graph_is_answered_by_the_next_turn():
    from langgraph.types import interrupt

    def answer(state):
        name = interrupt("What is your name?")
        return {"messages": [("ai", f"Hello {name}")]}

    agent = LangGraphAgentAdapter(one_node(answer, checkpointer=saver()), "a")

    assert agent.run("Hi") == "What is your name?"
    assert agent.run("Ann") == "Hello Ann"
    assert agent.run("Hi again") == "What is your name?"


async def an_answer(state: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [("ai", "from a coroutine")]}


def test_an_async_node_deep_in_a_graph_is_found_before_anything_is_done():
    from langgraph.graph import START, MessagesState, StateGraph

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
    from langchain_core.tools import StructuredTool

    async def look(where: str) -> str:
        return f"nothing {where}"

    tool = StructuredTool.from_function(coroutine=look, name="look", description="Look.")
    model, client = serve({"name": "look", "arguments": {"where": "here"}}, "Done")

    assert LangGraphAgentAdapter(agent_graph(client, [tool]), "a").run("Go") == "Done"
    assert len(model.requests) == 2
    assert model.requests[-1]["messages"][-1]["content"] == "nothing here"


@pytest.mark.parametrize("checkpointed", [False, True])
def test_async_middleware_runs(checkpointed, serve):
    from langchain.agents.middleware import wrap_model_call

    @wrap_model_call
    async def passing_on(request, handler):
        return await handler(request)

    model, client = serve("Done", "Again")
    kept = {"checkpointer": saver()} if checkpointed else {}
    graph = agent_graph(client, middleware=[passing_on], **kept)
    agent = LangGraphAgentAdapter(graph, "a")

    assert [agent.run("Go"), agent.run("On")] == ["Done", "Again"]
    assert [m["content"] for m in model.requests[-1]["messages"]] == ["Go", "Done", "On"]


def test_traces_and_configuration_can_be_stored_and_hold_no_secret(serve):
    from langchain_core.callbacks import StdOutCallbackHandler

    _, client = serve("One")
    config = {
        "configurable": {"thread_id": "t-1", "user": "u"},
        "recursion_limit": 50,
        "metadata": {"api_key": "secret-0"},
        "callbacks": [StdOutCallbackHandler()],
    }
    graph = agent_graph(client, as_tools([]), checkpointer=saver())
    agent = LangGraphAgentAdapter(graph, "a", config=config)
    agent.run("Hello")

    stored = json.dumps([agent.gather_config(), agent.gather_traces()])
    assert KEY not in stored and "secret-0" not in stored
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


def test_an_agent_at_a_limit_of_its_middleware_has_given_up(serve):
    from langchain.agents.middleware import ModelCallLimitMiddleware

    _, client = serve(LOOKING, loop=True)
    limit = ModelCallLimitMiddleware(run_limit=2, exit_behavior="error")
    graph = agent_graph(client, as_tools([look]), middleware=[limit])

    with pytest.raises(AgentGaveUpError, match="limit"):
        LangGraphAgentAdapter(graph, "a").run("Go")


def test_a_turn_that_failed_is_not_part_of_the_memory(clerk, server):
    server.will(Reply(OpenAIProtocol.error("broken"), 500), OpenAIProtocol.text("Hello"))
    agent = clerk(f"{server.url}/v1")

    with pytest.raises(MASEvalError):
        agent.run("a")

    assert agent.run("b") == "Hello"
    assert [m["content"] for m in server.requests[-1].body["messages"]] == ["Help.", "b"]
