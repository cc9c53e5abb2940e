import asyncio
import functools
import json
import time
from importlib import import_module

import pytest
from pydantic import BaseModel

from maseval.benchmark.tau2 import Tau2Environment, load_tasks
from maseval.core import provider_errors
from maseval.core.clock import Clock
from maseval.core.exceptions import AgentError, ConfigurationError
from maseval.core.messages import tool_call
from maseval.core.tool import tool_definition
from maseval.core.usage import StaticPricingCalculator, Usage
from maseval.interface.agents.event_loop import run_async
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.interface.agents.pydantic_ai import PydanticAIAgentAdapter, as_tools
from tests.interface.agents.served import (
    DOMAINS,
    FAILURES,
    HARD_ARGUMENTS,
    KEY,
    LOOKING,
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

pytestmark = [pytest.mark.data, *needing("pydantic_ai")]


@pytest.fixture
def library():
    return import_module("pydantic_ai")


@pytest.fixture
def model_at(library):
    clients = []

    def make(url, name=NAME, profile=None, **options):
        openai = import_module("openai")
        clients.append(openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0, **options))
        providers = import_module("pydantic_ai.providers.openai")
        provider = providers.OpenAIProvider(openai_client=clients[-1])
        models = import_module("pydantic_ai.models.openai")
        return models.OpenAIChatModel(name, provider=provider, profile=profile)

    yield make
    for client in clients:
        run_async(client.close())


@pytest.fixture
def clerk(library, model_at):
    """Makes the adapter of an agent whose model is served at a URL."""

    def make(url, tools=(), *, agent=None, options=None, **more):
        made = library.Agent(
            model_at(url, **more), instructions="Help.", tools=as_tools(tools), **(agent or {})
        )
        return PydanticAIAgentAdapter(made, "clerk", **(options or {}))

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


def without_titles(schema):
    """A schema as the framework sends it for OpenAI, unless it is told to leave it alone."""
    match schema:
        case {"properties": properties, **rest}:
            named = {name: without_titles(value) for name, value in properties.items()}
            return {**without_titles(rest), "properties": named}  # one may be called `title`
        case dict():
            kept = {key: without_titles(v) for key, v in schema.items() if key != "title"}
            return {**kept, "properties": {}} if kept.get("type") == "object" else kept
        case list():
            return [without_titles(item) for item in schema]
    return schema


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_model_is_told_all_of_every_tool(domain, clerk):
    tools = Tau2Environment({"domain": domain}).tools
    with served("Hello!", "Hello!") as (model, url):
        clerk(url, tools, profile={"json_schema_transformer": None}).run("Hi")
        clerk(url, tools).run("Hi")

    exact, sent_by_default = (request["tools"] for request in model.requests)
    assert exact == [tool_definition(function, name=name) for name, function in tools.items()]
    for definition in exact:
        function = definition["function"]
        function["parameters"] = without_titles(function["parameters"])
    assert sent_by_default == exact


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


@pytest.mark.parametrize("text", ['{"text": ', "not json", '["a"]'])
def test_arguments_that_are_no_json_object_are_refused_as_the_framework_does(text, clerk):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": text}}
    with served(call, LOOKING, "I see.") as (model, url):
        assert clerk(url, [look]).run("Look") == "I see."

    refused, answered = answers(model)
    assert json.loads(refused)["error"]
    assert answered == "é"

    again = {**call, "id": "c2"}
    with served(call, again) as (_, url), pytest.raises(AgentGaveUpError, match="max retries"):
        clerk(url, [look]).run("Look")


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
    with served(LOOKING, "Done.", "Bye.", usage=counted) as (_, url):
        agent = clerk(url, [look])
        assert type(agent.gather_usage()) is Usage
        agent.run("Look")
        agent.run("Thanks")

    usage = agent.gather_usage().to_dict()
    assert {name: usage[name] for name in counted} == {k: 3 * n for k, n in counted.items()}
    assert [entry["total_tokens"] for entry in agent.logs] == [240, 120]
    assert [entry["status"] for entry in agent.logs] == ["success", "success"]


def test_tokens_of_a_turn_that_fails_are_counted(clerk):
    with served(LOOKING, usage={"input_tokens": 9, "output_tokens": 1}) as (_, url):
        agent = clerk(url, [look])
        with pytest.raises(Exception, match="has 1 replies"):
            agent.run("Look")

    assert agent.gather_usage().input_tokens == 9
    assert agent.logs[-1]["status"] == "error"


def test_the_price_is_the_frameworks_unless_a_calculator_is_given(library, model_at):
    counted = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
    mine = StaticPricingCalculator({"gpt-4.1": {"input": 1.0, "output": 0.0}})
    with served("Hello.", name="gpt-4.1", usage=counted, loop=True) as (_, url):
        agent = library.Agent(model_at(url, "gpt-4.1"))
        theirs = PydanticAIAgentAdapter(agent, "one")
        ours = PydanticAIAgentAdapter(agent, "two", cost_calculator=mine)
        for adapter in (theirs, ours):
            adapter.run("Hi")
            adapter.run("Hi")

    assert 0.0 < theirs.gather_usage().cost < 1.0
    assert ours.gather_usage().cost == 2000.0


def test_the_configuration_is_json_and_holds_no_key(clerk):
    settings = {"temperature": 0.0, "extra_headers": {"Authorization": f"Bearer {KEY}"}}
    with served("Hello.") as (_, url):
        agent = clerk(url, [look], agent={"model_settings": settings, "name": "Ann"})
        agent.run("Hi")

    config = json.loads(json.dumps(agent.gather_config()))["pydantic_ai_config"]

    assert KEY not in json.dumps(config)
    assert config["agent_name"] == "Ann" and config["model"] == NAME
    assert config["system_prompt"] == "Help."
    assert config["tools"] == ["look"]
    assert config["model_settings"]["temperature"] == 0.0


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


