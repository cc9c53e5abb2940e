import pytest

from maseval import ScriptedModelAdapter, StaticPricingCalculator, TaskTimeoutError
from maseval.core.messages import tool_call
from maseval.core.provider_errors import OverloadedError
from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools
from maseval.server import ModelServer
from tests.interface.agents.frameworks import LangGraph
from tests.interface.agents.langgraph.graphs import GRAPHS, agent_graph, custom_graph, one_node

pytestmark = LangGraph.marks()


@pytest.fixture(scope="module")
def kind():
    return LangGraph


@pytest.mark.parametrize("make", GRAPHS)
def test_calls_are_made_in_order_even_if_their_ids_are_used_again(make, serve):
    numbers = []

    def take(number: int) -> str:
        """Take it."""
        numbers.append(number)
        return "taken"

    many = [tool_call("take", {"number": n}, id=f"call-{n}") for n in range(30)]
    model, client = serve(many, many, "Done")

    LangGraphAgentAdapter(make(client, as_tools([take])), "a").run("Go")

    assert numbers == [*range(30), *range(30)]
    answered = [m["tool_call_id"] for m in model.requests[-1]["messages"] if m["role"] == "tool"]
    assert answered == [f"call-{n}" for n in range(30)] * 2


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
