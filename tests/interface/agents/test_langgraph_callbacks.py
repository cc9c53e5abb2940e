from functools import partial

import pytest

from maseval import ScriptedModelAdapter, StaticPricingCalculator, TaskTimeoutError
from maseval.core.messages import tool_call
from maseval.core.provider_errors import OverloadedError
from maseval.core.usage import Usage
from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools
from maseval.interface.extras import is_installed
from maseval.server import ModelServer
from tests.interface.agents.graphs import (
    GRAPHS,
    chat_model,
    handling_graph,
    one_node,
    recorder,
    serve_model,
)
from tests.interface.libraries import QUIET_LITELLM, needing

if is_installed("langgraph"):
    from langchain.agents import create_agent
    from langchain.agents.middleware import ToolRetryMiddleware
    from langchain_core.callbacks import BaseCallbackHandler

pytestmark = [pytest.mark.data, QUIET_LITELLM, *needing("langgraph")]


@pytest.fixture(scope="module")
def models():
    with ModelServer() as server:
        yield server


@pytest.fixture
def serve(models):
    return partial(serve_model, models)


@pytest.mark.parametrize("make", GRAPHS)
def test_parallel_calls_are_made_in_the_order_of_the_answer(make, serve):
    calls, take = recorder()
    many = [tool_call("take", {"number": n}, id=f"call-{n}") for n in range(30)]
    model, client = serve([many, many, "Done"])

    LangGraphAgentAdapter(make(client, as_tools({"take": take})), "a").run("Go")

    assert [call["number"] for call in calls] == [*range(30), *range(30)]
    answered = [m["tool_call_id"] for m in model.requests[-1]["messages"] if m["role"] == "tool"]
    assert answered == [f"call-{n}" for n in range(30)] * 2


@pytest.mark.parametrize("make", GRAPHS)
def test_usage_is_what_the_server_counted(make, serve):
    usage = {
        **{"input_tokens": 100, "output_tokens": 20, "total_tokens": 120},
        **{"cached_input_tokens": 30, "reasoning_tokens": 7},
    }
    _, client = serve([{"name": "take"}, "One", "Two"], usage=usage)
    prices = StaticPricingCalculator({"served": {"input": 0.01, "output": 0.1}})
    agent = LangGraphAgentAdapter(
        make(client, as_tools({"take": recorder()[1]})), "a", cost_calculator=prices
    )
    assert agent.gather_usage() == Usage()
    agent.run("a")
    agent.run("b")

    told = agent.gather_usage()
    assert (told.input_tokens, told.output_tokens, told.total_tokens) == (300, 60, 360)
    assert (told.cached_input_tokens, told.reasoning_tokens) == (90, 21)
    assert told.cost == pytest.approx(3 * (100 * 0.01 + 20 * 0.1))
    assert [entry["total_tokens"] for entry in agent.logs] == [240, 120]


def test_several_models_are_priced_one_by_one():
    models = [
        ScriptedModelAdapter(["x"], model_id=name, usage={"input_tokens": 10, "output_tokens": 0})
        for name in ("cheap", "dear")
    ]
    with ModelServer(*models) as server:
        clients = [chat_model(server.url, name) for name in ("cheap", "dear")]

        def answer(state):
            return {"messages": [client.invoke(state["messages"]) for client in clients]}

        rates = {"cheap": {"input": 1.0, "output": 1.0}, "dear": {"input": 5.0, "output": 1.0}}
        agent = LangGraphAgentAdapter(
            one_node(answer), "a", cost_calculator=StaticPricingCalculator(rates)
        )
        agent.run("Hi")

    assert agent.gather_usage().cost == pytest.approx(60.0)


def test_callbacks_of_the_given_configuration_are_called_too(serve):
    _, client = serve(["One"])
    heard = []

    class Ear(BaseCallbackHandler):
        def on_llm_end(self, response, **more):
            heard.append(response.generations[0][0].text)

    config = {"callbacks": [Ear()]}
    LangGraphAgentAdapter(create_agent(client), "a", config=config).run("Hi")

    assert heard == ["One"]
    assert len(config["callbacks"]) == 1


@pytest.mark.parametrize("handling", [True, False, "please try again"])
def test_a_deadline_in_a_tool_is_not_taken_for_its_result(handling, serve):
    def take() -> str:
        """Take too long."""
        raise TaskTimeoutError("late", elapsed=2.0, timeout=1.0)

    _, client = serve([{"name": "take"}, "Done"])
    graph = handling_graph(client, as_tools([take]), handling)

    with pytest.raises(TaskTimeoutError, match="late"):
        LangGraphAgentAdapter(graph, "a").run("Go")


def test_a_failure_that_the_graph_got_over_is_forgotten(serve):
    outcomes = [OverloadedError("busy", provider="p", model_id="m"), "better"]

    def take() -> str:
        """Take it."""
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    _, client = serve([{"name": "take"}, "Done"])
    again = ToolRetryMiddleware(max_retries=1, initial_delay=0.0, jitter=False)
    graph = create_agent(client, as_tools([take]), middleware=[again])

    assert LangGraphAgentAdapter(graph, "a").run("Go") == "Done"


def test_a_failure_of_one_turn_is_not_that_of_the_next(serve):
    def take() -> str:
        """Take too long."""
        raise TaskTimeoutError("late", elapsed=2.0, timeout=1.0)

    _, client = serve([{"name": "take"}, "Done"])
    agent = LangGraphAgentAdapter(create_agent(client, as_tools([take])), "a")
    with pytest.raises(TaskTimeoutError):
        agent.run("Go")

    assert agent.run("Go on") == "Done"
