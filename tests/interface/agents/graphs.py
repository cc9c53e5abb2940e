"""LangGraph graphs of three kinds, and scripted models for them behind a local server."""

from maseval import ScriptedModelAdapter
from maseval.interface.extras import is_installed

if is_installed("langgraph"):
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

API_KEY = "key-1234567890"


def chat_model(url, name, timeout=5.0):
    return ChatOpenAI(model=name, base_url=url, api_key=API_KEY, max_retries=0, timeout=timeout)


def agent_graph(model, tools, **options):
    """As most are made; each call of an answer is a task of its own."""
    return create_agent(model, tools, **options)


def custom_graph(model, tools, **options):
    """Made by hand, with LangGraph's node for tools, which gets all calls of an answer at once."""
    asking = model.bind_tools(tools)

    def answer(state):
        return {"messages": [asking.invoke(state["messages"])]}

    return loop_graph(answer, ToolNode(tools), **options)


def async_graph(model, tools, **options):
    """Of which one part is a coroutine."""
    asking = model.bind_tools(tools)

    async def answer(state):
        return {"messages": [await asking.ainvoke(state["messages"])]}

    return loop_graph(answer, ToolNode(tools), **options)


GRAPHS = [agent_graph, custom_graph, async_graph]


def loop_graph(answer, tools, **options):
    builder = StateGraph(MessagesState)
    builder.add_node("model", answer)
    builder.add_node("tools", tools)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(**options)


def handling_graph(model, tools, handling):
    """With a way of its own to treat tools that fail."""
    asking = model.bind_tools(tools)

    def answer(state):
        return {"messages": [asking.invoke(state["messages"])]}

    return loop_graph(answer, ToolNode(tools, handle_tool_errors=handling))


def one_node(answer, state=None, **options):
    builder = StateGraph(state or MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(**options)


def serve_model(server, replies, **options):
    """Serve a scripted model in place of the one before; the model and a client for it."""
    server.remove("served")
    model = ScriptedModelAdapter(replies, model_id="served", **options)
    return model, chat_model(server.url, server.add(model))


def recorder():
    """What a tool was called with, and the tool."""
    calls = []

    def take(**arguments):
        """Take what comes."""
        calls.append(arguments)
        return 'täken ✓ \\n "as is"' * 3

    return calls, take
