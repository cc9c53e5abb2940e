import json
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from maseval.benchmark.tau2 import Tau2Environment
from maseval.core.clock import Clock
from maseval.core.exceptions import ConfigurationError, TaskTimeoutError
from maseval.core.messages import tool_call
from maseval.core.provider_errors import (
    AuthenticationError,
    OverloadedError,
    ProviderConnectionError,
    ProviderTimeoutError,
    RateLimitError,
)
from maseval.interface.agents.smolagents import SmolAgentAdapter, as_tools
from maseval.testing.provider_server import OpenAIProtocol, Reply
from tests.interface.agents.frameworks import Smolagents
from tests.interface.agents.served import KEY, NAME, ask_in_vain, look, recorded_calls, served

say = Smolagents.say


@pytest.fixture
def sdk() -> ModuleType:
    return import_module("smolagents")


@pytest.fixture
def read(framework: Smolagents) -> Callable[..., Any]:
    """All that a model read last."""
    return lambda model: framework.texts(model.requests[-1]["messages"])


def test_the_prompt_describes_the_tools_like_the_request(framework, clerk):
    tools = Tau2Environment({"domain": "airline"}).tools
    with served(say("Hello!")) as (model, url):
        agent = clerk(url, tools)
        agent.run("Hi")

    prompt = agent.openai_messages()[0]["content"]
    for tool in framework.offered(model):
        assert repr(tool["function"]["parameters"]["properties"]) in prompt


def echo(text: str) -> str:
    """Say it again."""
    return text


def test_what_went_wrong_in_a_step_is_part_of_the_messages(clerk, read):
    with served("Just a text.", {"name": "fly", "id": "c1"}, say("I cannot.")) as (model, url):
        agent = clerk(url, [look])
        agent.run("Fly")

    said, error, call, result, answer = agent.openai_messages()[2:]
    assert (said["role"], said["content"]) == ("assistant", "Just a text.")
    assert error["role"] == "user" and error["content"] in "\n".join(read(model))
    assert call["tool_calls"] == [tool_call("fly", id="c1")]
    assert (result["role"], result["tool_call_id"]) == ("tool", "c1")
    assert result["content"] in "\n".join(read(model))
    assert answer["content"] == "I cannot."
    assert [entry.get("error_type") for entry in agent.logs] == [
        None,
        "AgentParsingError",
        "AgentToolExecutionError",
        None,
    ]


def test_a_plan_is_part_of_the_messages(clerk):
    with served("First look, then speak.", say("Done.")) as (_, url):
        agent = clerk(url, planning_interval=5)
        agent.run("Look")

    assert "First look, then speak." in agent.openai_messages()[2]["content"]
    assert [entry["step_type"] for entry in agent.logs] == [
        "TaskStep",
        "PlanningStep",
        "ActionStep",
    ]
    assert agent.gather_usage().total_tokens == sum(e.get("total_tokens", 0) for e in agent.logs)


def test_a_model_that_streams_is_recorded_alike(clerk):
    replies = [{"name": "echo", "arguments": {"text": "é"}, "id": "c1"}, say("Done.")]
    counted = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    with served(*replies * 2, usage=counted) as (_, url):
        whole, streamed = clerk(url, [echo]), clerk(url, [echo], stream_outputs=True)
        whole.run("Go")
        streamed.run("Go")

    first, second = (agent.openai_messages().to_openai_format() for agent in (whole, streamed))
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
    assert [each["role"] for each in looked["model_input_messages"]] == ["system", "user"]
    assert len(answered["model_input_messages"]) > 2
    (call,) = looked["model_output_message"]["tool_calls"]
    assert call["function"]["name"] == "echo"
    assert traces["total_steps"] == len(traces["steps_detail"]) == 2
    assert traces["total_duration_seconds"] == pytest.approx(
        looked["duration_seconds"] + answered["duration_seconds"]
    )


