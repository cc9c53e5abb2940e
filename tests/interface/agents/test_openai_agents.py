import asyncio
import functools
import json
import time
from importlib import import_module

import pytest
from pydantic import BaseModel

from maseval.benchmark.tau2 import Tau2Environment, load_tasks
from maseval.core.clock import Clock
from maseval.core.exceptions import AgentError, ConfigurationError
from maseval.core.messages import tool_call
from maseval.core.provider_errors import (
    ContentFilterError,
    MalformedResponseError,
    ProviderTimeoutError,
)
from maseval.core.tool import tool_definition
from maseval.core.usage import Usage
from maseval.interface.agents.event_loop import run_async
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.interface.agents.openai_agents import OpenAIAgentsAdapter, as_tools
from tests.interface.agents.served import (
    DOMAINS,
    FAILURES,
    HARD_ARGUMENTS,
    KEY,
    NAME,
    UNREADABLE,
    answers,
    example_of,
    look,
    recorded_calls,
    same_json,
    served,
)
from tests.interface.agents.solving import solve
from tests.interface.libraries import needing
from tests.interface.provider_server import OpenAIProtocol

pytestmark = [pytest.mark.data, *needing("agents")]


@pytest.fixture
def sdk():
    return import_module("agents")


@pytest.fixture
def model_at(sdk):
    clients = []

    def make(url, name=NAME, **options):
        openai = import_module("openai")
        clients.append(openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0, **options))
        return sdk.OpenAIChatCompletionsModel(name, clients[-1])

    yield make
    for client in clients:
        run_async(client.close())


@pytest.fixture
def clerk(sdk, model_at):
    """Makes the adapter of an agent whose model is served at a URL."""

    def make(url, tools=(), *, options=None, **more):
        agent = sdk.Agent(
            "clerk",
            instructions="Help.",
            model=model_at(url, **more),
            tools=as_tools(tools),
        )
        return OpenAIAgentsAdapter(agent, "clerk", **(options or {}))

    return make


@pytest.fixture
def tau2_agent(clerk):
    return lambda environment, url, name: clerk(url, environment.tools, name=name)


def test_a_retail_task_is_solved_by_the_reference_calls(tau2_agent):
    solved = solve(tau2_agent)

    gold = load_tasks("retail")[0].evaluation_data["actions"]
    assert solved.rewards == [1.0]
    assert recorded_calls(solved.environments[0]) == [(a["name"], a["arguments"]) for a in gold]


def test_the_conversation_is_remembered_over_the_turns_of_a_telecom_task(tau2_agent):
    solved = solve(tau2_agent, "telecom", [str(load_tasks("telecom")[0].id)])

    assert solved.rewards == [1.0]
    roles = [message["role"] for message in solved.last_request()]
    assert roles.count("user") > 1
    first = next(m for m in solved.last_request() if m["role"] == "user")
    assert first["content"] == solved.agents[0].logs[0]["query"]
    assert len(solved.agents[0].logs) == roles.count("user")


def test_simulations_run_side_by_side(tau2_agent):
    solved = solve(tau2_agent, ids=("0", "1", "2", "3"), num_workers=4)

    assert solved.rewards == [1.0] * 4


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_model_is_told_all_of_every_tool(domain, clerk):
    tools = Tau2Environment({"domain": domain}).tools
    with served("Hello!") as (model, url):
        clerk(url, tools).run("Hi")

    expected = [tool_definition(function, name=name) for name, function in tools.items()]
    for definition in expected:
        definition["function"]["strict"] = False
    assert model.requests[0]["tools"] == expected


@pytest.mark.parametrize("arguments", HARD_ARGUMENTS, ids=json.dumps)
def test_arguments_and_results_pass_unchanged(arguments, clerk):
    received = []

    @functools.wraps(look)
    def watched(**arguments):
        received.append(arguments)
        return f"résumé <{arguments}> \\n \U0001f600"

    with served({"name": "look", "arguments": arguments}, "Done.") as (model, url):
        assert clerk(url, [watched]).run("Look") == "Done."

    assert same_json(received, [arguments])
    assert answers(model) == [watched(**arguments)]


