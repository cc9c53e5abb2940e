import asyncio
import json
import logging
import threading
from importlib import import_module

import pytest

from maseval import ScriptedModelAdapter
from maseval.benchmark.tau2 import Tau2Environment, load_tasks
from maseval.core.exceptions import AgentError, ConfigurationError, UserError
from maseval.core.messages import tool_call
from maseval.core.provider_errors import (
    MalformedResponseError,
    ProviderTimeoutError,
    RateLimitError,
)
from maseval.core.tool import tool_definition
from maseval.core.usage import Usage
from maseval.interface import extras
from maseval.interface.agents.camel import (
    CamelAgentAdapter,
    CamelAgentUser,
    CamelLLMUser,
    as_tools,
    token_counter,
)
from maseval.interface.agents.framework import AgentGaveUpError
from tests.interface.agents.served import (
    DOMAINS,
    FAILURES,
    HARD_ARGUMENTS,
    KEY,
    NAME,
    answers,
    example_of,
    recorded_calls,
    same_json,
    served,
)
from tests.interface.agents.solving import solve
from tests.interface.libraries import needing
from tests.interface.provider_server import OpenAIProtocol, Reply

pytestmark = pytest.mark.data

UNLIMITED = 10**9


def with_camel(test):
    for mark in needing("camel"):
        test = mark(test)
    return test


def model_at(url, name=NAME, **options):
    return import_module("camel.models").ModelFactory.create(
        "openai-compatible-model",
        name,
        url=url,
        api_key=KEY,
        token_counter=token_counter(),
        **{"max_retries": 0, **options},
    )


def chat_agent(url, tools=(), *, instructions="Help.", name=NAME, model=None, **options):
    return import_module("camel.agents").ChatAgent(
        instructions,
        model_at(url, name, **(model or {})),
        tools=as_tools(tools),
        **{"summarize_threshold": None, "token_limit": UNLIMITED, "retry_attempts": 1, **options},
    )


def clerk(url, tools=(), **options):
    return CamelAgentAdapter(chat_agent(url, tools, **options), "clerk")


def tau2_agent(environment, url, name):
    return clerk(url, environment.tools, instructions=environment.policy, name=name)


def look(text: str = "", numbers: list[int] | None = None) -> str:
    """Look at something."""
    return text


def said(messages):
    """Role and text of each message, or the ids of its calls."""
    return [
        (m["role"], [c["id"] for c in m["tool_calls"]] if m.get("tool_calls") else m["content"])
        for m in messages
    ]


@with_camel
def test_a_retail_task_is_solved_by_the_reference_calls():
    solved = solve(tau2_agent)

    gold = load_tasks("retail")[0].evaluation_data["actions"]
    assert solved.rewards == [1.0]
    assert recorded_calls(solved.environments[0]) == [(a["name"], a["arguments"]) for a in gold]


@with_camel
def test_the_conversation_is_remembered_over_the_turns_of_a_telecom_task():
    solved = solve(tau2_agent, "telecom", [str(load_tasks("telecom")[0].id)])

    assert solved.rewards == [1.0]
    roles = [message["role"] for message in solved.last_request()]
    assert roles.count("user") > 1
    first = next(m for m in solved.last_request() if m["role"] == "user")
    assert first["content"] == solved.agents[0].logs[0]["query"]
    assert len(solved.agents[0].logs) == roles.count("user")


@with_camel
def test_simulations_run_side_by_side():
    solved = solve(tau2_agent, ids=("0", "1", "2", "3"), num_workers=4)

    assert solved.rewards == [1.0] * 4


@with_camel
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_model_is_told_all_of_every_tool(domain):
    tools = Tau2Environment({"domain": domain}).tools
    with served("Hello!") as (model, url):
        clerk(url, tools).run("Hi")

    expected = [tool_definition(function, name=name) for name, function in tools.items()]
    assert model.requests[0]["tools"] == expected


@with_camel
@pytest.mark.parametrize("arguments", [*HARD_ARGUMENTS, {"args": 1, "kwargs": 2}], ids=json.dumps)
def test_arguments_and_results_pass_unchanged(arguments):
    received = []

    def look_up(**arguments) -> str:
        received.append(arguments)
        return f"résumé <{arguments}> \\n \U0001f600"

    with served({"name": "look_up", "arguments": arguments}, "Done.") as (model, url):
        assert clerk(url, [look_up]).run("Look") == "Done."

    assert same_json(received, [arguments])
    assert answers(model) == [look_up(**arguments)]


