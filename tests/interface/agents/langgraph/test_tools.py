import pytest

from maseval.benchmark.tau2 import Tau2Environment
from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools
from tests.interface.agents.frameworks import LangGraph
from tests.interface.agents.langgraph.graphs import custom_graph
from tests.interface.agents.served import served

pytestmark = LangGraph.marks()


@pytest.fixture(scope="module")
def kind():
    return LangGraph


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
