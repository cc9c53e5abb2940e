"""A model that plays a player's part."""

import json
from itertools import count
from typing import Any

import pytest

from maseval.benchmark.tau2 import Tau2Environment, load_tasks
from maseval.benchmark.tau2.players.rehearsal import RehearsalModel, make_model
from maseval.benchmark.tau2.players.scripted import GOODBYE
from maseval.core.messages import ChatResponse
from maseval.core.task.task import Task

ASKED = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def task() -> Task:
    return next(iter(load_tasks("library")))


@pytest.fixture
def environment(task: Task) -> Tau2Environment:
    return Tau2Environment(task.environment_data)


def answers(
    model: RehearsalModel, tools: list[dict[str, Any]] | tuple[dict[str, Any], ...], times: int
) -> list[ChatResponse]:
    """The answers to requests that differ, as each has the answers before it."""
    messages, given = list(ASKED), []
    for number in range(times):
        given.append(model.chat(messages, tools=tools))
        messages.append({"role": "user", "content": f"And {number}?"})
    return given


def test_it_makes_the_reference_calls_and_then_says_goodbye(task, environment):
    model = make_model("gold", task, environment)
    gold = task.evaluation_data["actions"]

    given = answers(model, environment.toolkit.definitions(), len(gold) + 2)

    calls = [call["function"] for answer in given for call in answer.tool_calls or ()]
    assert [(call["name"], json.loads(call["arguments"])) for call in calls] == [
        (action["name"], action["arguments"])
        for action in gold
        if action.get("requestor", "assistant") == "assistant"
    ]
    assert GOODBYE in given[-1].content
    assert model.model_id == f"gold-library-{task.id}"


def test_an_agent_that_answers_by_a_tool_gets_its_answer_that_way(task, environment):
    model = make_model("noop", task, environment)
    tool = {"type": "function", "function": {"name": "final_answer", "parameters": {}}}

    (answer,) = answers(model, [tool], 1)

    (call,) = answer.tool_calls
    assert call["function"]["name"] == "final_answer"
    assert "answer" in json.loads(call["function"]["arguments"])


def test_asked_without_tools_it_tells_its_plan_and_loses_no_turn(task, environment):
    model = make_model("gold", task, environment)

    definitions = environment.toolkit.definitions()
    planned, (_, acted) = model.chat(ASKED), answers(model, definitions, 2)

    first = task.evaluation_data["actions"][0]["name"]
    assert f"1. {first}" in planned.content and not planned.tool_calls
    assert acted.tool_calls[0]["function"]["name"] == first


def test_what_an_agent_has_no_tool_for_is_handed_over_until_somebody_has_it(task, environment):
    model = make_model("gold", task, environment)
    first, *_ = [each["name"] for each in task.evaluation_data["actions"]]
    text = {"type": "object", "properties": {"request": {"type": "string"}}}
    front, lacking, having = (
        [{"type": "function", "function": {"name": name, "parameters": text}} for name in names]
        for names in (["ask_a", "ask_b"], ["other"], [first])
    )

    turns = count()
    answers(model, environment.toolkit.definitions(), 1)  # it asks something first

    def asked(tools, messages=ASKED):
        # A request that is repeated word for word would get the same reply.
        messages = [*messages, {"role": "assistant", "content": f"Thought {next(turns)}."}]
        answer = model.chat(messages, tools=tools)
        called = [call["function"] for call in answer.tool_calls or ()]
        return called[0] if called else answer.content

    request = [{"role": "user", "content": json.loads(asked(front)["arguments"])["request"]}]
    assert first in request[0]["content"]
    assert asked(lacking, request) == "I have done what I can."
    again = asked(front)
    assert again["name"] == "ask_b"
    request = [{"role": "user", "content": json.loads(again["arguments"])["request"]}]
    assert asked(having, request)["name"] == first


def test_mistakes_follow_the_seed(task, environment):
    def played(seed):
        model = make_model("noisy", task, environment, seed=seed, error_rate=1.0)
        return [
            (answer.content, answer.tool_calls)
            for answer in answers(model, environment.toolkit.definitions(), 5)
        ]

    assert played(1) == played(1)
    assert any(played(1) != played(seed) for seed in range(2, 12))


def test_a_repeated_request_gets_the_same_reply(task, environment):
    model = make_model("gold", task, environment)
    definitions = environment.toolkit.definitions()

    answers(model, definitions, 1)
    asked = [{"role": "user", "content": "Now begin."}]
    first, again = (model.chat(asked, tools=definitions).tool_calls for _ in range(2))

    assert first == again and first is not None
    assert model.record()["requests"] == 3 and model.record()["repeated"] == 1


def test_it_asks_something_before_it_begins(task, environment):
    model = make_model("gold", task, environment)

    asked, acted = answers(model, environment.toolkit.definitions(), 2)

    assert asked.content.endswith("before I begin?") and not asked.tool_calls
    assert acted.tool_calls
