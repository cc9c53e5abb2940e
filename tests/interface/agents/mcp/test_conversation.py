"""Conversations: the benchmark asks in one thread, the agent acts in another, each in its turn."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from maseval.core.clock import Clock
from maseval.core.exceptions import ConfigurationError, EnvironmentError, TaskTimeoutError
from maseval.interface.agents.mcp import McpAgentAdapter, conversation_server
from maseval.interface.agents.mcp_conversation import (
    BEGUN_AGAIN,
    AgentLeftError,
    AgentOutOfTurnError,
    Conversation,
)
from tests.interface.agents.mcp.client import MODES, connected, text_of, with_mcp


def weigh(item: str) -> str:
    """Weigh something."""
    return f"{item!r} ü"


def begun(
    tools: list[Callable[..., Any]] | tuple[Callable[..., Any]] = (weigh,),
    briefing: str = "Be kind.\n",
) -> tuple[Conversation, McpAgentAdapter, Future]:
    """A conversation whose benchmark has asked, the adapter, and what came of the question."""
    conversation = Conversation(lambda: None, briefing)
    agent = McpAgentAdapter(conversation, tools)
    conversation.read()
    return conversation, agent, asked(agent, "Hello?")


def asked(agent: McpAgentAdapter, query: str, clock: Clock | None = None) -> Future:
    answer: Future = Future()

    def ask():
        try:
            with (clock or Clock()).active():
                answer.set_result(agent.run(query))
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    agent.agent.read().result(5)
    return answer


def test_the_benchmark_begins_when_the_agent_first_reads():
    begins = []
    conversation = Conversation(lambda: begins.append(1))

    with pytest.raises(AgentOutOfTurnError, match="call read_customer first"):
        conversation.reply("Hello")
    assert not begins and not conversation.is_begun
    conversation.read()
    conversation.read()
    assert begins == [1] and conversation.is_begun


@pytest.mark.parametrize("text", ["", " \n", None, 5])
def test_a_reply_must_have_words(text):
    conversation, _, answer = begun()

    with pytest.raises(AgentOutOfTurnError, match="nothing was said"):
        conversation.reply(text)

    conversation.reply("Yes")
    assert answer.result(5) == "Yes"


def test_nothing_is_done_while_it_is_the_customers_turn():
    used = []

    def press() -> str:
        used.append(1)
        return "pressed"

    conversation, agent, answer = begun([press])
    conversation.reply("One moment")
    answer.result(5)

    for act in (lambda: conversation.call("press", {}), lambda: conversation.reply("And?")):
        with pytest.raises(AgentOutOfTurnError, match="customer's turn"):
            act()

    assert not used
    assert len(agent.get_messages()) == 2


def test_after_the_end_the_agent_is_told_how_it_ended():
    conversation, _, answer = begun()
    waiting = conversation.reply("Bye")
    answer.result(5)

    conversation.end("It is over.")

    assert waiting.result(5) == conversation.read().result(5) == "It is over."
    for act in (lambda: conversation.call("weigh", {}), lambda: conversation.reply("And?")):
        with pytest.raises(AgentOutOfTurnError, match=r"It is over\. This was not recorded\."):
            act()


def test_an_agent_that_leaves_has_failed():
    conversation, agent, answer = begun()

    conversation.leave(AgentLeftError("gone"))

    with pytest.raises(AgentLeftError):
        answer.result(5)
    with pytest.raises(AgentLeftError):
        agent.run("Still there?")
    assert agent.logs[-1]["error_type"] == "AgentLeftError"


def test_a_failure_that_is_not_the_agents_ends_the_wait_for_it():
    def press() -> str:
        raise EnvironmentError("the scales are broken")

    conversation, _, answer = begun([press])

    with pytest.raises(EnvironmentError):
        conversation.call("press", {})

    with pytest.raises(EnvironmentError):
        answer.result(5)
    second = asked(McpAgentAdapter(conversation, [weigh]), "Once more?")
    conversation.reply("Yes")
    assert second.result(5) == "Yes"


def test_the_last_words_of_an_agent_that_leaves_are_heard():
    conversation, agent, answer = begun()

    conversation.reply("Bye")
    conversation.leave(AgentLeftError("gone"))

    assert answer.result(5) == "Bye"
    with pytest.raises(AgentLeftError):
        agent.run("Wait")


def test_the_wait_for_an_agent_ends_with_the_repetition():
    conversation = Conversation(lambda: None)
    agent = McpAgentAdapter(conversation, [weigh])
    conversation.read()

    answer = asked(agent, "Hello?", Clock(0.2))

    with pytest.raises(TaskTimeoutError):
        answer.result(5)
    with pytest.raises(AgentOutOfTurnError, match="not recorded"):
        conversation.call("weigh", {"item": "late"})


def test_the_agent_is_told_when_everything_begins_again():
    conversation, first, answer = begun()
    waiting = conversation.reply("Hi")
    answer.result(5)

    second = asked(McpAgentAdapter(conversation, [weigh]), "Hello again?")

    assert waiting.result(5) == f"{BEGUN_AGAIN}\n\nHello again?"
    conversation.reply("Hi again")
    assert second.result(5) == "Hi again"
    assert len(first.get_messages()) == 2


def test_a_client_that_cancels_its_wait_does_no_harm():
    conversation, agent, answer = begun()
    conversation.reply("Hi").cancel()
    answer.result(5)

    second = asked(agent, "And then?")

    conversation.reply("That is all")
    assert second.result(5) == "That is all"


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
    roles = [message["role"] for message in agent.get_messages()]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    call, result = agent.get_messages()[1:3]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"]
    assert agent.gather_config()["mcp_client"].startswith("mcp ")
    json.dumps([agent.gather_config(), agent.gather_traces()])


def test_a_tool_may_not_have_the_name_of_one_to_talk_with():
    with pytest.raises(ConfigurationError, match="'read_customer'"):
        conversation_server(Conversation(lambda: None), {"read_customer": weigh}, name="x")
