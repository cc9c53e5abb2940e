import asyncio
import json
import logging
import time
from importlib import import_module

import pytest

from maseval import ScriptedModelAdapter
from maseval.benchmark.tau2 import Tau2Environment, load_tasks
from maseval.core.clock import Clock
from maseval.core.exceptions import TaskTimeoutError
from maseval.core.messages import tool_call
from maseval.core.provider_errors import OverloadedError, ProviderTimeoutError
from maseval.core.tool import tool_definition
from maseval.core.usage import StaticPricingCalculator, TokenUsage, Usage
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.interface.agents.llamaindex import (
    LlamaIndexAgentAdapter,
    LlamaIndexLLMUser,
    as_tools,
)
from maseval.interface.agents.llamaindex_messages import tokens_of
from maseval.interface.agents.llamaindex_run import NOT_JSON
from maseval.server import ModelServer
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

pytestmark = [
    pytest.mark.data,
    *needing("llama_index"),
    # LlamaIndex looks at every attribute of its agents, and pydantic has deprecated some.
    pytest.mark.filterwarnings("ignore:The `__fields.*` attribute is deprecated"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_.*fields' attribute"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step"),
    # LlamaIndex never closes its clients, nor the databases of its memories.
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <(socket|function _SelectorTransport|function Connection)"
    ),
]


