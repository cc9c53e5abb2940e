import asyncio
import functools
import json
import time
from importlib import import_module

import pytest

from maseval import ScriptedModelAdapter
from maseval.benchmark.tau2 import Tau2Environment, load_tasks
from maseval.core.clock import Clock
from maseval.core.exceptions import AgentError, TaskTimeoutError, UserExhaustedError
from maseval.core.messages import tool_call
from maseval.core.provider_errors import (
    AuthenticationError,
    MalformedResponseError,
    OverloadedError,
    ProviderConnectionError,
    ProviderTimeoutError,
    RateLimitError,
)
from maseval.core.usage import TokenUsage, Usage
from maseval.interface.agents.smolagents import SmolAgentAdapter, SmolAgentLLMUser, as_tools
from maseval.interface.agents.tools import described
from tests.interface.agents.served import (
    DOMAINS,
    FAILURES,
    HARD_ARGUMENTS,
    KEY,
    NAME,
    example_of,
    recorded_calls,
    same_json,
    served,
)
from tests.interface.agents.solving import solve
from tests.interface.libraries import needing
from tests.interface.provider_server import OpenAIProtocol, Reply

pytestmark = [pytest.mark.data, *needing("smolagents")]


@pytest.fixture
def sdk():
    return import_module("smolagents")


@pytest.fixture
def model_at(sdk):
    models = []

    def make(url, name=NAME, **options):
        options = {"max_retries": 0, **options}
        models.append(
            sdk.OpenAIModel(name, url, KEY, client_kwargs=options, retry=False, temperature=0.0)
        )
        return models[-1]

    yield make
    for model in models:
        model.client.close()


@pytest.fixture
def clerk(sdk, model_at):
    """Makes the adapter of an agent whose model is served at a URL."""

    def make(url, tools=(), *, agent="ToolCallingAgent", client=None, **options):
        made = getattr(sdk, agent)(
            tools=as_tools(tools),
            model=model_at(url, **(client or {})),
            instructions="Help.",
            verbosity_level=sdk.LogLevel.OFF,
            **options,
        )
        return SmolAgentAdapter(made, "clerk")

    return make


@pytest.fixture
def tau2_agent(sdk, model_at):
    def make(environment, url, name):
        agent = sdk.ToolCallingAgent(
            tools=as_tools(environment.tools),
            model=model_at(url, name),
            instructions=environment.policy,
            verbosity_level=sdk.LogLevel.OFF,
        )
        return SmolAgentAdapter(agent, "clerk")

    return make


def look(text: str, numbers: list[int], place: dict | None = None) -> str:
    """Look at something."""
    return text


def echo(text: str) -> str:
    """Say it again."""
    return text


def say(text):
    return {"name": "final_answer", "arguments": {"answer": text}}


def texts(messages):
    return [
        part["text"]
        for message in messages
        for part in message["content"]
        if part["type"] == "text"
    ]


def observed_so_far(model):
    return "\n".join(texts(model.requests[-1]["messages"]))


def observed(model):
    """What the model read last."""
    return texts(model.requests[-1]["messages"])[-1]


def test_a_retail_task_is_solved_by_the_reference_calls(tau2_agent, capfd):
    solved = solve(tau2_agent)

    gold = load_tasks("retail")[0].evaluation_data["actions"]
    assert solved.rewards == [1.0]
    assert recorded_calls(solved.environments[0]) == [(a["name"], a["arguments"]) for a in gold]
    assert capfd.readouterr() == ("", "")


def test_the_conversation_is_remembered_over_the_turns_of_a_telecom_task(tau2_agent):
    solved = solve(tau2_agent, "telecom", [str(load_tasks("telecom")[0].id)])

    assert solved.rewards == [1.0]
    asked = [entry["task"] for entry in solved.agents[0].logs if entry["step_type"] == "TaskStep"]
    read = "\n".join(texts(solved.last_request()))
    assert len(asked) > 1
    assert [read.count(f"New task:\n{query}") for query in asked] == [1] * len(asked)
    assert texts(solved.last_request())[1] == f"New task:\n{asked[0]}"


def test_simulations_run_side_by_side(tau2_agent):
    solved = solve(tau2_agent, ids=("0", "1", "2", "3"), num_workers=4)

    assert solved.rewards == [1.0] * 4