@with_camel
@pytest.mark.parametrize(
    "arguments",
    [{"order_id": 5}, {"order_id": "#W0", "why": "é"}, {}, {"order_id": "#W0", "self": 1}],
)
def test_the_environment_itself_answers_bad_arguments(arguments):
    name = "get_order_details"
    environment = Tau2Environment({"domain": "retail"})
    with served({"name": name, "arguments": arguments}, "Sorry.") as (model, url):
        clerk(url, environment.tools).run("Where is it?")

    call = {"name": name, "arguments": arguments}
    assert answers(model) == [Tau2Environment({"domain": "retail"}).respond(call)["content"]]
    assert recorded_calls(environment) == [(name, arguments)]


@with_camel
def test_the_tools_of_a_cloned_agent_are_the_same():
    environment = Tau2Environment({"domain": "airline"})
    name, arguments = "book_reservation", {"flights": [{"flight_number": 1}], "passengers": [{}]}
    with served({"name": name, "arguments": arguments}, "Sorry.") as (_, url):
        agent = chat_agent(url, environment.tools).clone()
        CamelAgentAdapter(agent, "clerk").run("Book")

    assert recorded_calls(environment) == [(name, arguments)]


@with_camel
def test_a_long_result_is_not_cut():
    long = "é" * 300_000

    def tell() -> str:
        """Tell."""
        return long

    with served({"name": "tell"}, "Done.") as (model, url):
        clerk(url, [tell]).run("Tell")

    assert answers(model) == [long]


@with_camel
def test_results_that_are_no_text_reach_the_model_as_json():
    def count() -> dict:
        """Count."""
        return {"länge": [1, None]}

    with served({"name": "count"}, "Done.") as (model, url):
        clerk(url, {"count": count}).run("Count")

    assert answers(model) == ['{"länge":[1,null]}']


@with_camel
def test_calls_of_one_answer_are_made_in_its_order():
    environment = Tau2Environment({"domain": "retail"})
    calls = [
        {"name": "get_order_details", "arguments": {"order_id": f"#W{number}"}, "id": f"c{number}"}
        for number in range(8)
    ]
    with served(calls, "Done.") as (model, url):
        agent = clerk(url, environment.tools)
        agent.run("Where are they?")

    assert recorded_calls(environment) == [(call["name"], call["arguments"]) for call in calls]
    told = [m["tool_call_id"] for m in model.requests[-1]["messages"] if m["role"] == "tool"]
    assert told == [call["id"] for call in calls]


@with_camel
def test_camel_sends_calls_of_earlier_turns_out_of_order_unless_it_is_told_not_to():
    replies = [*[tool_call("look", {"text": n}, id=n) for n in "abc"], "Done.", "Bye."]

    def last_request(prepare):
        with served(*replies) as (model, url):
            agent = clerk(url, [look])
            prepare(agent.agent.model_backend.models[0])
            agent.run("Look <think>hard</think> ")
            agent.run("Thanks")
        return said(model.requests[-1]["messages"])[1:], said(agent.get_messages())[1:-1]

    def keep_order(model):
        model.preprocess_messages = list

    sent, remembered = last_request(keep_order)
    assert sent == remembered
    assert [text for _, text in sent] == [
        *("Look <think>hard</think> ", ["a"], "a", ["b"], "b", ["c"], "c", "Done.", "Thanks")
    ]
    sent, remembered = last_request(lambda model: None)
    assert [text for _, text in sent] == [
        *("Look", ["a"], "a", "Done.", ["b"], "b", "Thanks", ["c"], "c")
    ]
    assert remembered[-1] == ("user", "Thanks")


