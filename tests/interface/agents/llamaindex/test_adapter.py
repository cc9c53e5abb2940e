import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from maseval import ScriptedModelAdapter
from maseval.core.clock import Clock
from maseval.core.exceptions import ConfigurationError, TaskTimeoutError
from maseval.core.messages import tool_call
from maseval.core.provider_errors import OverloadedError, ProviderTimeoutError
from maseval.core.tool import tool_definition
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.interface.agents.llamaindex import NOT_JSON, LlamaIndexAgentAdapter, as_tools
from maseval.server import ModelServer
from tests.interface.agents.framework import Framework
from tests.interface.agents.served import (
    CALLERS,
    COUNTED,
    KEY,
    LOOKING,
    NAME,
    answers,
    look,
    served,
)


@pytest.fixture
def own_loop() -> Iterator[None]:
    """Some of LlamaIndex makes an event loop where there is none, and leaves it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


def test_tokens_count_though_nobody_was_told_of_the_answer():
    agents = import_module("llama_index.core.agent.workflow")
    llms = import_module("llama_index.core.llms")

    class Own(agents.FunctionAgent):
        """Asks its model in a way of its own."""

        async def take_step(self, ctx, llm_input, tools, memory):
            return agents.AgentOutput(
                response=llms.ChatMessage(role="assistant", content="Hello."),
                tool_calls=[],
                raw={"usage": dict(zip(OPENAI_NAMES, (3, 4, 7), strict=True))},
                current_agent_name=self.name,
            )

        async def finalize(self, ctx, output, memory):
            return output

    agent = LlamaIndexAgentAdapter(Own(name="own", llm=llms.MockLLM()), "own")
    for turn in (1, 2):
        assert agent.run("Hi") == "Hello."
        assert agent.gather_usage().total_tokens == 7 * turn


OPENAI_NAMES = ("prompt_tokens", "completion_tokens", "total_tokens")


@pytest.fixture
def team_of(framework: Framework) -> Callable[..., Any]:
    """Makes a receptionist, whose model may be at ``front``, and an expert who has tools."""

    def make(url, tools=(look,), *, name=NAME, front=None):
        agents = import_module("llama_index.core.agent.workflow")
        receptionist = agents.FunctionAgent(
            name="receptionist",
            description="Sees who can help.",
            system_prompt="Receive.",
            llm=framework.model_at(front or url),
        )
        expert = agents.FunctionAgent(
            name="expert",
            description="Knows.",
            system_prompt="Know.",
            llm=framework.model_at(url, name),
            tools=as_tools(tools),
            can_handoff_to=[],
        )
        return agents.AgentWorkflow(agents=[receptionist, expert], root_agent="receptionist")

    return make


def handing_over(to: str = "expert") -> dict[str, Any]:
    return {"name": "handoff", "arguments": {"to_agent": to, "reason": "It is hers."}, "id": "h1"}


def asked_of(model: Any, number: int = -1) -> list[Any]:
    return [m["content"] for m in model.requests[number]["messages"] if m["role"] == "user"]


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("text", ['{"text": "a', '{"text": "a"', "no json", '["a"]'])
def test_arguments_that_are_no_json_object_are_told_to_the_model(text, streaming, clerk):
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


def test_a_tool_may_ask_another_agent_that_has_the_same_tools(clerk):
    with served(
        {"name": "delegate"}, {"name": "look", "arguments": {"text": "é"}}, "Seen.", "Done."
    ) as (
        model,
        url,
    ):

        def delegate() -> str:
            """Let somebody else do it."""
            return clerk(url, tools).run("Look")

        tools = [delegate, look]
        agent = clerk(url, tools)
        assert agent.run("Go") == "Done."

    assert answers(model) == ["Seen."]
    assert agent.gather_usage().total_tokens < model.gather_usage().total_tokens


def test_the_configuration_tells_of_agent_and_model(clerk):
    agent = clerk("http://localhost:1/v1", [look], limit=7, timeout=30.0)

    config = json.loads(json.dumps(agent.gather_config()))["llamaindex_config"]

    assert KEY not in json.dumps(config)
    assert config["system_prompt"] == "Help."
    assert config["tools"] == [{"name": "look", "description": "Look at something."}]
    assert config["llm"]["model_name"] == NAME
    assert config["workflow_config"]["max_iterations"] == 7
    assert config["workflow_config"]["timeout"] == 30.0
    assert config["workflow_config"]["early_stopping_method"] == "force"


def test_after_a_failure_the_conversation_can_go_on(clerk):
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


def test_an_agent_at_its_limit_may_be_asked_for_a_last_answer(clerk):
    call = {"name": "look", "arguments": {"text": "é", "numbers": []}}
    with served(call, call, "That is all I know.", "Yes.", usage=COUNTED) as (model, url):
        agent = clerk(url, [look], limit=2, early_stopping_method="generate")
        assert agent.run("Look") == "That is all I know."
        assert agent.gather_usage().total_tokens == 360
        assert agent.run("Sure?") == "Yes."

    said = agent.get_messages().filter_by_role("assistant")[-2]
    assert (said["content"], "tool_calls" in said) == ("That is all I know.", False)
    # Of what it was doing when it was stopped, nothing is left.
    asked = [m["content"] for m in model.requests[-1]["messages"]]
    assert asked == ["Help.", "Look", "That is all I know.", "Sure?"]


def test_the_time_limit_of_an_agent_is_its_failure(clerk):
    with served("Late.", delay_seconds=1.0) as (_, url):
        agent = clerk(url, timeout=0.2)
        with pytest.raises(AgentGaveUpError, match="timed out"):
            agent.run("Hi")


def test_at_the_deadline_of_a_task_nothing_more_is_done(clerk):
    is_over, called_again = threading.Event(), threading.Event()

    def slow() -> str:
        """Take until the deadline is over."""
        if is_over.is_set():
            called_again.set()
        is_over.wait(60)
        return "late"

    with served({"name": "slow"}, loop=True) as (_, url), Clock(0.6).active():
        agent = clerk(url, [slow])
        with pytest.raises(TaskTimeoutError):
            agent.run("Go")
        is_over.set()

        assert not called_again.wait(0.5)


def test_a_failing_tool_is_told_to_the_model(clerk):
    def fail() -> str:
        """Fail."""
        raise ValueError("no such order: é")

    with served({"name": "fail"}, "Sorry.") as (model, url):
        assert clerk(url, [fail]).run("Fail") == "Sorry."

    assert answers(model) == ["no such order: é"]


def test_after_a_handoff_the_other_agent_goes_on(team_of):
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


def test_an_agent_that_writes_its_calls_into_the_text(framework):
    agents = import_module("llama_index.core.agent.workflow")
    call = 'Thought: I need to look.\nAction: look\nAction Input: {"text": "é", "numbers": [1]}'
    end = "Thought: I know.\nAnswer: It is é."
    with served(call, end, call, end, usage=COUNTED) as (model, url):
        react = agents.ReActAgent(llm=framework.model_at(url), tools=as_tools([look]))
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


def test_a_chat_engine_keeps_its_own_memory(own_loop, framework):
    engines = import_module("llama_index.core.chat_engine")
    with served("Hello.", "Again.", usage=COUNTED) as (model, url):
        engine = engines.SimpleChatEngine.from_defaults(
            llm=framework.model_at(url), system_prompt="Help."
        )
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
def test_a_query_engine_answers_each_question_for_itself(streaming, framework):
    core = import_module("llama_index.core")
    engines = import_module("llama_index.core.query_engine")
    documents = [import_module("llama_index.core.schema").TextNode(text="The shop opens at nine.")]
    with served("At nine.", "Yes.", usage=COUNTED) as (model, url):
        index = core.SummaryIndex(documents)
        engine = index.as_query_engine(llm=framework.model_at(url), streaming=streaming)
        assert isinstance(engine, engines.RetrieverQueryEngine)
        agent = LlamaIndexAgentAdapter(engine, "engine")
        assert [agent.run("When?"), agent.run("Sure?")] == ["At nine.", "Yes."]

    assert "opens at nine" in asked_of(model, 0)[0]
    assert [m["content"] for m in agent.get_messages()] == ["When?", "At nine.", "Sure?", "Yes."]
    assert agent.gather_usage().total_tokens == 240


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


def test_a_memory_of_llamaindex_can_be_given(clerk):
    memories = import_module("llama_index.core.memory")
    memory = memories.ChatMemoryBuffer.from_defaults(token_limit=10_000)
    with served({"name": "look", "arguments": {"text": "é"}}, "Hello.", "Again.") as (model, url):
        for query in ("Hi", "You there?"):
            clerk(url, [look], adapter={"memory": memory}).run(query)

    assert asked_of(model) == ["Hi", "You there?"]


@pytest.mark.parametrize("adapted", [[], ["expert"], ["receptionist", "expert"]])
def test_every_call_is_counted_once_and_where_it_was_made(team_of, adapted):
    CALLERS.clear()
    with (
        served(handing_over()) as (front, url),
        served(LOOKING, "Seen.", "Again.") as (back, expert_url),
    ):
        team = team_of(expert_url, front=url)
        others = {name: LlamaIndexAgentAdapter(team.agents[name], name) for name in adapted}
        agent = LlamaIndexAgentAdapter(team, "team")
        assert agent.run("Help") == "Seen."
        assert agent.run("More") == "Again."

    assert CALLERS == ["expert"]
    total = {"receptionist": front.gather_usage(), "expert": back.gather_usage()}
    own = sum(total[name].total_tokens for name in total if name not in adapted)
    assert agent.gather_usage().total_tokens == own
    for name, other in others.items():
        assert other.gather_usage().total_tokens == total[name].total_tokens
    if "expert" in adapted:
        messages = others["expert"].get_messages()
        assert [message["role"] for message in messages] == [
            *("system", "user", "assistant", "tool", "assistant", "user", "assistant")
        ]
        assert messages[0]["content"] == "Know."
        assert [messages[place]["content"] for place in (1, 4, 5, 6)] == [
            *("Help", "Seen.", "More", "Again.")
        ]


@pytest.mark.parametrize("is_async", [True, False])
def test_an_agent_that_is_no_workflow_answers_by_its_run(is_async):
    class Duck:
        asked = ()

        def run(self, user_msg, max_iterations=None):
            self.asked = user_msg, max_iterations
            return answer() if is_async else "Quack."

    async def answer():
        return "Quack."

    agent = LlamaIndexAgentAdapter(Duck(), "duck", max_iterations=3)

    assert agent.run("Hi") == "Quack." and agent.agent.asked == ("Hi", 3)
    assert [each["content"] for each in agent.get_messages()] == ["Hi", "Quack."]
    assert agent.gather_config()["agent_type"] == "Duck"


def test_an_agent_of_another_kind_is_refused_by_name():
    with pytest.raises(ConfigurationError, match=r"agent 'x' \(object\) is not one that LlamaInd"):
        LlamaIndexAgentAdapter(object(), "x").run("Hi")
