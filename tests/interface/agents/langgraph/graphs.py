"""LangGraph graphs of three kinds, made by functions that import it when they are called."""

import contextlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.interface.agents.served import KEY


def chat_model(url: str, name: str, timeout: float = 120.0) -> Any:
    kind = import_module("langchain_openai").ChatOpenAI
    # With a number, the model would share a client that nobody may close.
    own = {"timeout": import_module("openai").Timeout(timeout), "max_retries": 0}
    return kind(model=name, base_url=url, api_key=KEY, **own)


def agent_graph(model: Any, tools: list[Any] | tuple[Any, ...] = (), **options: Any) -> Any:
    """As most are made; each call of an answer is a task of its own."""
    return import_module("langchain.agents").create_agent(model, tools, **options)


def custom_graph(
    model: Any,
    tools: list[Any] | tuple[Any, ...] = (),
    system_prompt: str | None = None,
    handling: bool | None = None,
    **options: Any,
) -> Any:
    """Made by hand, with LangGraph's node for tools, which gets all calls of an answer at once.

    ``handling`` is what that node does with tools that fail.
    """
    asking = model.bind_tools(tools)

    def answer(state):
        return {"messages": [asking.invoke(conversation(system_prompt, state))]}

    return loop_graph(answer, tools, handling, **options)


def async_graph(
    model: Any,
    tools: list[Any] | tuple[Any, ...] = (),
    system_prompt: None = None,
    handling: None = None,
    **options: Any,
) -> Any:
    """Of which one part is a coroutine."""
    asking = model.bind_tools(tools)

    async def answer(state):
        return {"messages": [await asking.ainvoke(conversation(system_prompt, state))]}

    return loop_graph(answer, tools, handling, **options)


def conversation(system_prompt: str | None, state: dict[str, Any]) -> list[Any]:
    return [*([("system", system_prompt)] if system_prompt else []), *state["messages"]]


GRAPHS = [agent_graph, custom_graph, async_graph]


def loop_graph(
    answer: Callable[..., Any],
    tools: list[Any] | tuple[Any, ...],
    handling: bool | None,
    **options: Any,
) -> Any:
    graph, prebuilt = import_module("langgraph.graph"), import_module("langgraph.prebuilt")
    handled = {} if handling is None else {"handle_tool_errors": handling}
    builder = graph.StateGraph(graph.MessagesState)
    builder.add_node("model", answer)
    builder.add_node("tools", prebuilt.ToolNode(tools, **handled))
    builder.add_edge(graph.START, "model")
    builder.add_conditional_edges("model", prebuilt.tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(**options)


def one_node(answer: Callable[..., Any], state: type[Any] | None = None, **options: Any) -> Any:
    graph = import_module("langgraph.graph")
    builder = graph.StateGraph(state or graph.MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(graph.START, "answer")
    return builder.compile(**options)


def saver() -> contextlib.AbstractContextManager:
    return import_module("langgraph.checkpoint.memory").InMemorySaver()