@with_camel
# CAMEL warns of calling its own method.
@pytest.mark.filterwarnings("ignore:summarize\\(\\) is synchronous:DeprecationWarning")
@pytest.mark.parametrize(("threshold", "kept"), [(None, True), (50, False)])
def test_camel_replaces_a_long_conversation_by_a_summary_unless_it_is_told_not_to(
    threshold, kept, monkeypatch, tmp_path
):
    monkeypatch.setenv("CAMEL_WORKDIR", str(tmp_path))
    counted = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    with served("Yes.", "In short.", "Well.", usage=counted) as (model, url):
        agent = clerk(url, summarize_threshold=threshold, token_limit=200)
        agent.run("Hello")
        agent.run("Again")

    assert any(m["content"] == "Hello" for m in model.requests[-1]["messages"]) is kept
    assert len(model.requests) == (2 if kept else 3)
    assert agent.gather_usage().total_tokens == 120 * len(model.requests)
    assert (tmp_path / "context_files").exists() is not kept


@with_camel
def test_messages_have_openais_form():
    calls = [tool_call("look", {"text": "é", "numbers": []}, id=f"c{n}") for n in (1, 2)]
    with served({"content": "One moment.", "tool_calls": calls}, "Done.", "Bye.") as (_, url):
        agent = clerk(url, [look])
        agent.run("Look")
        agent.run("Thanks")

    messages = agent.get_messages().to_openai_format()
    for call in messages[2]["tool_calls"]:
        call["function"]["arguments"] = json.dumps(json.loads(call["function"]["arguments"]))
    assert messages == [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": "One moment.", "tool_calls": calls},
        {"role": "tool", "content": "é", "name": "look", "tool_call_id": "c1"},
        {"role": "tool", "content": "é", "name": "look", "tool_call_id": "c2"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": "Bye."},
    ]


@with_camel
def test_usage_is_what_the_server_counted_over_all_turns():
    counted = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    with served({"name": "look"}, "Done.", "Bye.", usage=counted) as (_, url):
        seen = []
        agent = clerk(url, [look], on_request_usage=lambda told: seen.append(told))
        assert type(agent.gather_usage()) is Usage
        agent.run("Look")
        agent.run("Thanks")

    usage = agent.gather_usage().to_dict()
    assert {name: usage[name] for name in counted} == {k: 3 * n for k, n in counted.items()}
    assert [entry["total_tokens"] for entry in agent.logs] == [240, 120]
    assert len(seen) == 3


@with_camel
def test_tokens_of_a_turn_that_fails_are_counted():
    with served({"name": "look"}, usage={"input_tokens": 9, "output_tokens": 1}) as (_, url):
        agent = clerk(url, [look])
        with pytest.raises(Exception, match="has 1 replies"):
            agent.run("Look")

    assert agent.gather_usage().input_tokens == 9
    assert agent.logs[-1]["status"] == "error"
    assert (agent.logs[-1]["step_number"], agent.logs[-1]["query"]) == (1, "Look")


@with_camel
def test_each_turn_is_told_in_the_traces():
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


@with_camel
def test_the_configuration_is_json_and_holds_no_key():
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


@with_camel
@pytest.mark.parametrize(("reply", "error"), FAILURES)
def test_failures_of_the_provider_are_called_by_their_names(reply, error, server):
    server.will(reply)
    agent = clerk(f"{server.url}/v1", model={"timeout": 0.5})

    with pytest.raises(error) as caught:
        agent.run("Hi")

    assert KEY not in str(caught.value)
    assert caught.value.model_id == NAME
    assert len(server.requests) == 1
    if reply.status == 429:
        assert caught.value.retry_after == 7
    assert agent.logs[-1]["error_type"] == error.__name__


@with_camel
def test_a_refused_connection_is_the_providers_failure():
    with pytest.raises(ConnectionError):
        clerk("http://127.0.0.1:9/v1").run("Hi")


@with_camel
def test_camel_tries_again_after_a_429_as_often_as_it_is_told(server):
    server.will(*[Reply({"error": {"message": "slow"}}, 429)] * 3)
    agent = clerk(f"{server.url}/v1", retry_attempts=3, retry_delay=0.01)

    with pytest.raises(RateLimitError):
        agent.run("Hi")

    assert len(server.requests) == 3


@with_camel
@pytest.mark.parametrize("body", [OpenAIProtocol.empty(), "not json"])
def test_an_answer_that_is_none_is_the_providers_failure(body, server):
    server.will(body)

    with pytest.raises(MalformedResponseError):
        clerk(f"{server.url}/v1").run("Hi")


@with_camel
@pytest.mark.parametrize("text", ["", "{", "[1]"])
def test_arguments_that_are_no_json_object_are_the_agents_failure(text):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": text}}
    with (
        served(call) as (_, url),
        pytest.raises(AgentGaveUpError, match="not a JSON object"),
    ):
        clerk(url, [look]).run("Look")


@with_camel
def test_the_limit_of_iterations_is_the_agents_failure():
    with served({"name": "look", "arguments": {"text": "é"}}, loop=True) as (model, url):
        agent = clerk(url, [look], max_iteration=3)
        with pytest.raises(AgentGaveUpError, match="reached max_iteration=3"):
            agent.run("Look")

    assert len(model.requests) == 3
    assert [m["role"] for m in agent.get_messages()].count("tool") == 3
    assert [(entry["status"], entry["step_number"]) for entry in agent.logs] == [("error", 1)] * 2


@with_camel
def test_an_answer_within_the_limit_is_an_answer():
    with served({"name": "look", "arguments": {"text": "é"}}, "Done.") as (_, url):
        assert clerk(url, [look], max_iteration=2).run("Look") == "Done."


@with_camel
def test_an_external_tool_is_never_answered_and_the_agent_gives_up():
    with served({"name": "look"}) as (_, url):
        agent = clerk(url, external_tools=as_tools([look]))
        with pytest.raises(AgentGaveUpError, match="nobody here answers: look"):
            agent.run("Look")

    assert agent.logs[0]["external_tool_call_requests"][0]["name"] == "look"


@with_camel
def test_a_stopped_agent_gave_up():
    stopped = threading.Event()
    stopped.set()
    with (
        served("Hello.") as (_, url),
        pytest.raises(AgentGaveUpError, match="termination_triggered"),
    ):
        clerk(url, stop_event=stopped).run("Hi")


@with_camel
def test_a_terminator_ends_the_conversation_with_an_answer():
    terminators = import_module("camel.terminators")
    words = terminators.ResponseWordsTerminator({"BYE": 1})
    with served("Well.", "BYE") as (model, url):
        agent = clerk(url, response_terminators=[words])
        assert agent.run("Hi") == "BYE"

    assert len(model.requests) == 2
    assert agent.gather_traces()["last_terminated"] is True


@with_camel
def test_the_time_out_of_a_step_is_the_agents_failure():
    with (
        served("Hello.", delay_seconds=0.3) as (_, url),
        pytest.raises(AgentGaveUpError, match="timed out after"),
    ):
        clerk(url, step_timeout=0.1).run("Hi")


@with_camel
def test_silence_is_an_empty_answer(server):
    server.will(OpenAIProtocol.text(None), OpenAIProtocol.text("Yes?"))
    agent = clerk(f"{server.url}/v1")

    assert [agent.run("Hi"), agent.run("Hello?")] == ["", "Yes?"]
    assert said(agent.get_messages())[1:] == [
        *(("user", "Hi"), ("user", "Hello?"), ("assistant", "Yes?"))
    ]


@with_camel
def test_of_several_answers_the_first_is_given_and_remembered(server):
    both = OpenAIProtocol.text("One.")
    both["choices"] += [{**OpenAIProtocol.text("Two.")["choices"][0], "index": 1}]
    server.will(both)
    agent = clerk(f"{server.url}/v1", model={"model_config_dict": {"n": 2}})

    assert agent.run("Hi") == "One."
    assert said(agent.get_messages())[1:] == [("user", "Hi"), ("assistant", "One.")]


@with_camel
def test_an_agent_can_be_run_where_an_event_loop_runs():
    async def notebook(url):
        return clerk(url, [look]).run("Look")

    with served({"name": "look"}, "Hello.") as (_, url):
        assert asyncio.run(notebook(url)) == "Hello."


@with_camel
def test_a_model_that_streams_is_a_mistake_of_the_set_up():
    agent = clerk("http://localhost:1/v1", model={"model_config_dict": {"stream": True}})

    with pytest.raises(ConfigurationError, match="without 'stream'"):
        agent.run("Hi")


@with_camel
@pytest.mark.parametrize("step_timeout", [None, 5.0])
def test_a_named_error_of_a_tool_comes_out_as_it_is(step_timeout):
    def ask() -> str:
        """Ask another model."""
        raise ProviderTimeoutError("too slow", provider="other", model_id="m")

    with (
        served({"name": "ask"}) as (_, url),
        pytest.raises(ProviderTimeoutError, match="too slow"),
    ):
        clerk(url, [ask], step_timeout=step_timeout).run("Ask")


@with_camel
@pytest.mark.parametrize("error", [ValueError("not so"), AgentError("not so")])
def test_a_failing_tool_is_told_to_the_model_as_camel_does(error):
    def fail() -> str:
        """Fail."""
        raise error

    with served({"name": "fail"}, {"name": "fly"}, "Sorry.") as (model, url):
        assert clerk(url, [fail]).run("Fail") == "Sorry."

    assert answers(model) == [
        "Tool execution failed: Error executing tool 'fail': not so",
        "Tool execution failed: Tool 'fly' not found in registered tools",
    ]


@with_camel
def test_a_user_can_be_asked_by_a_tool():
    model = ScriptedModelAdapter(['{"text": "The red one."}'])
    user = CamelLLMUser("customer", model, {"name": "Ann"}, "Buy a bag.", "Hi", max_turns=2)
    with served({"name": "ask_user", "arguments": {"question": "Which?"}}, "Fine.") as (asked, url):
        agent = import_module("camel.agents").ChatAgent(
            "Help.", model_at(url), tools=[user.get_tool()], token_limit=UNLIMITED
        )
        assert CamelAgentAdapter(agent, "clerk").run("Hi") == "Fine."

    assert answers(asked) == ["The red one."]
    assert asked.requests[0]["tools"][0]["function"]["parameters"]["required"] == ["question"]
    assert [m["content"] for m in user.messages] == ["Hi", "Which?", "The red one."]


@with_camel
def test_a_chat_agent_can_play_the_user():
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


@with_camel
def test_a_user_is_done_when_its_terminator_says_so():
    words = import_module("camel.terminators").ResponseWordsTerminator({"BYE": 1})
    with served("BYE") as (_, url):
        user = CamelAgentUser(chat_agent(url, response_terminators=[words]), "Hi")
        assert (user.is_done(), user.respond("Hello."), user.is_done()) == (False, "BYE", True)


@with_camel
def test_a_user_that_gives_up_is_the_users_failure():
    with served({"name": "look"}, loop=True) as (_, url):
        user = CamelAgentUser(chat_agent(url, [look], max_iteration=1), "Hi")
        with pytest.raises(UserError, match="max_iteration=1"):
            user.respond("Hello.")


@with_camel
def test_a_turn_that_goes_well_logs_no_warning(caplog):
    with served({"name": "look", "arguments": {"text": "é"}}, "Done.") as (_, url):
        clerk(url, [look]).run("Look")

    assert [record.message for record in caplog.records if record.levelno > logging.INFO] == []


@with_camel
def test_the_example_of_the_page_runs(server, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.will(OpenAIProtocol.calls(("get_order_details", {"order_id": "#W2378156"})))
    server.will(OpenAIProtocol.text("It was delivered."))

    exec(example_of("camel"), {})

    assert capsys.readouterr().out.splitlines() == ["It was delivered.", "240"]
    assert "yusuf_rossi_9620" in server.requests[-1].body["messages"][-1]["content"]
    tools = Tau2Environment({"domain": "retail"}).tools
    told = [tool_definition(function, name=name) for name, function in tools.items()]
    assert server.requests[-1].body["tools"] == told


@pytest.mark.parametrize(
    "use",
    [
        lambda: as_tools([look]),
        token_counter,
        lambda: CamelAgentAdapter(object(), "clerk").run("Hi"),
        lambda: CamelAgentUser(object(), "Hi").respond("Hello"),
    ],
)
def test_without_the_library_the_command_that_installs_it_is_named(use, monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda module: False)

    with pytest.raises(extras.MissingExtraError) as caught:
        use()

    assert str(caught.value) == (
        "camel-ai is not installed. Install it with: pip install 'maseval[camel]'"
    )
