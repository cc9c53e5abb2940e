"""What every adapter must do with tools: tell all of them, and pass on calls and results."""

import functools
import json
import threading
from collections.abc import Callable
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from maseval.benchmark.tau2 import Tau2Environment
from maseval.core.clock import Clock
from maseval.core.exceptions import AgentError
from maseval.core.provider_errors import ProviderTimeoutError
from maseval.core.tool import tool_definition
from tests.interface.agents.framework import Framework
from tests.interface.agents.frameworks import in_every_way
from tests.interface.agents.served import (
    DOMAINS,
    HARD_ARGUMENTS,
    ask_in_vain,
    look,
    recorded_calls,
    same_json,
    served,
)


class Binding(Enum):
    CLOTH = "cloth"
    PAPER = "paper"


class Shelf(BaseModel):
    title: str = Field(description="What stands on it")
    rows: list[int | None] = Field(default=[1])


def book(
    title: str,
    shelf: Shelf,
    pages: list[dict[str, int]],
    binding: Binding = Binding.PAPER,
    size: Literal["folio", "octavo"] | None = None,
) -> str:
    """Book it.

    And more than that.

    Args:
        title: Which one.
        shelf: Where to.
    """
    return title


def take(**anything: Any) -> str:
    """Take what comes."""
    return str(anything)


def offered_and_expected(
    framework: Framework, tools: dict[str, Any] | list[Callable[..., Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    with served(framework.say("Hello!")) as (model, url):
        framework.make(url, tools).run("Hi")
    named = tools.items() if isinstance(tools, dict) else [(f.__name__, f) for f in tools]
    definitions = [tool_definition(function, name=name) for name, function in named]
    return framework.offered(model), framework.told(definitions)


@functools.cache
def tools_of(domain: str) -> dict[str, Any]:
    return Tau2Environment({"domain": domain}).tools


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_model_is_told_all_of_every_tool(domain, framework):
    tools = tools_of(domain)

    offered, expected = offered_and_expected(framework, tools)

    assert offered == expected
    assert len(offered) == len(tools)


def test_schemas_of_all_kinds_are_told(framework):
    offered, expected = offered_and_expected(framework, [book])

    assert offered == expected
    assert set(offered[0]["function"]["parameters"]["properties"]) == {
        *("title", "shelf", "pages", "binding", "size")
    }


def watched(function: Callable[..., Any], received: list[Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def watch(**arguments):
        received.append(arguments)
        return f"{function.__name__}: résumé <{arguments}> \\n \U0001f600"

    return watch


@in_every_way
def test_arguments_and_results_pass_unchanged(framework, clerk, say):
    received = []
    tools = [watched(look, received), watched(take, received)]
    hard = [(tool, arguments) for arguments in HARD_ARGUMENTS for tool in tools]
    calls = [{"name": tool.__name__, "arguments": arguments} for tool, arguments in hard]
    with served(*calls, say("Done.")) as (model, url):
        assert clerk(url, tools, limit=2 * len(calls)).run("Look") == "Done."

    for number, (tool, arguments) in enumerate(hard):
        assert same_json(received[number], arguments)
        assert framework.results(model)[number] == tool(**arguments)
    assert len(framework.results(model)) == len(hard)


BAD_ARGUMENTS = [
    {"order_id": 5},
    {"order_id": ["#W2378156"]},
    {"order_id": "#W0", "why": "é"},
    {"order_id": "#W0", "self": 1},
    {"order": "#W1"},
    {},
]


def test_the_environment_itself_answers_bad_arguments(framework, clerk, say):
    name = "get_order_details"
    environment = Tau2Environment({"domain": "retail"})
    calls = [{"name": name, "arguments": arguments} for arguments in BAD_ARGUMENTS]
    with served(*calls, say("Sorry.")) as (model, url):
        clerk(url, environment.tools).run("Where is it?")

    expected = Tau2Environment({"domain": "retail"})
    answers = [expected.respond(call)["content"] for call in calls]
    assert framework.results(model) == answers
    assert all(answer.startswith("Error") for answer in answers)
    assert recorded_calls(environment) == [(name, arguments) for arguments in BAD_ARGUMENTS]


def read_of(result: dict[str, Any] | str | None, framework: Framework) -> str:
    def count() -> object:
        """Count."""
        return result

    with served({"name": "count"}, framework.say("Done.")) as (model, url):
        framework.make(url, {"count": count}).run("Count")
    (read,) = framework.results(model)
    return read


@pytest.mark.parametrize("result", [{"länge": [1, None]}, None, 7], ids=json.dumps)
def test_results_that_are_no_text_reach_the_model_as_json(result, framework):
    assert read_of(result, framework) == framework.as_json(result)


@pytest.mark.parametrize("text", ["", "é" * 300_000], ids=["empty", "long"])
def test_a_text_is_read_as_it_is(text, framework):
    assert read_of(text, framework) == text


@in_every_way
def test_calls_of_one_answer_are_made_in_its_order(clerk, say):
    visited, begun = [], [threading.Event() for _ in range(13)]

    def visit(number: int) -> str:
        """Visit a place, and leave it only when the next visit had time to begin."""
        begun[number].set()
        assert not begun[number + 1].wait(0.02), "two calls overlap"
        visited.append(number)
        return f"seen {number}"

    calls = [{"name": "visit", "arguments": {"number": n}, "id": f"c{n}"} for n in range(12)]
    with served(calls, say("Done.")) as (_, url):
        agent = clerk(url, [visit])
        agent.run("Go")

    assert visited == list(range(12))
    told = [
        (m["tool_call_id"], m["content"]) for m in agent.openai_messages().filter_by_role("tool")
    ]
    assert told == [(f"c{number}", f"seen {number}") for number in visited]


@in_every_way
def test_a_tool_knows_the_repetition_that_it_runs_in(clerk, say):
    found = []

    def clocked() -> str:
        """Look at the clock."""
        found.append(Clock.here())
        return "seen"

    with served({"name": "clocked"}, say("Done.")) as (_, url), Clock(60.0).active() as clock:
        clerk(url, [clocked]).run("Look")

    assert found == [clock]


def test_an_agent_can_be_a_tool_of_another(framework, clerk, say):
    with (
        served(say("Ask for #W1.")) as (inner, one),
        served({"name": "consult"}, say("Thanks.")) as (model, two),
    ):
        expert = clerk(one)

        def consult() -> str:
            """Ask the expert."""
            return expert.run("What now?")

        agent = clerk(two, [consult])
        assert agent.run("Help") == "Thanks."

    assert framework.results(model) == ["Ask for #W1."]
    assert agent.gather_usage().total_tokens == model.gather_usage().total_tokens
    assert expert.gather_usage().total_tokens == inner.gather_usage().total_tokens


@in_every_way
def test_a_fault_of_the_agents_own_is_told_to_it(clerk, say):
    def judge() -> str:
        """Find a fault."""
        raise AgentError("no such order", suggestion="ask first")

    with served({"name": "judge"}, say("Sorry.")) as (model, url):
        assert clerk(url, [judge]).run("Go") == "Sorry."

    assert "no such order. Suggestion: ask first" in json.dumps(model.requests[-1]["messages"])


@in_every_way
def test_a_named_error_of_a_tool_comes_out_as_it_is(clerk):
    with (
        served({"name": "ask_in_vain"}, loop=True) as (_, url),
        pytest.raises(ProviderTimeoutError, match="too slow") as caught,
    ):
        clerk(url, [ask_in_vain]).run("Ask")

    assert caught.value.provider == "other"