@pytest.mark.parametrize(
    "arguments", [{"order_id": 5}, {"order_id": "#W0", "why": "é"}, {}, {"order_id": ["#W2378156"]}]
)
def test_the_environment_itself_answers_bad_arguments(arguments, clerk):
    name = "get_order_details"
    environment = Tau2Environment({"domain": "retail"})
    with served({"name": name, "arguments": arguments}, "Sorry.") as (model, url):
        clerk(url, environment.tools).run("Where is it?")

    call = {"name": name, "arguments": arguments}
    assert answers(model) == [Tau2Environment({"domain": "retail"}).respond(call)["content"]]
    assert recorded_calls(environment) == [(name, arguments)]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"text": ', "Error: the arguments are not valid JSON"),
        ("not json", "Error: the arguments are not valid JSON"),
        ('["a"]', 'Error: the arguments must be a JSON object, not ["a"]'),
    ],
)
def test_arguments_that_are_no_json_object_are_told_to_the_model(text, answer, clerk):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": text}}
    with served(call, "I see.") as (model, url):
        assert clerk(url, [look]).run("Look") == "I see."

    (told,) = answers(model)
    assert told.startswith(answer)


def test_results_that_are_no_text_reach_the_model_as_json(clerk):
    def count() -> dict:
        """Count."""
        return {"länge": [1, None]}

    with served({"name": "count"}, "Done.") as (model, url):
        clerk(url, {"count": count}).run("Count")

    assert answers(model) == ['{"länge":[1,null]}']


def test_calls_of_one_answer_are_made_in_its_order(clerk):
    visited = []

    def visit(number: int) -> str:
        """Visit a place; the first take longest."""
        time.sleep((5 - number) / 100)
        visited.append(number)
        return f"seen {number}"

    calls = [tool_call("visit", {"number": n}, id=f"c{n}") for n in range(5)]
    with served(calls, "Done.") as (model, url):
        agent = clerk(url, [visit])
        agent.run("Go")

    assert visited == [0, 1, 2, 3, 4]
    assert answers(model) == [f"seen {number}" for number in visited]
    told = [m["tool_call_id"] for m in agent.get_messages().filter_by_role("tool")]
    assert told == ["c0", "c1", "c2", "c3", "c4"]


