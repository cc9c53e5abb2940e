from functools import partial

import pytest

from maseval.benchmark.tau2 import Tau2Environment
from maseval.core.clock import Clock
from maseval.core.tool import tool_definition
from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools
from maseval.interface.agents.tools import described
from maseval.interface.extras import is_installed
from maseval.server import ModelServer
from tests.interface.agents.graphs import (
    GRAPHS,
    handling_graph,
    recorder,
    serve_model,
)
from tests.interface.libraries import QUIET_LITELLM, needing

if is_installed("langgraph"):
    from langchain.agents import create_agent

pytestmark = [pytest.mark.data, QUIET_LITELLM, *needing("langgraph")]


@pytest.fixture(scope="module")
def models():
    with ModelServer() as server:
        yield server


@pytest.fixture
def serve(models):
    return partial(serve_model, models)


@pytest.mark.parametrize("domain", ["airline", "retail", "telecom", "library"])
def test_the_model_is_told_the_full_schema_of_every_tool(domain, serve):
    environment = Tau2Environment({"domain": domain})
    model, client = serve(["Hello"])

    LangGraphAgentAdapter(create_agent(client, as_tools(environment.tools)), "a").run("Hi")

    expected = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": without_titles(tool.inlined_parameters),
            },
        }
        for tool in described(environment.tools)
    ]
    assert without_titles(model.requests[-1]["tools"]) == expected
    assert len(expected) == len(environment.tools)


def without_titles(schema):
    """LangChain leaves most titles out; an argument may still be called `title`."""
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: without_titles(s) for name, s in value.items()}
        if key == "properties"
        else without_titles(value)
        for key, value in schema.items()
        if key != "title" or not isinstance(value, str)
    }


def test_a_tool_is_described_like_everywhere_else(serve):
    def book(title: str, pages: list[int], binding: dict[str, int] | None = None) -> str:
        """Book it.

        Args:
            title: Which one.
        """
        return title

    model, client = serve(["Hello"])
    LangGraphAgentAdapter(create_agent(client, as_tools([book])), "a").run("Hi")

    sent = model.requests[-1]["tools"][0]["function"]
    definition = tool_definition(book)["function"]
    assert sent["description"] == "Book it."
    assert without_titles(sent["parameters"]) == without_titles(definition["parameters"])
    assert set(sent["parameters"]["properties"]) == {"title", "pages", "binding"}


ARGUMENTS = [
    {},
    {"order_id": 7, "unknown": None},
    {"text": "äöü 漢字 😀 \\u00e9", "nested": [[1, 2.5], {"a": [True, None]}], "": ""},
    {"number": "12", "flag": "true", "when": 1e300},
    {
        **{"self": 1, "config": {"a": 1}, "run_manager": 2, "callbacks": 3, "runtime": 4},
        **{"state": 5, "store": 6, "tool_call_id": 7, "input": 8, "args": [9], "kwargs": {"k": 1}},
        **{
            "arguments": {"arguments": 10},
            "tool_input": 11,
            "name": 12,
            "type": 13,
            "function": 14,
        },
    },
]


@pytest.mark.parametrize("make", GRAPHS)
def test_arguments_and_results_go_through_as_they_are(make, serve):
    calls, take = recorder()
    model, client = serve([*({"name": "take", "arguments": each} for each in ARGUMENTS), "Done"])

    LangGraphAgentAdapter(make(client, as_tools({"take": take})), "a").run("Go")

    assert calls == ARGUMENTS
    results = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "tool"]
    assert results == [take()] * len(ARGUMENTS)


def test_bad_arguments_are_answered_by_the_environment(serve):
    environment = Tau2Environment({"domain": "retail"})
    bad = [{"order_id": 5}, {"order": "#W1"}, {}]
    model, client = serve([*({"name": "get_order_details", "arguments": a} for a in bad), "Sorry"])

    LangGraphAgentAdapter(create_agent(client, as_tools(environment.tools)), "a").run("Go")

    told = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "tool"]
    expected = Tau2Environment({"domain": "retail"})
    assert told == [expected.call_tool("get_order_details", arguments) for arguments in bad]
    assert all(text.startswith("Error") for text in told)


@pytest.mark.parametrize("handling", [True, False, "please try again"])
def test_error_handling_of_the_graph_does_not_change_what_a_tool_says(handling, serve):
    environment = Tau2Environment({"domain": "retail"})
    model, client = serve([{"name": "get_order_details", "arguments": {"id": 1}}, "Done"])
    graph = handling_graph(client, as_tools(environment.tools), handling)

    LangGraphAgentAdapter(graph, "a").run("Go")

    told = environment.trajectory.messages[-1]["content"]
    assert told.startswith("Error")
    assert model.requests[-1]["messages"][-1]["content"] == told


@pytest.mark.parametrize("make", GRAPHS)
def test_a_tool_knows_the_repetition_it_runs_in(make, serve):
    found = []

    def look() -> str:
        """Look at the clock."""
        found.append(Clock.here())
        return "late"

    _, client = serve([{"name": "look"}, "Done"])
    with Clock(deadline=60).active() as clock:
        LangGraphAgentAdapter(make(client, as_tools([look])), "a").run("Go")

    assert found == [clock]
