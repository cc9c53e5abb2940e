"""Marks of a simulation that no other should have."""

from typing import Any

import pytest

from maseval.benchmark.tau2.rescoring.verdict import conversation_in, marks_of
from maseval.benchmark.tau2.results.writing import Tau2Report


def message(
    second: str, role: str = "user", content: str = "Bye. ###STOP###", **more: Any
) -> dict[str, Any]:
    return {"role": role, "content": content, "timestamp": f"2025-01-01T10:00:{second}", **more}


def simulation(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "messages": list(messages),
        "start_time": "2025-01-01T10:00:00",
        "end_time": "2025-01-01T10:00:30",
        **changes,
    }


def test_ids_and_times_of_messages_and_responses_are_marks_and_texts_are_none():
    first = message("01", raw_data={"id": "chatcmpl-1"})
    marks = dict(marks_of(simulation(first, id="one")))
    other_words = {**first, "content": "one \ud83d two"}
    at_another_time = {**first, "timestamp": "2025-01-02T10:00:01", "raw_data": {"id": "-2"}}

    assert marks.keys() == {"id", "times", "response ids"}
    assert dict(marks_of(simulation(other_words, id="one"))) == marks
    later = dict(marks_of(simulation(at_another_time, id="two")))
    assert all(later[name] != marks[name] for name in marks)
    assert dict(marks_of(simulation({"role": "user", "content": "Hi"}))) == {}


@pytest.mark.parametrize(("role", "kept"), [("user", 1), ("assistant", 0)])
def test_only_the_users_own_stop_shows_that_a_record_without_a_verdict_ended_by_choice(role, kept):
    last = message("03", role=role)
    said = simulation(message("01", content="Hello"), last, task_id="one", trial=0)
    report = Tau2Report(
        {
            "task_id": "one",
            "repeat_idx": 0,
            "status": "unknown_execution_error",
            "traces": {"environment": {"simulation": said}},
            "eval": None,
            "error": None,
        }
    )

    found, problem = conversation_in(report)

    assert problem is not None
    assert found["messages"] == [last][:kept]