def test_messages_have_openais_form(clerk):
    calls = [tool_call("look", {"text": "é", "numbers": []}, id=f"c{n}") for n in (1, 2)]
    with served({"content": "One moment.", "tool_calls": calls}, "Done.", "Bye.") as (_, url):
        agent = clerk(url, [look])
        agent.run("Look")
        agent.run("Thanks")

    assert agent.get_messages().to_openai_format() == [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": "One moment.", "tool_calls": calls},
        {"role": "tool", "content": "é", "name": "look", "tool_call_id": "c1"},
        {"role": "tool", "content": "é", "name": "look", "tool_call_id": "c2"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": "Bye."},
    ]


def test_usage_is_what_the_server_counted_over_all_turns(clerk):
    counted = {
        "input_tokens": 100,
        "output_tokens": 20,
        "total_tokens": 120,
        "cached_input_tokens": 60,
        "reasoning_tokens": 5,
    }
    with served({"name": "look"}, "Done.", "Bye.", usage=counted) as (_, url):
        agent = clerk(url, [look])
        assert type(agent.gather_usage()) is Usage
        agent.run("Look")
        agent.run("Thanks")

    usage = agent.gather_usage().to_dict()
    assert {name: usage[name] for name in counted} == {k: 3 * n for k, n in counted.items()}
    assert [entry["total_tokens"] for entry in agent.logs] == [240, 120]
    assert [entry["status"] for entry in agent.logs] == ["success", "success"]


def test_tokens_of_a_turn_that_fails_are_counted(clerk):
    with served({"name": "look"}, usage={"input_tokens": 9, "output_tokens": 1}) as (_, url):
        agent = clerk(url, [look])
        with pytest.raises(Exception, match="has 1 replies"):
            agent.run("Look")

    assert agent.gather_usage().input_tokens == 9
    assert agent.logs[-1]["status"] == "error"


def test_the_configuration_is_json_and_holds_no_key(sdk, clerk):
    settings = sdk.ModelSettings(temperature=0.0, extra_headers={"Authorization": f"Bearer {KEY}"})
    agent = clerk("http://localhost:1/v1", [look], options={"max_turns": 5})
    agent.agent.model_settings = settings
    agent.agent.handoffs = [sdk.Agent("boss", model="gpt-4.1")]

    config = json.loads(json.dumps(agent.gather_config()))["openai_agents_config"]

    assert KEY not in json.dumps(config)
    assert config["max_turns"] == 5
    assert [described["name"] for described in config["agents"]] == ["clerk", "boss"]
    assert config["agents"][0]["model"] == NAME
    assert config["agents"][0]["tools"] == ["look"]
    assert config["agents"][0]["handoffs"] == ["boss"]
    assert config["agents"][0]["model_settings"]["temperature"] == 0.0
    assert config["agents"][1]["model"] == "gpt-4.1"


@pytest.mark.parametrize(("reply", "error"), FAILURES)
def test_failures_of_the_provider_are_called_by_their_names(reply, error, clerk, server):
    server.will(reply)
    agent = clerk(f"{server.url}/v1", timeout=0.5)

    with pytest.raises(error) as caught:
        agent.run("Hi")

    assert KEY not in str(caught.value)
    assert caught.value.model_id == NAME
    assert len(server.requests) == 1
    if reply.status == 429:
        assert caught.value.retry_after == 7
    assert agent.logs[-1]["error_type"] == error.__name__


def test_a_refused_connection_is_the_providers_failure(clerk):
    with pytest.raises(ConnectionError):
        clerk("http://127.0.0.1:9/v1").run("Hi")


@pytest.mark.parametrize("body", UNREADABLE)
def test_an_answer_that_cannot_be_read_is_the_providers_failure(body, clerk, server):
    server.will(body)

    with pytest.raises(MalformedResponseError):
        clerk(f"{server.url}/v1").run("Hi")


def test_a_filtered_answer_is_the_providers_failure(clerk, server):
    server.will(OpenAIProtocol.filtered())

    with pytest.raises(ContentFilterError):
        clerk(f"{server.url}/v1").run("Hi")


def test_the_limit_of_turns_is_the_agents_failure(clerk):
    with served({"name": "look", "arguments": {"text": "é"}}, loop=True) as (model, url):
        agent = clerk(url, [look], options={"max_turns": 3})
        with pytest.raises(AgentGaveUpError, match=r"Max turns \(3\) exceeded"):
            agent.run("Look")

    assert len(model.requests) == 3
    assert [m["role"] for m in agent.get_messages()].count("tool") == 3


def test_a_tool_that_does_not_exist_is_the_agents_failure_unless_the_sdk_is_told_otherwise(
    sdk, clerk
):
    with served({"name": "fly"}) as (_, url), pytest.raises(AgentGaveUpError, match="fly"):
        clerk(url, [look]).run("Fly")

    config = sdk.RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model")
    with served({"name": "fly"}, "I cannot.") as (_, url):
        assert clerk(url, [look], options={"run_config": config}).run("Fly") == "I cannot."


def test_a_failing_tool_is_told_to_the_model_as_the_sdk_does(sdk, clerk):
    def fail() -> str:
        """Fail."""
        raise ValueError("a secret")

    with served({"name": "fail"}, "Sorry.") as (model, url):
        assert clerk(url, [fail]).run("Fail") == "Sorry."

    assert answers(model) == [sdk.default_tool_error_function(None, ValueError())]


def test_a_fault_of_the_agents_own_is_told_to_it(clerk):
    def judge() -> str:
        """Find a fault."""
        raise AgentError("no such order")

    with served({"name": "judge"}, "Sorry.") as (model, url):
        assert clerk(url, [judge]).run("Go") == "Sorry."

    assert "no such order" in answers(model)[0]


def test_a_named_error_of_a_tool_comes_out_as_it_is(clerk):
    def ask() -> str:
        """Ask another model."""
        raise ProviderTimeoutError("too slow", provider="other", model_id="m")

    with (
        served({"name": "ask"}) as (_, url),
        pytest.raises(ProviderTimeoutError, match="too slow"),
    ):
        clerk(url, [ask]).run("Ask")


def test_after_a_handoff_the_other_agent_goes_on(sdk, model_at):
    replies = ["Hello.", {"name": "transfer_to_expert"}, "Expert here.", "Still the expert."]
    with served(*replies) as (model, url):
        expert = sdk.Agent("expert", instructions="Know.", model=model_at(url))
        clerk = sdk.Agent("clerk", instructions="Help.", model=model_at(url), handoffs=[expert])
        agent = OpenAIAgentsAdapter(clerk, "team")
        said = [agent.run(query) for query in ("Hi", "I need more", "And now?")]

    assert said == ["Hello.", "Expert here.", "Still the expert."]
    assert agent.current_agent is expert
    prompts = [request["messages"][0]["content"] for request in model.requests]
    assert prompts == ["Help.", "Help.", "Know.", "Know."]
    asked = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "user"]
    assert asked == ["Hi", "I need more", "And now?"]
    speakers = [m["metadata"]["agent"] for m in agent.get_messages().filter_by_role("assistant")]
    assert speakers == ["clerk", "clerk", "expert", "expert"]


