import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from maseval.core.exceptions import AgentError, ConfigurationError, UserError
from maseval.core.messages import tool_call
from maseval.core.provider_errors import ProviderTimeoutError, RateLimitError
from maseval.interface.agents.camel import CamelAgentAdapter, CamelAgentUser, as_tools
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.testing.provider_server import OpenAIProtocol, Reply
from tests.interface.agents.served import KEY, NAME, answers, ask_in_vain, served


@pytest.fixture
def chat_agent(clerk: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **options: clerk(*arguments, **options).agent


def look(text: str = "", numbers: list[int] | None = None) -> str:
    """Look at something."""
    return text


def said(messages: list[dict[str, Any]]) -> list[Any]:
    """Role and text of each message, or the ids of its calls."""
    return [
        (m["role"], [c["id"] for c in m["tool_calls"]] if m.get("tool_calls") else m["content"])
        for m in messages
    ]


def test_each_turn_is_told_in_the_traces(clerk):
    arguments = {"text": "é" * 600}
    with served(tool_call("look", arguments, id="c1"), "Done.", "Bye.") as (_, url):
        agent = clerk(url, [look])
        agent.run("Look")
        agent.run("Thanks")

    traces = json.loads(json.dumps(agent.gather_traces()))
    first, second = traces["logs"]
    told = ("total_steps", "total_tool_calls", "last_terminated", "message_count")
    assert [traces[key] for key in told] == [2, 1, False, 7]
    assert (first["step_number"], first["status"], first["query"]) == (1, "success", "Look")
    assert first["tool_calls"] == [
        {
            "name": "look",
            "arguments": arguments,
            "result": "é" * 500,
            "id": "c1",
            "images_count": 0,
        }
    ]
    assert (second["response_preview"], second["termination_reasons"]) == ("Bye.", ["stop"])


def test_the_configuration_tells_of_agent_and_model(clerk):
    options = {"temperature": 0.0, "extra_headers": {"Authorization": f"Bearer {KEY}"}}
    agent = clerk(
        "http://localhost:1/v1",
        [look],
        model={"model_config_dict": options},
        max_iteration=5,
    )

    config = json.loads(json.dumps(agent.gather_config()))["camel_config"]

    assert KEY not in json.dumps(config)
    assert config["model_config"]["temperature"] == 0.0
    assert (config["system_message"], config["model_type"]) == ("Help.", NAME)
    assert (config["tools"], config["memory_type"]) == (["look"], "ChatHistoryMemory")
    assert (config["max_iteration"], config["summarize_threshold"]) == (5, None)


def test_camel_tries_again_after_a_429_as_often_as_it_is_told(server, clerk):
    refusal = Reply({"error": {"message": "slow"}}, 429, headers={"Retry-After": "7"})
    server.will(*[refusal] * 3)
    agent = clerk(f"{server.url}/v1", retry_attempts=3, retry_delay=0.01)

    with pytest.raises(RateLimitError) as caught:
        agent.run("Hi")

    assert len(server.requests) == 3
    assert caught.value.retry_after == 7.0


def test_an_agent_has_its_own_models_again_after_a_turn(clerk):
    with served("Hello.") as (_, url):
        adapter = clerk(url)
        models = adapter.agent.model_backend
        adapter.run("Hi")
        with pytest.raises(Exception, match="its 1 replies"):
            adapter.run("Again")

    assert adapter.agent.model_backend is models


@pytest.mark.parametrize("text", ["", "{", "[1]"])
def test_arguments_that_are_no_json_object_are_the_agents_failure(text, clerk):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": text}}
    with (
        served(call) as (_, url),
        pytest.raises(AgentGaveUpError, match="not a JSON object"),
    ):
        clerk(url, [look]).run("Look")


def test_the_conversation_is_the_agents_and_not_the_adapters(clerk):
    with served("Hello.", "Hello.") as (model, url):
        first = clerk(url)
        first.run("Hi")
        CamelAgentAdapter(first.agent, "another").run("Ho")

    assert [text for _, text in said(model.requests[-1]["messages"])] == [
        *("Help.", "Hi", "Hello.", "Ho")
    ]


def test_an_external_tool_is_never_answered_and_the_agent_gives_up(clerk):
    with served({"name": "look"}) as (_, url):
        agent = clerk(url, external_tools=as_tools([look]))
        with pytest.raises(AgentGaveUpError, match="this adapter cannot answer: look"):
            agent.run("Look")

    assert agent.logs[0]["external_tool_call_requests"][0]["name"] == "look"


def test_a_terminator_ends_the_conversation_with_an_answer(clerk):
    terminators = import_module("camel.terminators")
    words = terminators.ResponseWordsTerminator({"BYE": 1})
    with served("Well.", "BYE") as (model, url):
        agent = clerk(url, response_terminators=[words])
        assert agent.run("Hi") == "BYE"

    assert len(model.requests) == 2
    assert agent.gather_traces()["last_terminated"] is True


def test_the_time_out_of_a_step_is_the_agents_failure(clerk):
    with (
        served("Hello.", delay_seconds=0.3) as (_, url),
        pytest.raises(AgentGaveUpError, match="timed out after"),
    ):
        clerk(url, step_timeout=0.1).run("Hi")


def test_of_several_answers_the_first_is_given_and_remembered(server, clerk):
    both = OpenAIProtocol.text("One.")
    both["choices"] += [{**OpenAIProtocol.text("Two.")["choices"][0], "index": 1}]
    server.will(both)
    agent = clerk(f"{server.url}/v1", model={"model_config_dict": {"n": 2}})

    assert agent.run("Hi") == "One."
    assert said(agent.get_messages())[1:] == [("user", "Hi"), ("assistant", "One.")]


def test_a_model_that_streams_is_a_mistake_of_the_set_up(clerk):
    agent = clerk("http://localhost:1/v1", model={"model_config_dict": {"stream": True}})

    with pytest.raises(ConfigurationError, match="without 'stream'"):
        agent.run("Hi")


@pytest.mark.parametrize("step_timeout", [None, 5.0])
def test_a_named_error_of_a_tool_comes_out_as_it_is(step_timeout, clerk):
    with (
        served({"name": "ask_in_vain"}) as (_, url),
        pytest.raises(ProviderTimeoutError, match="too slow"),
    ):
        clerk(url, [ask_in_vain], step_timeout=step_timeout).run("Ask")


@pytest.mark.parametrize("error", [ValueError("not so"), AgentError("not so")])
def test_a_failing_tool_is_told_to_the_model_as_camel_does(error, clerk):
    def fail() -> str:
        """Fail."""
        raise error

    with served({"name": "fail"}, {"name": "fly"}, "Sorry.") as (model, url):
        assert clerk(url, [fail]).run("Fail") == "Sorry."

    assert answers(model) == [
        "Tool execution failed: Error executing tool 'fail': not so",
        "Tool execution failed: Tool 'fly' not found in registered tools",
    ]


def test_a_chat_agent_can_play_the_user(chat_agent):
    counted = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    with served("The red one.", "Thanks.", usage=counted) as (model, url):
        user = CamelAgentUser(chat_agent(url), "I want a bag. " * 20, max_turns=2)
        said = [user.get_initial_query(), user.respond("Which?"), user.respond("Here.")]
        assert user.is_done()
        assert user.respond("Anything else?") == ""

    assert said == ["I want a bag. " * 20, "The red one.", "Thanks."]
    assert [(m["role"], m["content"]) for m in model.requests[-1]["messages"]][1:] == [
        *(("assistant", said[0]), ("user", "Which?")),
        *(("assistant", said[1]), ("user", "Here.")),
    ]
    assert user.gather_usage().total_tokens == 24
    traces, config = user.gather_traces(), user.gather_config()
    assert [traces[key] for key in ("name", "turns_used", "max_turns", "agent_type")] == [
        *("camel_agent_user", 2, 2, "ChatAgent")
    ]
    assert len(traces["logs"]) == 2
    assert config["initial_query"] == said[0][:200]
    assert (config["name"], config["max_turns"]) == ("camel_agent_user", 2)


def test_a_chat_agent_that_plays_the_user_can_be_asked_by_a_tool(clerk, chat_agent):
    ask = {"name": "ask_user", "arguments": {"question": "Which?"}}
    with served("The red one.") as (_, one), served(ask, ask, "Fine.") as (model, two):
        user = CamelAgentUser(chat_agent(one), "A bag!", max_turns=1)
        agent = clerk(two, own_tools=[user.get_tool()])
        assert agent.run(user.get_initial_query()) == "Fine."

    assert answers(model) == ["The red one.", ""]
    assert user.is_done()


def test_a_user_is_done_when_its_terminator_says_so(chat_agent):
    words = import_module("camel.terminators").ResponseWordsTerminator({"BYE": 1})
    with served("BYE") as (_, url):
        user = CamelAgentUser(chat_agent(url, response_terminators=[words]), "Hi")
        assert (user.is_done(), user.respond("Hello."), user.is_done()) == (False, "BYE", True)


def test_a_user_that_gives_up_is_the_users_failure(chat_agent):
    with served({"name": "look"}, loop=True) as (_, url):
        user = CamelAgentUser(chat_agent(url, [look], max_iteration=1), "Hi")
        with pytest.raises(UserError, match="max_iteration=1"):
            user.respond("Hello.")


def test_an_agent_without_a_model_of_camels_answers_by_its_step():
    class Duck:
        def step(self, query):
            message = type("Message", (), {"content": f"Quack, {query}"})
            told = {"msgs": [message], "msg": message, "terminated": False, "info": {}}
            return type("Response", (), told)

    agent = CamelAgentAdapter(Duck(), "duck")

    assert agent.run("Hi") == "Quack, Hi"
    assert agent.gather_traces()["total_steps"] == 1
    assert agent.gather_config()["agent_type"] == "Duck"


def test_an_agent_of_another_kind_is_refused_by_name():
    with pytest.raises(ConfigurationError, match=r"agent 'x' \(object\) is not one that Camel"):
        CamelAgentAdapter(object(), "x").run("Hi")
