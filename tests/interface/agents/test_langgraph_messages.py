import json
from functools import partial

import pytest

from maseval.core.messages import tool_call
from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools
from maseval.interface.extras import is_installed
from maseval.server import ModelServer
from tests.interface.agents.graphs import (
    one_node,
    recorder,
    serve_model,
)
from tests.interface.libraries import QUIET_LITELLM, needing

if is_installed("langgraph"):
    from langchain.agents import create_agent
    from langchain_core.messages import AIMessage, HumanMessage

pytestmark = [pytest.mark.data, QUIET_LITELLM, *needing("langgraph")]


@pytest.fixture(scope="module")
def models():
    with ModelServer() as server:
        yield server


@pytest.fixture
def serve(models):
    return partial(serve_model, models)


def test_messages_have_the_shape_of_openai(serve):
    def look(where: str) -> str:
        """Look."""
        return f"nothing in {where}"

    call = tool_call("look", {"where": "Köln"}, id="id-1")
    _, client = serve([{"content": "Let me see", "tool_calls": [call]}, "Nothing there"])
    agent = LangGraphAgentAdapter(create_agent(client, as_tools([look])), "a")
    agent.run("Look")

    first, calling, result, last = agent.get_messages().to_list()
    assert first == {"role": "user", "content": "Look"}
    function = calling["tool_calls"][0].pop("function")
    assert calling == {
        "role": "assistant",
        "content": "Let me see",
        "tool_calls": [{"id": "id-1", "type": "function"}],
    }
    assert function["name"] == "look"
    assert json.loads(function["arguments"]) == {"where": "Köln"}
    assert result == {
        "role": "tool",
        "content": "nothing in Köln",
        "tool_call_id": "id-1",
        "name": "look",
    }
    assert last == {"role": "assistant", "content": "Nothing there"}


def test_an_answer_in_parts_is_its_text():
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
    _, client = serve([{"content": "", "tool_calls": [broken]}])
    agent = LangGraphAgentAdapter(create_agent(client, as_tools({"look": recorder()[1]})), "a")

    assert agent.run("Look") == ""
    assert agent.get_messages()[-1]["tool_calls"] == [broken]
