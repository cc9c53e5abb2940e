"""Agents that come to us by MCP, through the real client library."""

import json
import threading

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.interface.agents.mcp import McpAgentAdapter, conversation_server
from maseval.interface.agents.mcp_conversation import Conversation
from tests.interface.agents.mcp.client import MODES, connected, text_of, with_mcp


def weigh(item: str) -> str:
    """Weigh something."""
    return f"{item!r} ü"


@with_mcp
@MODES
def test_an_agent_takes_part_by_mcp(mode):
    conversation = Conversation(lambda: thread.start(), "Policy.\n")
    agent = McpAgentAdapter(conversation, [weigh])
    heard = []

    def benchmark():
        heard.append(agent.run("Weigh my tea"))
        heard.append(agent.run("Thanks"))
        conversation.end("The end.")

    thread = threading.Thread(target=benchmark)
    server = conversation_server(conversation, [weigh], name="shop")

    async def play(client):
        names = [tool.name for tool in (await client.list_tools()).tools]
        return names, [
            await text_of(client, "weigh", {"item": "early"}),
            await text_of(client, "read_customer"),
            await text_of(client, "weigh", {"item": "tea"}),
            await text_of(client, "reply_to_customer", {"text": "Heavy"}),
            await text_of(client, "reply_to_customer", {"words": "?"}),
            await text_of(client, "reply_to_customer", {"text": "Bye"}),
            await text_of(client, "read_customer"),
        ]

    names, said = connected(server, play, mode)
    thread.join()

    assert names == ["read_customer", "reply_to_customer", "weigh"]
    assert "call read_customer first" in said[0]
    assert said[1:4] == ["Policy.\nWeigh my tea", "'tea' ü", "Thanks"]
    assert said[4].startswith("Error:") and "words" in said[4]
    assert said[5:] == ["The end.", "The end."]
    assert heard == ["Heavy", "Bye"]
    assert agent.gather_config()["mcp_client"].startswith("mcp ")
    json.dumps([agent.gather_config(), agent.gather_traces()])


def test_a_tool_may_not_have_the_name_of_one_to_talk_with():
    with pytest.raises(ConfigurationError, match="'read_customer'"):
        conversation_server(Conversation(lambda: None), {"read_customer": weigh}, name="x")