def without_titles(parameters):
    """smolagents has no place for the title of all parameters, and always says what is required."""
    properties = parameters["properties"]
    return {"type": "object", "properties": properties, "required": parameters.get("required", [])}


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_model_is_told_all_of_every_tool(domain, clerk):
    tools = Tau2Environment({"domain": domain}).tools
    with served(say("Hello!")) as (model, url):
        agent = clerk(url, tools)
        agent.run("Hi")

    sent = [tool["function"] for tool in model.requests[0]["tools"]]
    assert sent[:-1] == [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": without_titles(tool.inlined_parameters),
        }
        for tool in described(tools)
    ]
    assert sent[-1]["name"] == "final_answer"
    assert all(
        set(tool.parameters) <= {"type", "properties", "required", "title", "$defs"}
        for tool in described(tools)
    )
    prompt = agent.get_messages()[0]["content"]
    assert all(repr(tool["parameters"]["properties"]) in prompt for tool in sent[:-1])


@pytest.mark.parametrize("arguments", HARD_ARGUMENTS, ids=json.dumps)
def test_arguments_and_results_pass_unchanged(arguments, clerk):
    received = []

    @functools.wraps(look)
    def watched(**arguments):
        received.append(arguments)
        return f"résumé <{arguments}> \\n \U0001f600"

    with served({"name": "look", "arguments": arguments}, say("Done.")) as (model, url):
        assert clerk(url, [watched]).run("Look") == "Done."

    assert same_json(received, [arguments])
    assert observed(model) == f"Observation:\n{watched(**arguments)}"


@pytest.mark.parametrize("name", ["self", "args", "kwargs", "name", "tool"])
def test_an_argument_may_have_any_name(name, clerk):
    received = []

    def take(**more) -> str:
        """Take."""
        received.append(more)
        return "Taken."

    with served({"name": "take", "arguments": {name: 1}}, say("Done.")) as (_, url):
        clerk(url, [take]).run("Take")

    assert received == [{name: 1}]


@pytest.mark.parametrize(
    "arguments", [{"order_id": 5}, {"order_id": "#W0", "why": "é"}, {}, {"order_id": ["#W2378156"]}]
)
def test_the_environment_itself_answers_bad_arguments(arguments, clerk):
    name = "get_order_details"
    environment = Tau2Environment({"domain": "retail"})
    with served({"name": name, "arguments": arguments}, say("Sorry.")) as (model, url):
        clerk(url, environment.tools).run("Where is it?")

    answer = Tau2Environment({"domain": "retail"}).respond({"name": name, "arguments": arguments})
    assert observed(model) == f"Observation:\n{answer['content']}"
    assert recorded_calls(environment) == [(name, arguments)]


def test_arguments_that_are_no_object_are_the_first_argument(clerk):
    environment = Tau2Environment({"domain": "retail"})
    call = {"id": "c", "type": "function"}
    call["function"] = {"name": "get_order_details", "arguments": "#W2378156, please"}
    with served(call, say("Sorry.")) as (_, url):
        clerk(url, environment.tools).run("Where is it?")

    assert recorded_calls(environment) == [("get_order_details", {"order_id": "#W2378156, please"})]


def test_the_ends_of_a_result_are_stripped_by_smolagents(clerk):
    call = {"name": "echo", "arguments": {"text": " \n a  b \n"}}
    with served(call, say(" ok ")) as (model, url):
        assert clerk(url, [echo]).run("Go") == " ok "

    assert observed(model) == "Observation:\na  b"


def test_results_that_are_no_text_reach_the_model_as_json(clerk):
    def count() -> dict:
        """Count."""
        return {"länge": [1, None]}

    with served({"name": "count"}, say("Done.")) as (model, url):
        clerk(url, {"count": count}).run("Count")

    assert observed(model) == 'Observation:\n{"länge":[1,null]}'


def test_calls_of_one_answer_are_made_in_its_order(clerk):
    noted = []

    def note(number: int) -> str:
        """Note a number."""
        time.sleep(0.1 if number == 0 else 0.0)
        noted.append(number)
        return f"noted {number}"

    calls = [{"name": "note", "arguments": {"number": n}, "id": f"c{n}"} for n in range(12)]
    with served(calls, say("Done.")) as (_, url):
        agent = clerk(url, [note])
        agent.run("Note them")

    assert noted == list(range(12))
    told = [(m["tool_call_id"], m["content"]) for m in agent.get_messages() if m["role"] == "tool"]
    assert told == [(f"c{number}", f"noted {number}") for number in range(12)]