def test_a_session_of_the_sdk_can_keep_the_conversation(sdk, clerk):
    session = sdk.SQLiteSession("one")
    with served("Hello.", "Again.", "And again.") as (model, url):
        first = clerk(url, options={"session": session})
        first.run("Hi")
        first.run("You there?")
        clerk(url, options={"session": session}).run("Hello?")
    session.close()

    asked = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "user"]
    assert asked == ["Hi", "You there?", "Hello?"]


def test_a_new_adapter_starts_a_new_conversation(clerk):
    with served("Hello.", "Hello.") as (model, url):
        agent = clerk(url)
        agent.run("Hi")
        OpenAIAgentsAdapter(agent.agent, "another").run("Ho")

    assert [m["content"] for m in model.requests[-1]["messages"]] == ["Help.", "Ho"]


def test_a_tool_knows_the_repetition_that_it_runs_in(clerk):
    found = []

    def clocked() -> str:
        """Look at the clock."""
        found.append(Clock.here())
        return "seen"

    with served({"name": "clocked"}, "Done.") as (_, url), Clock(60.0).active() as clock:
        clerk(url, [clocked]).run("Look")

    assert found == [clock]


def test_an_agent_can_be_a_tool_of_another(clerk):
    with served("Ask for #W1.") as (_, one), served({"name": "consult"}, "Thanks.") as (model, two):
        expert = clerk(one)

        def consult() -> str:
            """Ask the expert."""
            return expert.run("What now?")

        assert clerk(two, [consult]).run("Help") == "Thanks."

    assert answers(model) == ["Ask for #W1."]


def test_an_agent_can_be_run_where_an_event_loop_runs(clerk):
    async def notebook(url):
        return clerk(url).run("Hi")

    with served("Hello.") as (_, url):
        assert asyncio.run(notebook(url)) == "Hello."


class Verdict(BaseModel):
    fair: bool
    why: str


def test_an_answer_that_is_no_text_is_given_as_json(sdk, model_at):
    with served('{"fair": true, "why": "été"}') as (_, url):
        agent = sdk.Agent("judge", model=model_at(url), output_type=Verdict)
        assert OpenAIAgentsAdapter(agent, "judge").run("Fair?") == '{"fair":true,"why":"été"}'


def test_a_tool_that_waits_for_approval_is_a_mistake_of_the_set_up(clerk):
    with served({"name": "look"}) as (_, url):
        agent = clerk(url, [look])
        agent.agent.tools[0].needs_approval = True
        with pytest.raises(ConfigurationError, match="approval of: look"):
            agent.run("Look")


def test_nothing_is_traced_unless_asked_for(sdk, clerk):
    traced = []

    class Listener(sdk.TracingProcessor):
        def on_trace_start(self, trace):
            traced.append(trace.name)

        def on_trace_end(self, trace): ...
        def on_span_start(self, span): ...
        def on_span_end(self, span): ...
        def shutdown(self): ...
        def force_flush(self): ...

    sdk.set_trace_processors([Listener()])
    with served("Hello.", "Hello.") as (_, url):
        clerk(url).run("Hi")
        assert traced == []
        clerk(url, options={"run_config": sdk.RunConfig(workflow_name="seen")}).run("Hi")
    sdk.set_trace_processors([])

    assert traced == ["seen"]


def test_the_example_of_the_page_runs(sdk, server, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.will(OpenAIProtocol.calls(("get_order_details", {"order_id": "#W2378156"})))
    server.will(OpenAIProtocol.text("It was delivered."))

    names = {}
    exec(example_of("openai-agents"), names)
    run_async(names["model"]._client.close())

    assert capsys.readouterr().out.splitlines() == ["It was delivered.", "240"]
    assert "yusuf_rossi_9620" in server.requests[-1].body["messages"][-1]["content"]
