"""Graphs within graphs: each agent's own messages and tokens, and no call counted twice."""

import operator
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Annotated, Any, TypedDict

import pytest

from maseval.core.clock import Clock
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.usage import Usage
from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools
from tests.interface.agents.frameworks import LangGraph
from tests.interface.agents.langgraph import graphs
from tests.interface.agents.served import CALLERS, LOOKING, look, served


def message(text: str, **more: Any) -> Any:
    return import_module("langchain_core.messages").AIMessage(text, **more)


def tokens(asked: int, answered: int) -> dict[str, int]:
    return {"input_tokens": asked, "output_tokens": answered, "total_tokens": asked + answered}


def graph_of(*nodes: tuple[str, Any]) -> Any:
    """A graph that runs the nodes one after another."""
    library = import_module("langgraph.graph")
    graph = library.StateGraph(library.MessagesState)
    graph.add_sequence(list(nodes))
    graph.add_edge(library.START, nodes[0][0])
    return graph.compile()


class Replacing(TypedDict):
    messages: list


class Adding(TypedDict):
    messages: Annotated[list, operator.add]


@pytest.mark.parametrize("state", [Replacing, Adding])
@pytest.mark.parametrize("keeps", [True, False])
def test_tokens_of_messages_count_though_no_model_was_heard_and_no_id_was_given(state, keeps):
    def say(state):
        return {"messages": [message("Hello.", usage_metadata=tokens(3, 4))]}

    options = {"checkpointer": graphs.saver()} if keeps else {}
    agent = LangGraphAgentAdapter(graphs.one_node(say, state, **options), "maker")

    for turn in (1, 2):
        assert agent.run("Hi") == "Hello."
        assert agent.gather_usage().total_tokens == 7 * turn
        assert agent.logs[-1]["total_tokens"] == 7


@pytest.mark.parametrize("state", [Replacing, Adding])
def test_an_answer_of_a_model_counts_once_in_every_state(framework, state):
    with served("Hello.", loop=True) as (model, url):
        chat = framework.model_at(url)

        def say(state):
            return {"messages": [chat.invoke(state["messages"])]}

        agent = LangGraphAgentAdapter(graphs.one_node(say, state), "talker")
        agent.run("Hi")
        agent.run("Ho")

    assert agent.gather_usage().total_tokens == model.gather_usage().total_tokens


def test_an_answer_that_a_node_passes_on_in_another_form_counts_once(framework):
    with served("Hello.") as (model, url):
        chat = framework.model_at(url)

        def say(state):
            answer = chat.invoke(state["messages"])
            return {"messages": [message("Hi!", usage_metadata=answer.usage_metadata)]}

        agent = LangGraphAgentAdapter(graph_of(("say", say)), "repeater")
        assert agent.run("Hi") == "Hi!"

    assert agent.gather_usage().total_tokens == model.gather_usage().total_tokens


@pytest.fixture
def pair(framework: LangGraph) -> Iterator[tuple[ScriptedModelAdapter, Any]]:
    """Serves two models; yields them and a way to put an agent with the second into a graph."""
    with served("One.", "Two.", loop=True) as (inner, inner_url):
        expert = graphs.agent_graph(framework.model_at(inner_url), [], system_prompt="Know.")
        yield inner, expert


def as_node(expert: Any) -> Any:
    return expert


def as_function(expert: Any) -> Callable[..., Any]:
    return lambda state: {"messages": expert.invoke({"messages": state["messages"]})["messages"]}


def as_async_function(expert: Any) -> Callable[..., Any]:
    async def run(state):
        answer = await expert.ainvoke({"messages": state["messages"]})
        return {"messages": answer["messages"]}

    return run


WAYS = [as_node, as_function, as_async_function]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("adapted", [True, False])
def test_a_graph_within_another_counts_for_its_own_adapter_if_it_has_one(
    framework, pair, way, adapted
):
    inner, expert = pair
    with served("Ask the expert.", loop=True) as (outer, url):
        chat = framework.model_at(url)
        lead = ("lead", lambda state: {"messages": [chat.invoke(state["messages"])]})
        other = LangGraphAgentAdapter(expert, "expert") if adapted else None
        agent = LangGraphAgentAdapter(graph_of(lead, ("expert", way(expert))), "lead")
        agent.run("Hi")
        assert agent.run("More") in ("One.", "Two.")

    own, others = outer.gather_usage().total_tokens, inner.gather_usage().total_tokens
    if other is None:
        assert agent.gather_usage().total_tokens == own + others
        return
    assert agent.gather_usage().total_tokens == own
    assert other.gather_usage().total_tokens == others
    said = [m["content"] for m in other.get_messages() if m["role"] == "assistant"]
    assert said == ["Ask the expert.", "One.", "Ask the expert.", "Two."]
    assert other.gather_traces()["message_count"] == 7  # with the system prompt


def test_an_adapter_of_another_repetition_hears_nothing(framework, pair):
    inner, expert = pair
    with Clock().active():
        elsewhere = LangGraphAgentAdapter(expert, "expert")
    agent = LangGraphAgentAdapter(graph_of(("expert", expert)), "lead")

    agent.run("Hi")

    assert elsewhere.gather_usage() == Usage()
    assert agent.gather_usage().total_tokens == inner.gather_usage().total_tokens


@pytest.mark.parametrize("adapted", [True, False])
def test_a_tool_call_is_of_the_graph_that_makes_it(framework, adapted):
    CALLERS.clear()
    make = import_module("langchain.agents").create_agent
    ask = {"name": "ask", "arguments": {"question": "What now?"}}
    with (
        served(LOOKING, ask, "Thanks.") as (_, url),
        served(LOOKING, "Seen.") as (_, expert_url),
    ):
        expert = make(framework.model_at(expert_url), as_tools([look]), name="expert")
        other = LangGraphAgentAdapter(expert, "the expert") if adapted else None

        async def ask(question: str) -> str:
            """Ask the expert."""
            answer = await expert.ainvoke({"messages": [("user", question)]})
            return answer["messages"][-1].content

        tool = import_module("langchain_core.tools").StructuredTool.from_function(coroutine=ask)
        tools = [*as_tools([look]), tool]
        agent = LangGraphAgentAdapter(make(framework.model_at(url), tools, name="boss"), "lead")
        assert agent.run("Help") == "Thanks."

    expected = ["lead", "expert" if other is None else other.name]
    assert expected == CALLERS