def test_threads_that_were_asked_for_are_kept(clerk):
    with served(say("Hello."), say("Hello.")) as (_, url):
        asked, default = clerk(url, max_tool_threads=3), clerk(url)
        asked.run("Hi")
        default.run("Hi")

    assert (asked.agent.max_tool_threads, default.agent.max_tool_threads) == (3, 1)


def test_messages_have_openais_form(clerk):
    calls = [
        tool_call("echo", {"text": text}, id=f"c{number}")
        for number, text in [(9, "nine"), (10, "ten")]
    ]
    replies = [{"content": "One moment.", "tool_calls": calls}, say("Done."), say("Bye.")]
    with served(*replies) as (_, url):
        agent = clerk(url, [echo])
        agent.run("Look")
        agent.run("Thanks")

    system, *rest = agent.get_messages().to_openai_format()
    assert system["role"] == "system" and "Help." in system["content"]
    assert rest == [
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": "One moment.", "tool_calls": calls},
        {"role": "tool", "content": "nine", "name": "echo", "tool_call_id": "c9"},
        {"role": "tool", "content": "ten", "name": "echo", "tool_call_id": "c10"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": "Bye."},
    ]


def test_what_went_wrong_in_a_step_is_part_of_the_messages(clerk):
    with served("Just a text.", {"name": "fly", "id": "c1"}, say("I cannot.")) as (model, url):
        agent = clerk(url, [look])
        agent.run("Fly")

    said, error, call, result, answer = agent.get_messages()[2:]
    assert (said["role"], said["content"]) == ("assistant", "Just a text.")
    assert error["role"] == "user" and error["content"] in observed_so_far(model)
    assert call["tool_calls"] == [tool_call("fly", id="c1")]
    assert (result["role"], result["tool_call_id"]) == ("tool", "c1")
    assert result["content"] in observed_so_far(model)
    assert answer["content"] == "I cannot."
    assert [entry.get("error_type") for entry in agent.logs] == [
        None,
        "AgentParsingError",
        "AgentToolExecutionError",
        None,
    ]


def test_an_answer_beside_other_calls_is_no_answer(clerk):
    calls = [tool_call("echo", {"text": "a"}, id="c1"), tool_call("final_answer", {"answer": "b"})]
    with served(calls, say("Done.")) as (_, url):
        agent = clerk(url, [echo])
        assert agent.run("Look") == "Done."

    kinds = [(m["role"], len(m.get("tool_calls", ()))) for m in agent.get_messages()[2:]]
    assert kinds == [("assistant", 2), ("tool", 0), ("tool", 0), ("user", 0), ("assistant", 0)]
    assert "do not perform any other tool calls" in agent.get_messages()[5]["content"]


def test_a_plan_is_part_of_the_messages(clerk):
    with served("First look, then speak.", say("Done.")) as (_, url):
        agent = clerk(url, planning_interval=5)
        agent.run("Look")

    assert "First look, then speak." in agent.get_messages()[2]["content"]
    assert [entry["step_type"] for entry in agent.logs] == [
        "TaskStep",
        "PlanningStep",
        "ActionStep",
    ]
    assert agent.gather_usage().total_tokens == sum(e.get("total_tokens", 0) for e in agent.logs)


def test_usage_is_what_the_server_counted_over_all_turns(clerk):
    counted = {
        "input_tokens": 100,
        "output_tokens": 20,
        "total_tokens": 120,
        "cached_input_tokens": 60,
        "reasoning_tokens": 5,
    }
    with served({"name": "look"}, say("Done."), say("Bye."), usage=counted) as (_, url):
        agent = clerk(url, [look])
        assert type(agent.gather_usage()) is Usage
        agent.run("Look")
        agent.run("Thanks")

    usage = agent.gather_usage().to_dict()
    assert {name: usage[name] for name in counted} == {k: 3 * n for k, n in counted.items()}


def test_a_model_that_streams_is_recorded_alike(clerk):
    replies = [{"name": "echo", "arguments": {"text": "é"}, "id": "c1"}, say("Done.")]
    counted = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    with served(*replies * 2, usage=counted) as (_, url):
        whole, streamed = clerk(url, [echo]), clerk(url, [echo], stream_outputs=True)
        whole.run("Go")
        streamed.run("Go")

    first, second = (agent.get_messages().to_openai_format() for agent in (whole, streamed))
    assert first == second
    assert whole.gather_usage() == streamed.gather_usage()


def test_logs_and_traces_tell_of_every_step(clerk):
    with served({"name": "echo", "arguments": {"text": "é"}, "id": "c1"}, say("Done.")) as (_, url):
        agent = clerk(url, [echo])
        agent.run("Look")

    traces = json.loads(json.dumps(agent.gather_traces()))
    asked, looked, answered = traces["logs"]
    assert asked == {"step_type": "TaskStep", "task": "Look"}
    assert looked["tool_calls"] == [{"id": "c1", "name": "echo", "arguments": '{"text": "é"}'}]
    assert (looked["step_number"], looked["status"], looked["observations"]) == (1, "success", "é")
    assert (answered["step_number"], answered["is_final_answer"]) == (2, True)
    assert traces["total_steps"] == len(traces["steps_detail"]) == 2
    assert traces["total_duration_seconds"] == pytest.approx(
        looked["duration_seconds"] + answered["duration_seconds"]
    )


def test_the_configuration_is_json_and_holds_no_key(sdk, model_at, clerk, capfd):
    agent = clerk("http://localhost:1/v1", [look], max_steps=7)
    agent.agent.model.api_key = KEY
    worker = sdk.CodeAgent(
        [], model_at("http://localhost:1/v1"), name="worker", description="Works"
    )
    agent.agent.managed_agents["worker"] = worker

    config = json.loads(json.dumps(agent.gather_config()))["smolagents_config"]

    assert KEY not in json.dumps(config)
    assert (config["class"], config["max_steps"]) == ("ToolCallingAgent", 7)
    assert config["tools"] == ["look", "final_answer"]
    assert config["model"]["class"] == "OpenAIModel"
    assert config["model"]["data"]["model_id"] == NAME
    assert config["model"]["data"]["temperature"] == 0.0
    assert config["model"]["data"]["client_kwargs"]["base_url"] == "http://localhost:1/v1"
    assert [member["name"] for member in config["managed_agents"]] == ["worker"]
    assert capfd.readouterr() == ("", "")


def test_smolagents_itself_can_describe_the_tools(clerk):
    agent = clerk("http://localhost:1/v1", [look]).agent

    assert [tool["name"] for tool in agent.to_dict()["tools"]] == ["look", "final_answer"]


@pytest.mark.parametrize(("reply", "error"), FAILURES)
def test_failures_of_the_provider_are_called_by_their_names(reply, error, clerk, server):
    server.will(reply)
    agent = clerk(f"{server.url}/v1", client={"timeout": 0.5})

    with pytest.raises(error) as caught:
        agent.run("Hi")

    assert KEY not in str(caught.value)
    assert caught.value.model_id == NAME
    assert len(server.requests) == 1
    if reply.status == 429:
        assert caught.value.retry_after == 7
    assert agent.logs[-1]["error_type"] == error.__name__


def test_the_client_of_hugging_face_fails_under_the_same_names(sdk, server):
    refusal = Reply({"error": "slow"}, 429, {"Retry-After": "7"})
    server.will(refusal, OpenAIProtocol.calls(("nothing", {})), refusal)
    client = import_module("huggingface_hub").InferenceClient(f"{server.url}/v1", token=KEY)
    model = sdk.InferenceClientModel(NAME, client=client, retry=False)
    agent = sdk.ToolCallingAgent([], model, max_steps=1, verbosity_level=sdk.LogLevel.OFF)

    with pytest.raises(RateLimitError) as caught:
        SmolAgentAdapter(agent, "clerk").run("Hi")
    with pytest.raises(RateLimitError):
        SmolAgentAdapter(agent, "clerk").run("Hi")

    assert caught.value.retry_after == 7
    assert len(server.requests) == 3


def test_a_refused_connection_is_the_providers_failure(clerk):
    with pytest.raises(ProviderConnectionError):
        clerk("http://127.0.0.1:9/v1").run("Hi")


@pytest.mark.parametrize("body", [OpenAIProtocol.empty(), "no JSON"])
def test_an_answer_that_cannot_be_read_is_the_providers_failure(body, clerk, server):
    server.will(body)

    with pytest.raises(MalformedResponseError):
        clerk(f"{server.url}/v1").run("Hi")


def test_at_the_limit_of_steps_the_agent_answers_and_remembers_it(clerk):
    looking = {"name": "echo", "arguments": {"text": "é"}}
    with served(looking, looking, "So far: é.", say("Bye.")) as (model, url):
        agent = clerk(url, [echo], max_steps=2)
        assert agent.run("Look") == "So far: é."
        assert agent.run("Thanks") == "Bye."

    assert len(model.requests) == 4
    assert not model.requests[2]["tools"]
    assert any(text.startswith("So far: é.") for text in texts(model.requests[3]["messages"]))
    assert agent.logs[3]["error_type"] == "AgentMaxStepsError"
    assert agent.get_messages().filter_by_role("assistant")[-2]["content"] == "So far: é."
    assert agent.gather_usage() == model.gather_usage()


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply({"error": {"message": "slow"}}, 429), RateLimitError),
        (Reply({"error": {"message": "no such key"}}, 401), AuthenticationError),
        (Reply("", drop=True), ProviderConnectionError),
    ],
)
def test_a_provider_that_fails_at_the_limit_of_steps_is_not_taken_for_an_answer(
    reply, error, clerk, server
):
    server.will(OpenAIProtocol.calls(("echo", {"text": "é"})), reply)

    with pytest.raises(error):
        clerk(f"{server.url}/v1", [echo], max_steps=1).run("Look")