FILTERED = (OpenAIProtocol.filtered(), provider_errors.ContentFilterError)
UNUSABLE = [(body, provider_errors.MalformedResponseError) for body in UNREADABLE]


@pytest.mark.parametrize(("body", "error"), [*UNUSABLE, FILTERED])
def test_an_answer_that_cannot_be_used_is_the_providers_failure(body, error, clerk, server):
    server.will(body)

    with pytest.raises(error):
        clerk(f"{server.url}/v1").run("Hi")


def test_if_every_model_of_a_fallback_fails_it_is_the_providers_failure(library, model_at, server):
    fallback = import_module("pydantic_ai.models.fallback").FallbackModel
    broken, _ = FAILURES[1]
    server.will(broken, broken)
    url = f"{server.url}/v1"
    agent = library.Agent(fallback(model_at(url, "one"), model_at(url, "two")))

    with pytest.raises(provider_errors.OverloadedError):
        PydanticAIAgentAdapter(agent, "clerk").run("Hi")


def test_the_limit_of_requests_is_the_agents_failure_and_is_for_each_turn(library, clerk):
    limits = library.UsageLimits(request_limit=3)
    with served(LOOKING, "Seen.", LOOKING, "Seen.", *[LOOKING] * 3) as (model, url):
        agent = clerk(url, [look], options={"usage_limits": limits})
        agent.run("Look")
        agent.run("Look")
        with pytest.raises(AgentGaveUpError, match="request_limit of 3"):
            agent.run("Look")

    assert len(model.requests) == 7
    assert [m["role"] for m in agent.get_messages()].count("tool") == 5


def test_a_tool_that_does_not_exist_can_be_missed_once(clerk):
    with served({"name": "fly"}, "I cannot.") as (model, url):
        assert clerk(url, [look]).run("Fly") == "I cannot."
    assert "fly" in answers(model)[0]

    with served({"name": "fly"}, {"name": "fly"}) as (_, url), pytest.raises(AgentGaveUpError):
        clerk(url, [look]).run("Fly")


def test_a_function_that_cannot_take_the_arguments_is_tried_again(clerk):
    wrong = {"name": "look", "arguments": {"text": "é"}}
    with served(wrong, LOOKING, "Done.") as (model, url):
        assert clerk(url, [look]).run("Look") == "Done."

    refused, answered = answers(model)
    assert "missing a required argument: 'numbers'" in refused
    assert answered == "é"


def test_a_failing_tool_fails_the_turn_as_in_the_framework(clerk):
    def fail() -> str:
        """Fail."""
        raise ValueError("out of order")

    with served({"name": "fail"}) as (_, url), pytest.raises(ValueError, match="out of order"):
        clerk(url, [fail]).run("Fail")


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
        raise provider_errors.ProviderTimeoutError("too slow", provider="other", model_id="m")

    with (
        served({"name": "ask"}) as (_, url),
        pytest.raises(provider_errors.ProviderTimeoutError, match="too slow"),
    ):
        clerk(url, [ask]).run("Ask")


def test_system_prompts_are_kept_too(library, model_at):
    with served("Hello.", "Bye.") as (model, url):
        kind = library.Agent(model_at(url), system_prompt="Be kind.")
        adapter = PydanticAIAgentAdapter(kind, "kind")
        adapter.run("Hi")
        adapter.run("Bye")

    sent = [message["content"] for message in model.requests[-1]["messages"]]
    assert sent == ["Be kind.", "Hi", "Hello.", "Bye"]
    assert [message["content"] for message in adapter.get_messages()] == [*sent, "Bye."]


def test_dependencies_reach_the_tools_of_the_framework(library, clerk):
    def whose(context) -> str:
        return context.deps

    with served({"name": "whose"}, "Done.") as (model, url):
        agent = clerk(url, options={"deps": "mine"})
        agent.agent.tool(whose)
        agent.run("Whose?")

    assert answers(model) == ["mine"]


def test_a_new_adapter_starts_a_new_conversation(clerk):
    with served("Hello.", "Hello.") as (model, url):
        agent = clerk(url)
        agent.run("Hi")
        PydanticAIAgentAdapter(agent.agent, "another").run("Ho")

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


def test_an_answer_that_is_no_text_is_given_as_json(library, model_at):
    verdict = {"fair": True, "why": "été"}
    with served({"name": "final_result", "arguments": verdict}) as (_, url):
        agent = PydanticAIAgentAdapter(library.Agent(model_at(url), output_type=Verdict), "judge")
        assert agent.run("Fair?") == '{"fair":true,"why":"été"}'


def test_a_tool_that_waits_for_approval_is_a_mistake_of_the_set_up(library, model_at):
    waiting = library.Tool(look, requires_approval=True)
    either = [str, library.DeferredToolRequests]
    with served(LOOKING) as (_, url):
        agent = library.Agent(model_at(url), tools=[waiting], output_type=either)
        with pytest.raises(ConfigurationError, match="call of: look"):
            PydanticAIAgentAdapter(agent, "clerk").run("Look")


def test_the_example_of_the_page_runs(library, server, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.will(OpenAIProtocol.calls(("get_order_details", {"order_id": "#W2378156"})))
    server.will(OpenAIProtocol.text("It was delivered."))

    names = {}
    exec(example_of("pydantic-ai"), names)
    run_async(names["model"].client.close())

    assert capsys.readouterr().out.splitlines() == ["It was delivered.", "240"]
    assert "yusuf_rossi_9620" in server.requests[-1].body["messages"][-1]["content"]