def test_the_configuration_tells_of_agent_model_and_team(sdk, framework, clerk, capfd):
    agent = clerk("http://localhost:1/v1", [look], limit=7)
    agent.agent.model.api_key = KEY
    model = framework.model_at("http://localhost:1/v1")
    worker = sdk.CodeAgent(
        [],
        model,
        name="worker",
        description="Works",
        additional_authorized_imports=["email.mime"],
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
    assert {"email", "smolagents"} <= set(config["requirements"])
    assert config["verbosity_level"] == int(agent.agent.logger.level)
    assert capfd.readouterr() == ("", "")


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


def test_at_the_limit_of_steps_the_agent_answers_and_remembers_it(clerk, read):
    looking = {"name": "echo", "arguments": {"text": "é"}}
    with served(looking, looking, "So far: é.", say("Bye.")) as (model, url):
        agent = clerk(url, [echo], limit=2)
        assert agent.run("Look") == "So far: é."
        assert agent.run("Thanks") == "Bye."

    assert len(model.requests) == 4
    assert not model.requests[2]["tools"]
    assert any(text.startswith("So far: é.") for text in read(model))
    assert agent.logs[3]["error_type"] == "AgentMaxStepsError"
    assert agent.openai_messages().filter_by_role("assistant")[-2]["content"] == "So far: é."
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
        clerk(f"{server.url}/v1", [echo], limit=1).run("Look")


def test_a_named_error_of_a_tool_comes_out_of_the_code_that_calls_it(clerk):
    with (
        served("I ask.\n<code>\nask_in_vain()\n</code>") as (_, url),
        pytest.raises(ProviderTimeoutError, match="too slow"),
    ):
        clerk(url, [ask_in_vain], kind="CodeAgent").run("Ask")


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
        agent = clerk(url, environment.tools, kind="CodeAgent")
        assert agent.run("Where is it?") == "Delivered: Error"
        assert agent.run("Thanks") == "Bye."

    assert recorded_calls(environment) == [
        ("get_order_details", {"order_id": "#W2378156"}),
        ("get_order_details", {"order_id": "#W0"}),
    ]
    said, printed = agent.openai_messages()[2:4]
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

    agent = clerk("http://localhost:1/v1", [book], kind="CodeAgent").agent

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
def team(sdk: ModuleType, framework: Smolagents) -> Callable[..., Any]:
    """Makes a boss with a worker, whose models are served at two URLs."""

    def make(url, worker_url, tools=(), **options):
        quiet = {"verbosity_level": sdk.LogLevel.OFF}
        options |= {"name": "worker", "description": "Works", **quiet}
        worker = sdk.ToolCallingAgent(as_tools(tools), framework.model_at(worker_url), **options)
        boss = sdk.ToolCallingAgent([], framework.model_at(url), managed_agents=[worker], **quiet)
        return SmolAgentAdapter(boss, "boss")

    return make


TASK = {"name": "worker", "arguments": {"task": "Look"}}


def test_a_managed_agent_with_an_adapter_has_its_own_messages_steps_and_tokens(team):
    with (
        served(TASK, TASK, say("All done.")) as (boss, url),
        served(*[{"name": "look"}, say("Seen.")] * 2) as (worker, worker_url),
    ):
        agent = team(url, worker_url, [look])
        other = SmolAgentAdapter(agent.agent.managed_agents["worker"], "worker")
        agent.run("Look twice")

    assert agent.gather_usage() == boss.gather_usage()
    assert other.gather_usage() == worker.gather_usage()
    roles = [message["role"] for message in other.openai_messages()]
    assert roles == ["system", *["user", "assistant", "tool", "assistant"] * 2]
    assert other.openai_messages()[-1]["content"] == "Seen."
    assert "Look" in other.openai_messages()[1]["content"]
    traces = other.gather_traces()
    assert (traces["total_steps"], traces["message_count"]) == (4, 9)
    assert [step["input_tokens"] for step in traces["steps_detail"]] == [
        *(usage.input_tokens for usage in worker._usage_records),
    ]
    assert agent.gather_traces()["total_steps"] == 3
    assert "Here is the final answer from your managed agent 'worker'" in str(
        agent.openai_messages()[3]["content"]
    )


def test_an_agent_that_two_managers_share_is_counted_once(sdk, framework):
    quiet = {"verbosity_level": sdk.LogLevel.OFF, "description": "Works"}
    with (
        served({"name": "chief", "arguments": {"task": "Go"}}, say("Done.")) as (top, url),
        served(TASK, say("Did it.")) as (chief, chief_url),
        served(say("Seen.")) as (worker, worker_url),
    ):
        make = sdk.ToolCallingAgent
        one = make([], framework.model_at(worker_url), name="worker", **quiet)
        two = make([], framework.model_at(chief_url), name="chief", managed_agents=[one], **quiet)
        boss = make([], framework.model_at(url), managed_agents=[one, two], **quiet)
        agent, middle = SmolAgentAdapter(boss, "boss"), SmolAgentAdapter(two, "chief")
        agent.run("Go")

    assert middle.gather_usage() == chief.gather_usage()
    assert agent.gather_usage() == top.gather_usage() + worker.gather_usage()


def test_a_failing_provider_of_a_managed_agent_is_no_mistake_of_its_boss(team, server):
    server.will(Reply({"error": {"message": "slow"}}, 429, {"Retry-After": "7"}))

    with served(TASK, say("I give up.")) as (_, url), pytest.raises(RateLimitError) as caught:
        team(url, f"{server.url}/v1").run("Look")

    assert caught.value.retry_after == 7


def test_a_provider_that_fails_at_the_limit_of_a_managed_agent_is_no_report(team, server):
    server.will(OpenAIProtocol.calls(("echo", {"text": "é"})), Reply("{}", 500))

    with served(TASK, say("I give up.")) as (_, url), pytest.raises(OverloadedError):
        team(url, f"{server.url}/v1", [echo], max_steps=1).run("Look")


def test_messages_of_an_agent_may_be_mappings():
    class Duck:
        memory = type("Memory", (), {"steps": [], "system_prompt": None})

        def write_memory_to_messages(self):
            return [{"role": "user", "content": "Hi"}, {"content": "no role"}]

    messages = SmolAgentAdapter(Duck(), "duck").get_messages()

    assert [(each["role"], each["content"]) for each in messages] == [
        *(("user", "Hi"), ("assistant", "no role")),
    ]


def test_an_agent_of_another_kind_is_refused_by_name():
    with pytest.raises(ConfigurationError, match=r"agent 'x' \(object\) is not one that SmolAgent"):
        SmolAgentAdapter(object(), "x").run("Hi")