def test_a_mistake_of_the_agent_is_told_to_the_model(clerk):
    def refuse() -> str:
        """Refuse."""
        raise AgentError("not like this", suggestion="ask first")

    with served({"name": "refuse"}, say("Sorry.")) as (model, url):
        assert clerk(url, [refuse]).run("Do it") == "Sorry."

    assert "not like this. Suggestion: ask first" in observed(model)


CALLS_ASK = {
    "ToolCallingAgent": {"name": "ask", "arguments": {}},
    "CodeAgent": "I ask.\n<code>\nask()\n</code>",
}


@pytest.mark.parametrize("kind", CALLS_ASK)
def test_a_named_error_of_a_tool_comes_out_as_it_is(kind, clerk):
    def ask() -> str:
        """Ask another model."""
        raise ProviderTimeoutError("too slow", provider="other", model_id="m")

    with (
        served(CALLS_ASK[kind]) as (_, url),
        pytest.raises(ProviderTimeoutError, match="too slow"),
    ):
        clerk(url, [ask], agent=kind).run("Ask")


def test_an_agent_stops_at_the_deadline_of_its_repetition(clerk):
    clock = Clock(deadline=3600)

    def wait() -> str:
        """Wait."""
        clock.deadline = 0.0
        return "Waited."

    with served({"name": "wait"}, loop=True) as (model, url):
        agent = clerk(url, [wait])
        with clock.active(), pytest.raises(TaskTimeoutError):
            agent.run("Wait")

    assert len(model.requests) == 1