@pytest.fixture
def own_loop():
    """Some of LlamaIndex makes an event loop where there is none, and leaves it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


WITH_USAGE = {"stream_options": {"include_usage": True}}


def model_at(url, name=NAME, **options):
    settings = {"max_retries": 0, "context_window": 100_000, "additional_kwargs": WITH_USAGE}
    return import_module("llama_index.llms.openai_like").OpenAILike(
        model=name,
        api_base=url,
        api_key=KEY,
        is_chat_model=True,
        is_function_calling_model=True,
        **settings | options,
    )


def function_agent(url, tools=(), *, llm=None, **options):
    settings = {"system_prompt": "Help.", **options}
    agents = import_module("llama_index.core.agent.workflow")
    return agents.FunctionAgent(llm=llm or model_at(url), tools=as_tools(tools), **settings)


def clerk(url, tools=(), *, max_iterations=None, **options):
    agent = function_agent(url, tools, **options)
    return LlamaIndexAgentAdapter(agent, "clerk", max_iterations=max_iterations)


def tau2_agent(environment, url, name):
    agent = function_agent(
        url, environment.tools, llm=model_at(url, name), system_prompt=environment.policy
    )
    return LlamaIndexAgentAdapter(agent, "clerk")


def team_of(url, tools=None, *, name=NAME, front=None):
    """A receptionist, perhaps with a model of her own at ``front``, and an expert with tools."""
    agents = import_module("llama_index.core.agent.workflow")
    receptionist = agents.FunctionAgent(
        name="receptionist",
        description="Sees who can help.",
        system_prompt="Receive.",
        llm=model_at(front or url),
    )
    expert = agents.FunctionAgent(
        name="expert",
        description="Knows.",
        system_prompt="Know.",
        llm=model_at(url, name),
        tools=as_tools([look] if tools is None else tools),
        can_handoff_to=[],
    )
    return agents.AgentWorkflow(agents=[receptionist, expert], root_agent="receptionist")


def look(text: str, numbers: list[int], place: dict | None = None) -> str:
    """Look at something."""
    return text


def handing_over(to="expert"):
    return {"name": "handoff", "arguments": {"to_agent": to, "reason": "It is hers."}, "id": "h1"}


def asked_of(model, number=-1):
    return [m["content"] for m in model.requests[number]["messages"] if m["role"] == "user"]


def test_a_retail_task_is_solved_by_the_reference_calls():
    solved = solve(tau2_agent)

    gold = load_tasks("retail")[0].evaluation_data["actions"]
    assert solved.rewards == [1.0]
    assert recorded_calls(solved.environments[0]) == [(a["name"], a["arguments"]) for a in gold]


def test_the_conversation_is_remembered_over_the_turns_of_a_telecom_task():
    solved = solve(tau2_agent, "telecom", [str(load_tasks("telecom")[0].id)])

    assert solved.rewards == [1.0]
    asked = [m["content"] for m in solved.last_request() if m["role"] == "user"]
    assert len(asked) > 1
    assert asked == [entry["query"] for entry in solved.agents[0].logs]


def test_simulations_run_side_by_side():
    solved = solve(tau2_agent, ids=("0", "1", "2", "3"), num_workers=4)

    assert solved.rewards == [1.0] * 4
    used = {agent.gather_usage().total_tokens for agent in solved.agents}
    assert used == {model.gather_usage().total_tokens for model in solved.models.values()}


def test_a_task_of_several_turns_is_solved_by_two_agents():
    with served(handing_over()) as (receptionist, front):

        def make(environment, url, name):
            team = team_of(url, environment.tools, name=name, front=front)
            return LlamaIndexAgentAdapter(team, "team")

        solved = solve(make, "telecom", [str(load_tasks("telecom")[0].id)])

    assert solved.rewards == [1.0]
    assert len(solved.agents[0].logs) > 1
    assert len(receptionist.requests) == 1


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_model_is_told_all_of_every_tool(domain):
    tools = Tau2Environment({"domain": domain}).tools
    with served("Hello!") as (model, url):
        clerk(url, tools).run("Hi")

    expected = [tool_definition(function, name=name) for name, function in tools.items()]
    for definition in expected:  # as LlamaIndex has it
        definition["function"]["strict"] = False
        definition["function"]["parameters"]["additionalProperties"] = False
        del definition["function"]["parameters"]["title"]
    assert model.requests[0]["tools"] == expected


def test_schemas_are_told_with_all_they_refer_to():
    from pydantic import BaseModel, Field

    class Place(BaseModel):
        city: str = Field(description="Where")
        floors: list[int | None] = Field(default=[1])

    def move(place: Place, **more: int) -> str:
        """Move."""
        return str(place)

    with served("Hello!") as (model, url):
        clerk(url, [move]).run("Hi")

    expected = tool_definition(move)["function"]["parameters"]
    sent = model.requests[0]["tools"][0]["function"]["parameters"]
    assert expected["$defs"] == sent["$defs"]
    assert expected["properties"] == sent["properties"]


@pytest.mark.parametrize(
    "arguments", [*HARD_ARGUMENTS, {"self": 1, "input": 2, "args": [3], "ctx": 4}], ids=json.dumps
)
def test_arguments_and_results_pass_unchanged(arguments):
    received = []

    def look_up(**arguments) -> str:
        """Look it up."""
        received.append(arguments)
        return f"résumé <{arguments}> \\n \U0001f600"

    with served({"name": "look_up", "arguments": arguments}, "Done.") as (model, url):
        assert clerk(url, [look_up]).run("Look") == "Done."

    assert same_json(received, [arguments])
    assert answers(model) == [look_up(**arguments)]


@pytest.mark.parametrize(
    "arguments", [{"order_id": 5}, {"order_id": "#W0", "why": "é"}, {}, {"order_id": ["#W2378156"]}]
)
def test_the_environment_itself_answers_bad_arguments(arguments):
    name = "get_order_details"
    environment = Tau2Environment({"domain": "retail"})
    with served({"name": name, "arguments": arguments}, "Sorry.") as (model, url):
        clerk(url, environment.tools).run("Where is it?")

    call = {"name": name, "arguments": arguments}
    assert answers(model) == [Tau2Environment({"domain": "retail"}).respond(call)["content"]]
    assert recorded_calls(environment) == [(name, arguments)]


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("text", ['{"text": "a', '{"text": "a"', "no json", '["a"]'])
def test_arguments_that_are_no_json_object_are_told_to_the_model(text, streaming):
    seen = []

    def look_up(**arguments) -> str:
        """Look it up."""
        seen.append(arguments)
        return "seen"

    bad = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": text}}
    good = tool_call("look_up", {"text": "b"}, id="c2")
    with served([bad, good], "I see.") as (model, url):
        agent = clerk(url, [look_up], streaming=streaming)
        assert agent.run("Look") == "I see."

    assert seen == [{"text": "b"}]
    assert answers(model) == [NOT_JSON, "seen"]
    (said,) = [m for m in agent.get_messages() if m.get("tool_calls")]
    assert said["tool_calls"] == [bad, good]


@pytest.mark.parametrize(
    ("result", "read"), [({"länge": [1, None]}, '{"länge":[1,null]}'), ("", ""), (None, "null")]
)
def test_what_a_model_reads_of_a_result(result, read):
    def count() -> object:
        """Count."""
        return result

    with served({"name": "count"}, "Done.") as (model, url):
        clerk(url, {"count": count}).run("Count")

    assert answers(model) == [read]


@pytest.mark.parametrize("streaming", [True, False])
def test_calls_of_one_answer_are_made_in_its_order(streaming):
    made = []

    def slow(number: int) -> str:
        """Take the longer the earlier it is."""
        time.sleep(0.02 * (8 - number))
        made.append(number)
        return str(number)

    calls = [{"name": "slow", "arguments": {"number": n}, "id": f"c{n}"} for n in range(8)]
    with served(calls, "Done.") as (model, url):
        agent = clerk(url, [slow], streaming=streaming)
        agent.run("Go")

    assert made == list(range(8))
    assert answers(model) == [str(number) for number in range(8)]
    told = [m["tool_call_id"] for m in agent.get_messages() if m["role"] == "tool"]
    assert told == [call["id"] for call in calls]


def test_a_tool_may_ask_another_agent_that_has_the_same_tools():
    with served(
        {"name": "delegate"}, {"name": "look", "arguments": {"text": "é"}}, "Seen.", "Done."
    ) as (
        model,
        url,
    ):

        def delegate() -> str:
            """Let somebody else do it."""
            return LlamaIndexAgentAdapter(function_agent(url, tools), "other").run("Look")

        tools = [delegate, look]
        agent = clerk(url, tools)
        assert agent.run("Go") == "Done."

    assert answers(model) == ["Seen."]
    assert agent.gather_usage().total_tokens < model.gather_usage().total_tokens


def test_messages_have_openais_form_and_all_turns():
    calls = [tool_call("look", {"text": "é", "numbers": []}, id=f"c{n}") for n in (1, 2)]
    with served({"content": "One moment.", "tool_calls": calls}, "Done.", "Bye.") as (model, url):
        agent = clerk(url, [look])
        agent.run("Look")
        agent.run("Thanks")

    said = agent.get_messages().to_openai_format()
    assert said == [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": "One moment.", "tool_calls": calls},
        {"role": "tool", "content": "é", "name": "look", "tool_call_id": "c1"},
        {"role": "tool", "content": "é", "name": "look", "tool_call_id": "c2"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": "Bye."},
    ]
    for sent, kept in zip(model.requests[-1]["messages"], said, strict=False):
        assert sent.items() <= kept.items()
    assert len(model.requests[-1]["messages"]) == len(said) - 1


COUNTED = {
    "input_tokens": 100,
    "output_tokens": 20,
    "total_tokens": 120,
    "cached_input_tokens": 60,
    "reasoning_tokens": 5,
}


@pytest.mark.parametrize("streaming", [True, False])
def test_usage_is_what_the_server_counted_over_all_turns(streaming):
    with served({"name": "look"}, "Done.", "Bye.", usage=COUNTED) as (_, url):
        agent = clerk(url, [look], streaming=streaming)
        assert type(agent.gather_usage()) is Usage
        agent.run("Look")
        agent.run("Thanks")

    usage = agent.gather_usage().to_dict()
    assert {name: usage[name] for name in COUNTED} == {k: 3 * n for k, n in COUNTED.items()}
    assert [entry["total_tokens"] for entry in agent.logs] == [240, 120]
    assert [entry["status"] for entry in agent.logs] == ["success", "success"]


def test_a_stream_that_does_not_count_is_told_of(caplog):
    with served("Hello.", usage=COUNTED) as (_, url):
        agent = clerk(url, llm=model_at(url, additional_kwargs={}))
        with caplog.at_level(logging.WARNING):
            agent.run("Hi")

    assert type(agent.gather_usage()) is Usage
    assert "include_usage" in caplog.text


def test_tokens_of_a_turn_that_fails_are_counted():
    with served({"name": "look"}, usage=COUNTED) as (_, url):
        agent = clerk(url, [look])
        with pytest.raises(Exception, match="has 1 replies"):
            agent.run("Look")

    assert agent.gather_usage().input_tokens == 100
    assert agent.logs[-1]["status"] == "error"
    assert [m["role"] for m in agent.get_messages()] == ["system", "user", "assistant", "tool"]


def test_tokens_have_a_price():
    prices = StaticPricingCalculator({NAME: {"input": 0.5, "output": 1.0}})
    with served("Hello.", usage=COUNTED) as (_, url):
        agent = LlamaIndexAgentAdapter(function_agent(url), "clerk", cost_calculator=prices)
        agent.run("Hi")

    usage = agent.gather_usage()
    assert usage.cost == prices.calculate_cost(usage, NAME) > 0


def test_the_configuration_is_json_and_holds_no_key():
    agent = clerk("http://localhost:1/v1", [look], max_iterations=7, timeout=30.0)

    config = json.loads(json.dumps(agent.gather_config()))["llamaindex_config"]

    assert KEY not in json.dumps(config)
    assert config["system_prompt"] == "Help."
    assert config["tools"] == [{"name": "look", "description": "Look at something."}]
    assert config["llm"]["model_name"] == NAME
    assert config["workflow_config"]["max_iterations"] == 7
    assert config["workflow_config"]["timeout"] == 30.0
    assert config["workflow_config"]["early_stopping_method"] == "force"


def test_the_configuration_of_a_team_names_all_of_them():
    team = LlamaIndexAgentAdapter(team_of("http://localhost:1/v1"), "team")

    config = json.loads(json.dumps(team.gather_config()))["llamaindex_config"]["workflow_config"]

    assert KEY not in json.dumps(config)
    assert config["root_agent"] == "receptionist"
    assert [agent["agent_name"] for agent in config["agents"]] == ["receptionist", "expert"]
    assert [agent["system_prompt"] for agent in config["agents"]] == ["Receive.", "Know."]


@pytest.mark.parametrize(("reply", "error"), FAILURES)
def test_failures_of_the_provider_are_called_by_their_names(reply, error, server):
    server.will(reply)
    url = f"{server.url}/v1"
    agent = clerk(url, llm=model_at(url, timeout=0.5))

    with pytest.raises(error) as caught:
        agent.run("Hi")

    assert KEY not in str(caught.value)
    assert caught.value.model_id == NAME
    assert len(server.requests) == 1
    if reply.status == 429:
        assert caught.value.retry_after == 7
    assert agent.logs[-1]["error_type"] == error.__name__


def test_a_refused_connection_is_the_providers_failure():
    with pytest.raises(ConnectionError):
        clerk("http://127.0.0.1:9/v1").run("Hi")


def test_after_a_failure_the_conversation_can_go_on():
    class Breaking(ScriptedModelAdapter):
        def _chat_impl(self, *args, **options):
            response = super()._chat_impl(*args, **options)
            if len(self.requests) == 3:
                raise ProviderTimeoutError("gone", provider="p", model_id="m")
            return response

    replies = [
        {"name": "look", "arguments": {"text": "é", "numbers": []}},
        "Done.",
        "lost",
        "Here again.",
    ]
    model = Breaking(replies, model_id=NAME)
    with ModelServer(model) as server:
        agent = clerk(server.url, [look])
        agent.run("Look")
        with pytest.raises(OverloadedError):
            agent.run("Are you there?")
        assert agent.run("And now?") == "Here again."

    assert asked_of(model) == ["Look", "Are you there?", "And now?"]
    assert answers(model) == ["é"]


def test_the_limit_of_iterations_is_the_agents_failure():
    with served({"name": "look", "arguments": {"text": "é"}}, loop=True) as (model, url):
        agent = clerk(url, [look], max_iterations=3)
        with pytest.raises(AgentGaveUpError, match="Max iterations of 3 reached"):
            agent.run("Look")

    assert len(model.requests) == 3
    assert [m["role"] for m in agent.get_messages()].count("tool") == 2


def test_an_agent_at_its_limit_may_be_asked_for_a_last_answer():
    call = {"name": "look", "arguments": {"text": "é", "numbers": []}}
    with served(call, call, "That is all I know.", "Yes.", usage=COUNTED) as (model, url):
        agent = clerk(url, [look], max_iterations=2, early_stopping_method="generate")
        assert agent.run("Look") == "That is all I know."
        assert agent.gather_usage().total_tokens == 360
        assert agent.run("Sure?") == "Yes."

    said = agent.get_messages().filter_by_role("assistant")[-2]
    assert (said["content"], "tool_calls" in said) == ("That is all I know.", False)
    # Of what it was doing when it was stopped, nothing is left.
    asked = [m["content"] for m in model.requests[-1]["messages"]]
    assert asked == ["Help.", "Look", "That is all I know.", "Sure?"]


def test_the_time_limit_of_an_agent_is_its_failure():
    with served("Late.", delay_seconds=1.0) as (_, url):
        agent = clerk(url, timeout=0.2)
        with pytest.raises(AgentGaveUpError, match="timed out"):
            agent.run("Hi")


def test_at_the_deadline_of_a_task_nothing_more_is_done():
    def slow() -> str:
        """Take long."""
        time.sleep(0.4)
        return "late"

    with served({"name": "slow"}, loop=True) as (model, url), Clock(0.6).active():
        agent = clerk(url, [slow])
        with pytest.raises(TaskTimeoutError):
            agent.run("Go")
        time.sleep(0.2)
        asked = len(model.requests)
        time.sleep(0.6)

        assert len(model.requests) == asked


def test_a_failing_tool_is_told_to_the_model():
    def fail() -> str:
        """Fail."""
        raise ValueError("no such order: é")

    with served({"name": "fail"}, "Sorry.") as (model, url):
        assert clerk(url, [fail]).run("Fail") == "Sorry."

    assert answers(model) == ["no such order: é"]


def test_a_named_error_of_a_tool_comes_out_as_it_is():
    def ask() -> str:
        """Ask another model."""
        raise ProviderTimeoutError("too slow", provider="other", model_id="m")

    with (
        served({"name": "ask"}, loop=True) as (_, url),
        pytest.raises(ProviderTimeoutError, match="too slow"),
    ):
        clerk(url, [ask]).run("Ask")


def test_after_a_handoff_the_other_agent_goes_on():
    replies = [
        "Hello.",
        handing_over(),
        {"name": "look", "arguments": {"text": "é"}},
        "Seen.",
        "Yes.",
    ]
    with served(*replies, usage=COUNTED) as (model, url):
        agent = LlamaIndexAgentAdapter(team_of(url), "team")
        said = [agent.run(query) for query in ("Hi", "I need more", "Really?")]

    assert said == ["Hello.", "Seen.", "Yes."]
    prompts = [request["messages"][0]["content"] for request in model.requests]
    assert prompts == ["Receive.", "Receive.", "Know.", "Know.", "Know."]
    assert asked_of(model) == ["Hi", "I need more", "Really?"]
    speakers = [m["metadata"]["agent"] for m in agent.get_messages().filter_by_role("assistant")]
    assert speakers == ["receptionist", "receptionist", "expert", "expert", "expert"]
    assert agent.gather_usage().total_tokens == 5 * 120
    assert agent._resolve_model_id() == NAME


def test_an_agent_that_writes_its_calls_into_the_text():
    agents = import_module("llama_index.core.agent.workflow")
    call = 'Thought: I need to look.\nAction: look\nAction Input: {"text": "é", "numbers": [1]}'
    end = "Thought: I know.\nAnswer: It is é."
    with served(call, end, call, end, usage=COUNTED) as (model, url):
        react = agents.ReActAgent(llm=model_at(url), tools=as_tools([look]))
        agent = LlamaIndexAgentAdapter(react, "react")
        assert [agent.run("Look"), agent.run("Again")] == ["It is é."] * 2

    said = agent.get_messages()
    assert [m["role"] for m in said] == ["system", *["user", "assistant", "tool", "assistant"] * 2]
    (made,) = said[2]["tool_calls"]
    assert json.loads(made["function"]["arguments"]) == {"text": "é", "numbers": [1]}
    assert (said[3]["content"], said[3]["tool_call_id"]) == ("é", made["id"])
    assert said[4]["content"] == "It is é."
    assert agent.gather_usage().total_tokens == 480
    schema = tool_definition(look)["function"]["parameters"]["properties"]
    assert json.dumps(schema) in model.requests[0]["messages"][0]["content"]
    assert "Look" in asked_of(model)


def test_a_chat_engine_keeps_its_own_memory(own_loop):
    engines = import_module("llama_index.core.chat_engine")
    with served("Hello.", "Again.", usage=COUNTED) as (model, url):
        engine = engines.SimpleChatEngine.from_defaults(llm=model_at(url), system_prompt="Help.")
        agent = LlamaIndexAgentAdapter(engine, "engine")
        assert [agent.run("Hi"), agent.run("You there?")] == ["Hello.", "Again."]

    assert asked_of(model) == ["Hi", "You there?"]
    said = [(m["role"], m["content"]) for m in agent.get_messages()]
    assert said == [
        ("user", "Hi"),
        ("assistant", "Hello."),
        ("user", "You there?"),
        ("assistant", "Again."),
    ]
    assert agent.gather_usage().total_tokens == 240
    assert agent.gather_config()["llamaindex_config"]["llm"]["model_name"] == NAME


@pytest.mark.parametrize("streaming", [True, False])
def test_a_query_engine_answers_each_question_for_itself(streaming):
    core = import_module("llama_index.core")
    engines = import_module("llama_index.core.query_engine")
    documents = [import_module("llama_index.core.schema").TextNode(text="The shop opens at nine.")]
    with served("At nine.", "Yes.", usage=COUNTED) as (model, url):
        index = core.SummaryIndex(documents)
        engine = index.as_query_engine(llm=model_at(url), streaming=streaming)
        assert isinstance(engine, engines.RetrieverQueryEngine)
        agent = LlamaIndexAgentAdapter(engine, "engine")
        assert [agent.run("When?"), agent.run("Sure?")] == ["At nine.", "Yes."]

    assert "opens at nine" in asked_of(model, 0)[0]
    assert [m["content"] for m in agent.get_messages()] == ["When?", "At nine.", "Sure?", "Yes."]
    assert agent.gather_usage().total_tokens == 240


def test_what_can_be_run_without_a_loop_is():
    class Old:
        def run_sync(self, input):
            return f"You said {input}"

    agent = LlamaIndexAgentAdapter(Old(), "old")

    assert agent.run("Hi") == "You said Hi"
    assert [m["role"] for m in agent.get_messages()] == ["user", "assistant"]
    assert agent.gather_config()["llamaindex_config"]["llm"] is None
    assert type(agent.gather_usage()) is Usage


def test_a_workflow_of_ones_own_can_be_run():
    workflow = import_module("llama_index.core.workflow")

    class Echo(workflow.Workflow):
        @workflow.step
        async def echo(self, event: workflow.StartEvent) -> workflow.StopEvent:
            return workflow.StopEvent(result=f"You said {event.user_msg}")

    agent = LlamaIndexAgentAdapter(Echo(), "echo")

    assert [agent.run("Hi"), agent.run("Ho")] == ["You said Hi", "You said Ho"]
    assert [m["content"] for m in agent.get_messages()] == [
        "Hi",
        "You said Hi",
        "Ho",
        "You said Ho",
    ]


def test_a_memory_of_llamaindex_can_be_given():
    memories = import_module("llama_index.core.memory")
    memory = memories.ChatMemoryBuffer.from_defaults(token_limit=10_000)
    with served({"name": "look", "arguments": {"text": "é"}}, "Hello.", "Again.") as (model, url):
        for query in ("Hi", "You there?"):
            agent = LlamaIndexAgentAdapter(function_agent(url, [look]), "clerk", memory=memory)
            agent.run(query)

    assert asked_of(model) == ["Hi", "You there?"]


def test_a_new_adapter_starts_a_new_conversation():
    with served("Hello.", "Hello.") as (model, url):
        agent = clerk(url)
        agent.run("Hi")
        LlamaIndexAgentAdapter(agent.agent, "another").run("Ho")

    assert [m["content"] for m in model.requests[-1]["messages"]] == ["Help.", "Ho"]


def test_an_agent_can_be_run_where_an_event_loop_runs():
    async def notebook(url):
        return clerk(url).run("Hi")

    with served("Hello.") as (_, url):
        assert asyncio.run(notebook(url)) == "Hello."


def test_tools_can_be_used_without_the_adapter(own_loop):
    async def look_up(text: str) -> str:
        """Look it up."""
        await asyncio.sleep(0)
        return text

    (tool,) = as_tools([look_up])

    assert tool.call(text="é").content == "é"
    assert asyncio.run(tool.acall(text="é")).content == "é"
    with pytest.raises(TypeError):
        tool.call("é")


def test_a_user_can_be_asked_by_a_tool():
    player = ScriptedModelAdapter(['{"text": "Number 5."}'])
    user = LlamaIndexLLMUser("user", player, {}, "Ask about an order.", "Hi", max_turns=2)
    tool = user.get_tool()
    ask = {"name": "ask_user", "arguments": {"question": "Which order?"}}
    with served(ask, "I see.") as (model, url):
        agent = LlamaIndexAgentAdapter(function_agent(url), "clerk")
        agent.agent.tools = [tool]
        assert agent.run("Hi") == "I see."

    assert isinstance(tool, import_module("llama_index.core.tools").FunctionTool)
    assert answers(model) == ["Number 5."]
    assert model.requests[0]["tools"][0]["function"]["parameters"]["required"] == ["question"]


def test_the_example_of_the_page_runs(monkeypatch, capsys):
    order = {"name": "get_order_details", "arguments": {"order_id": "#W2378156"}}
    model = ScriptedModelAdapter([order, "It was delivered."], model_id="gpt-4.1")
    with ModelServer(model) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        exec(example_of("llamaindex"), {})

    said, tokens = capsys.readouterr().out.splitlines()
    assert said == "It was delivered."
    assert int(tokens) == model.gather_usage().total_tokens
    assert "yusuf_rossi_9620" in answers(model)[0]


def test_answers_counted_as_anthropic_does():
    raw = {"usage": {"input_tokens": 7, "output_tokens": 2, "cache_read_input_tokens": 3}}

    assert tokens_of(raw) == TokenUsage(
        kind="llm", input_tokens=7, output_tokens=2, total_tokens=9, cached_input_tokens=3
    )
