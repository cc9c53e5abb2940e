"""From a report to the spans of a trace."""

import json
from typing import Any

import pytest

from examples.booking import BookingBenchmark, load_tasks
from maseval import AgentAdapter
from maseval.core.messages import MessageHistory
from maseval.core.tracing import JsonObject
from maseval.core.usage import TokenUsage, Usage
from maseval.interface.telemetry.simulation import number_spans, simulation_span, trace_of


def every(span: Any) -> list[Any]:
    return [span, *(found for child in span.children for found in every(child))]


def named(span: Any, start: str) -> list[Any]:
    return [each for each in every(span) if each.name.startswith(start)]


def tree(span: Any) -> list[list[list[Any]] | str]:
    return [span.name, [tree(child) for child in span.children]]


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    (found,) = BookingBenchmark(progress_bar=False).run(load_tasks()[:1], {})
    return found


def test_a_simulation_is_a_tree_of_participants_model_calls_and_tool_calls(report):
    chat = ["chat scripted/clerk", []]
    steps = [chat, ["execute_tool free_rooms", []], chat, ["execute_tool book", []], chat]

    assert tree(simulation_span(report)) == [
        "simulation pair trial 0",
        [["invoke_agent desk", steps]],
    ]


def test_every_span_lies_within_its_parent(report):
    for span in every(simulation_span(report)):
        assert all(span.start <= child.start <= child.end <= span.end for child in span.children)


def test_model_calls_have_their_tokens_and_the_simulation_its_verdict(report):
    root = simulation_span(report)

    chats = [each.attributes for each in named(root, "chat")]
    used = report["usage"]["models"]["clerk"]
    assert sum(each["gen_ai.usage.input_tokens"] for each in chats) == used["input_tokens"]
    assert sum(each["gen_ai.usage.output_tokens"] for each in chats) == used["output_tokens"]
    assert root.attributes["maseval.tokens"] == used["total_tokens"]
    assert root.attributes["maseval.passed"] is True
    assert root.error is None


def test_what_was_said_is_there_only_if_asked_for(report):
    words = ("A room for 2 at 10", "Ash, Birch", "is yours")
    quiet, whole = (
        json.dumps([each.attributes for each in every(simulation_span(report, content=content))])
        for content in (False, True)
    )

    assert not any(each in quiet for each in words)
    assert all(each in whole for each in words)
    book = named(simulation_span(report, content=True), "execute_tool book")[0].attributes
    assert json.loads(book["gen_ai.tool.call.arguments"]) == {"room": "Ash", "hour": 10}
    (desk,) = named(simulation_span(report, content=True), "invoke_agent")
    (said,) = json.loads(desk.attributes["gen_ai.output.messages"])
    assert said == {
        "role": "assistant",
        "parts": [{"type": "text", "content": "Ash is yours at 10."}],
    }


def test_ids_depend_on_run_task_and_trial_alone(report):
    def ids(one):
        return [
            (own, parent) for _, own, parent in number_spans(simulation_span(one), trace_of(one))
        ]

    assert trace_of(report) == trace_of(json.loads(json.dumps(report)))
    assert ids(report) == ids(json.loads(json.dumps(report)))
    assert len(set(ids(report))) == len(every(simulation_span(report)))
    others = [{**report, "repeat_idx": 1}, {**report, "task_id": "b"}, {**report, "run_id": "c"}]
    assert len({trace_of(each) for each in [report, *others]}) == 4


def run_with(agent: AgentAdapter) -> dict[str, Any]:
    class Booking(BookingBenchmark):
        def setup_agents(self, agent_data, environment, task, user, seed_generator):
            return [agent], {agent.name: agent}

    (found,) = Booking(progress_bar=False).run(load_tasks()[:1], {})
    return found


def test_a_simulation_that_failed_is_an_error_with_its_kind():
    class Broken(AgentAdapter):
        def _run_agent(self, query):
            raise ZeroDivisionError("by zero")

    root = simulation_span(run_with(Broken(None, "broken")))

    assert root.error == "by zero"
    assert root.attributes["error.type"] == "ZeroDivisionError"
    assert root.attributes["maseval.outcome"] == "error"
    assert "maseval.passed" not in root.attributes


def test_an_attempt_that_failed_is_a_span_of_its_own(report):
    failed = json.loads(json.dumps(report))
    failed["traces"]["models"]["clerk"]["logs"][0] |= {
        "status": "error",
        "error": "too many requests",
        "error_type": "RateLimitError",
    }

    first, *others = named(simulation_span(failed), "chat")
    assert (first.error, first.attributes["error.type"]) == ("too many requests", "RateLimitError")
    assert [each.error for each in others] == [None, None]


class Foreign(AgentAdapter):
    """Asks its model itself, and tells afterwards what was said, as the frameworks do."""

    def _run_agent(self, query: str) -> Any:
        return "Bye."

    def get_messages(self) -> MessageHistory:
        return [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "look"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "a tree"},
            {"role": "assistant", "content": "Bye."},
        ]

    def gather_traces(self) -> JsonObject:
        messages = self.get_messages()
        return {"type": "Foreign", "messages": messages, "logs": []}

    def _gather_usage(self) -> Usage:
        return TokenUsage(input_tokens=3, output_tokens=4, total_tokens=7)


def test_an_agent_that_asks_its_model_itself_has_its_calls_in_order():
    root = simulation_span(run_with(Foreign(None, "clerk")))

    (clerk,) = named(root, "invoke_agent clerk")
    assert [each.name for each in clerk.children] == ["chat", "execute_tool look", "chat"]


@pytest.mark.parametrize(
    "damaged",
    [
        {"task_id": "t"},
        {"task_id": "t", "traces": {"agents": {"a": None}}, "started_at": "never", "usage": 7},
        {"task_id": "t", "traces": {"agents": {"a": {"messages": [None, {"role": "tool"}]}}}},
        {"task_id": "t", "traces": {"models": {"m": {"logs": [{"timestamp": 3}, None]}}}},
        {"task_id": "t", "traces": {"environment": {"simulation": {"messages": [{}, 5]}}}},
    ],
)
def test_a_report_that_lacks_parts_still_has_a_trace(damaged):
    assert simulation_span(damaged, content=True).name == "simulation t trial 0"
