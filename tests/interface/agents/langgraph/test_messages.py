import pytest

from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools
from tests.interface.agents.frameworks import LangGraph
from tests.interface.agents.langgraph.graphs import agent_graph, one_node
from tests.interface.agents.served import look

pytestmark = LangGraph.marks()


@pytest.fixture(scope="module")
def kind():
    return LangGraph


def test_an_answer_in_parts_is_its_text():
    from langchain_core.messages import AIMessage

    parts = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "Hello "},
        "world",
        {"type": "tool_use", "id": "1", "name": "x", "input": {}},
    ]
    agent = LangGraphAgentAdapter(one_node(lambda state: {"messages": [AIMessage(parts)]}), "a")

    assert agent.run("Hi") == "Hello world"
    assert agent.get_messages()[-1] == {"role": "assistant", "content": "Hello world"}


def test_a_picture_in_a_message_is_kept():
    from langchain_core.messages import AIMessage, HumanMessage

    picture = [{"type": "image_url", "image_url": {"url": "data:"}}, "see"]
    said = [HumanMessage(picture, name="eye"), AIMessage("I see")]
    agent = LangGraphAgentAdapter(one_node(lambda state: {"messages": said}), "a")
    agent.run("Look")

    assert agent.get_messages()[1] == {
        "role": "user",
        "content": [picture[0], {"type": "text", "text": "see"}],
        "name": "eye",
    }


def test_calls_that_are_not_json_are_kept_as_they_were_written(serve):
    broken = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{where: "}}
    _, client = serve({"content": "", "tool_calls": [broken]})
    agent = LangGraphAgentAdapter(agent_graph(client, as_tools([look])), "a")

    assert agent.run("Look") == ""
    assert agent.get_messages()[-1]["tool_calls"] == [broken]