def test_a_code_agent_calls_the_tools_from_its_code(clerk):
    environment = Tau2Environment({"domain": "retail"})
    code = 'Let me see.\n<code>\nprint(get_order_details("#W2378156")[:15])\n</code>'
    last = "<code>\nfinal_answer('Delivered: ' + get_order_details(order_id='#W0')[:5])\n</code>"
    with served(code, last, "<code>\nfinal_answer('Bye.')\n</code>") as (model, url):
        agent = clerk(url, environment.tools, agent="CodeAgent")
        assert agent.run("Where is it?") == "Delivered: Error"
        assert agent.run("Thanks") == "Bye."

    assert recorded_calls(environment) == [
        ("get_order_details", {"order_id": "#W2378156"}),
        ("get_order_details", {"order_id": "#W0"}),
    ]
    said, printed = agent.get_messages()[2:4]
    assert said["content"] == code
    assert said["tool_calls"][0]["function"]["name"] == "python_interpreter"
    assert list(json.loads(said["tool_calls"][0]["function"]["arguments"])) == ["code"]
    assert '{"order_id": "#' in printed["content"]
    assert agent.gather_usage() == model.gather_usage()


def test_a_code_agent_is_told_the_full_signature(clerk):
    def book(seat: str, extras: list[dict[str, int]], note: str | None = None) -> str:
        """Book a seat.

        Args:
            seat: Which one.
            extras: What else.
        """
        return seat

    agent = clerk("http://localhost:1/v1", [book], agent="CodeAgent").agent

    assert agent.tools["book"].to_code_prompt() in agent.system_prompt
    assert (
        agent.tools["book"].to_code_prompt()
        == '''\
def book(seat: string, extras: array, note: any = None) -> string:
    """Book a seat.

    Args:
        seat: Which one.
        extras: What else. {"items": {"additionalProperties": {"type": "integer"}, \
"type": "object"}, "type": "array"}
        note: {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}
    """'''
    )


