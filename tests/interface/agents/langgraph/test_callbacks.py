import pytest

from maseval import ScriptedModelAdapter, StaticPricingCalculator, TaskTimeoutError
from maseval.benchmark.tau2 import Tau2Environment
from maseval.core.provider_errors import OverloadedError
from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools
from maseval.server import ModelServer
from tests.interface.agents.langgraph.graphs import agent_graph, custom_graph, one_node
from tests.interface.agents.served import look, served


def test_several_models_are_priced_one_by_one(framework):
    models = [
        ScriptedModelAdapter(["x"], model_id=name, usage={"input_tokens": 10, "output_tokens": 0})
        for name in ("cheap", "dear")
    ]
    with ModelServer(*models) as server:
        clients = [framework.model_at(server.url, name) for name in ("cheap", "dear")]

        def answer(state):
            return {"messages": [client.invoke(state["messages"]) for client in clients]}

        rates = {"cheap": {"input": 1.0, "output": 1.0}, "dear": {"input": 5.0, "output": 1.0}}
        agent = LangGraphAgentAdapter(
            one_node(answer), "a", cost_calculator=StaticPricingCalculator(rates)
        )
        agent.run("Hi")

    assert agent.gather_usage().cost == pytest.approx(60.0)


def test_callbacks_of_the_given_configuration_are_called_too(serve):
    from langchain_core.callbacks import BaseCallbackHandler

    _, client = serve("One")
    heard = []

    class Ear(BaseCallbackHandler):
        def on_llm_end(self, response, **more):
            heard.append(response.generations[0][0].text)

    config = {"callbacks": [Ear()]}
    LangGraphAgentAdapter(agent_graph(client), "a", config=config).run("Hi")

    assert heard == ["One"]
    assert len(config["callbacks"]) == 1


@pytest.mark.parametrize("handling", [True, False, "please try again"])
def test_a_deadline_in_a_tool_is_not_taken_for_its_result(handling, serve):
    def take() -> str:
        """Take too long."""
        raise TaskTimeoutError("late", elapsed=2.0, timeout=1.0)

    _, client = serve({"name": "take"}, "Done")
    graph = custom_graph(client, as_tools([take]), handling=handling)

    with pytest.raises(TaskTimeoutError, match="late"):
        LangGraphAgentAdapter(graph, "a").run("Go")


def test_a_failure_that_the_graph_got_over_is_forgotten(serve):
    from langchain.agents.middleware import ToolRetryMiddleware

    outcomes = [OverloadedError("busy", provider="p", model_id="m"), "better"]

    def take() -> str:
        """Take it."""
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    _, client = serve({"name": "take"}, "Done")
    again = ToolRetryMiddleware(max_retries=1, initial_delay=0.0, jitter=False)
    graph = agent_graph(client, as_tools([take]), middleware=[again])

    assert LangGraphAgentAdapter(graph, "a").run("Go") == "Done"


def test_a_failure_of_one_turn_is_not_that_of_the_next(serve):
    def take() -> str:
        """Take too long."""
        raise TaskTimeoutError("late", elapsed=2.0, timeout=1.0)

    _, client = serve({"name": "take"}, "Done")
    agent = LangGraphAgentAdapter(agent_graph(client, as_tools([take])), "a")
    with pytest.raises(TaskTimeoutError):
        agent.run("Go")

    assert agent.run("Go on") == "Done"


@pytest.mark.parametrize("handling", [True, False, "please try again"])
def test_error_handling_of_the_graph_does_not_change_what_a_tool_says(handling, serve):
    environment = Tau2Environment({"domain": "retail"})
    model, client = serve({"name": "get_order_details", "arguments": {"id": 1}}, "Done")
    graph = custom_graph(client, as_tools(environment.tools), handling=handling)

    LangGraphAgentAdapter(graph, "a").run("Go")

    told = environment.trajectory.messages[-1]["content"]
    assert told.startswith("Error")
    assert model.requests[-1]["messages"][-1]["content"] == told


def test_an_error_of_a_tool_ends_the_turn_unless_the_graph_handles_it(clerk, serve):
    def judge() -> str:
        """Find a fault."""
        raise ValueError("no such order")

    with served({"name": "judge"}) as (_, url), pytest.raises(ValueError, match="no such order"):
        clerk(url, [judge]).run("Go")

    model, client = serve({"name": "judge"}, "Sorry.")
    graph = custom_graph(client, as_tools([judge]), handling=True)
    assert LangGraphAgentAdapter(graph, "a").run("Go") == "Sorry."
    assert "no such order" in model.requests[-1]["messages"][-1]["content"]


def test_an_answer_in_parts_is_its_text():
    from langchain_core.messages import AIMessage

    parts = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "Hello "},
        "world",
        {"type": "tool_use", "id": "1", "name": "x", "input": {}},
    ]
    agent = LangGraphAgentAdapter(one_node(lambda state: {"messages": [AIMessage(parts)]}), "a")

    assert agent.run("Hi") == "Hello world"
    assert agent.get_messages()[-1] == {"role": "assistant", "content": "Hello world"}


def test_a_picture_in_a_message_is_kept():
    from langchain_core.messages import AIMessage, HumanMessage

    picture = [{"type": "image_url", "image_url": {"url": "data:"}}, "see"]
    said = [HumanMessage(picture, name="eye"), AIMessage("I see")]
    agent = LangGraphAgentAdapter(one_node(lambda state: {"messages": said}), "a")
    agent.run("Look")

    assert agent.get_messages()[1] == {
        "role": "user",
        "content": [picture[0], {"type": "text", "text": "see"}],
        "name": "eye",
    }


def test_calls_that_are_not_json_are_kept_as_they_were_written(serve):
    broken = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{where: "}}
    _, client = serve({"content": "", "tool_calls": [broken]})
    agent = LangGraphAgentAdapter(agent_graph(client, as_tools([look])), "a")

    assert agent.run("Look") == ""
    assert agent.get_messages()[-1]["tool_calls"] == [broken]