@pytest.fixture
def team(sdk, model_at):
    """Makes a boss with a worker, whose models are served at two URLs."""

    def make(url, worker_url, tools=(), **options):
        quiet = {"verbosity_level": sdk.LogLevel.OFF}
        options |= {"name": "worker", "description": "Works", **quiet}
        worker = sdk.ToolCallingAgent(as_tools(tools), model_at(worker_url), **options)
        boss = sdk.ToolCallingAgent([], model_at(url), managed_agents=[worker], **quiet)
        return SmolAgentAdapter(boss, "boss")

    return make


TASK = {"name": "worker", "arguments": {"task": "Look"}}


def test_the_tokens_of_managed_agents_count(team):
    with (
        served(TASK, TASK, say("All done.")) as (boss, url),
        served(*[{"name": "look"}, say("Seen.")] * 2) as (worker, worker_url),
    ):
        agent = team(url, worker_url, [look])
        assert agent.run("Look twice") == "All done."

    assert len(worker.requests) == 4
    assert agent.gather_usage() == boss.gather_usage() + worker.gather_usage()


def test_a_failing_provider_of_a_managed_agent_is_no_mistake_of_its_boss(team, server):
    server.will(Reply({"error": {"message": "slow"}}, 429, {"Retry-After": "7"}))

    with served(TASK, say("I give up.")) as (_, url), pytest.raises(RateLimitError) as caught:
        team(url, f"{server.url}/v1").run("Look")

    assert caught.value.retry_after == 7


def test_a_provider_that_fails_at_the_limit_of_a_managed_agent_is_no_report(team, server):
    server.will(OpenAIProtocol.calls(("echo", {"text": "é"})), Reply("{}", 500))

    with served(TASK, say("I give up.")) as (_, url), pytest.raises(OverloadedError):
        team(url, f"{server.url}/v1", [echo], max_steps=1).run("Look")


def test_a_new_adapter_starts_a_new_conversation(clerk):
    with served(say("Hello."), say("Hello.")) as (model, url):
        first = clerk(url)
        first.run("Hi")
        before = first.gather_usage()
        second = SmolAgentAdapter(first.agent, "another")
        second.run("Ho")

    assert "New task:\nHi" not in observed_so_far(model)
    assert [message["role"] for message in first.get_messages()] == ["system", "user", "assistant"]
    assert first.gather_usage() == before
    assert isinstance(second.gather_usage(), TokenUsage)


def test_an_agent_can_be_run_where_an_event_loop_runs(clerk):
    async def notebook(url):
        return clerk(url).run("Hi")

    with served(say("Hello.")) as (_, url):
        assert asyncio.run(notebook(url)) == "Hello."


@pytest.mark.parametrize(("answer", "text"), [({"é": [1]}, '{"é":[1]}'), (7, "7"), ("", "")])
def test_an_answer_is_always_a_text(answer, text, clerk):
    with served(say(answer)) as (_, url):
        said = clerk(url).run("Hi")

    assert type(said) is str and said == text


def test_the_agent_can_ask_its_user(sdk, model_at):
    player = ScriptedModelAdapter(['{"text": "The blue one."}'], model_id="player")
    user = SmolAgentLLMUser("ada", player, {"name": "Ada"}, "Buys a hat", "A hat!", max_turns=2)
    question = {"name": "user_input", "arguments": {"question": "Which one?"}}
    with served(question, say("Here it is."), question) as (model, url):
        agent = sdk.ToolCallingAgent(
            [user.get_tool()], model_at(url), verbosity_level=sdk.LogLevel.OFF
        )
        clerk = SmolAgentAdapter(agent, "clerk")
        assert clerk.run(user.get_initial_query()) == "Here it is."
        assert observed(model) == "Observation:\nThe blue one."
        with pytest.raises(UserExhaustedError):
            clerk.run("Another!")

    assert [message["content"] for message in user.messages] == [
        "A hat!",
        "Which one?",
        "The blue one.",
    ]


def test_the_example_of_the_page_runs(sdk, server, monkeypatch, capfd):
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.will(OpenAIProtocol.calls(("get_order_details", {"order_id": "#W2378156"})))
    server.will(OpenAIProtocol.calls(("final_answer", {"answer": "It was delivered."})))

    names = {}
    exec(example_of("smolagents"), names)
    names["model"].client.close()

    assert capfd.readouterr().out.splitlines() == ["It was delivered.", "240"]
    assert "yusuf_rossi_9620" in json.dumps(server.requests[-1].body["messages"][-1])
