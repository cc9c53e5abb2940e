"""Reports: every report has every key, and a failure becomes a record in one way."""

import json
from dataclasses import dataclass

import pytest

from maseval import AgentError, EnvironmentError, TaskExecutionStatus, UserError
from maseval.core import provider_errors as errors
from maseval.core.exceptions import TaskTimeoutError, UserExhaustedError
from maseval.core.report import (
    AGENT_FAILURES,
    NO_VERDICT_STATUSES,
    RERUN_STATUSES,
    RETRYABLE_STATUSES,
    collection_failure,
    error_record,
    failure_status,
    gathering_failure,
    normalise,
)
from maseval.core.simulator import ToolSimulatorError, UserSimulatorError


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TaskTimeoutError("late"), "task_timeout"),
        (AgentError("bad call"), "agent_error"),
        (EnvironmentError("no disk"), "environment_error"),
        (UserError("no voice"), "user_error"),
        (ToolSimulatorError("gave up"), "environment_error"),
        (UserSimulatorError("gave up"), "user_error"),
        (errors.ContextOverflowError("long", provider="acme"), "context_overflow"),
        (errors.ContentFilterError("no", provider="acme"), "content_filtered"),
        (errors.QuotaExhaustedError("no", provider="acme"), "quota_exhausted"),
        (errors.RateLimitError("no", provider="acme"), "provider_error"),
        (errors.MalformedResponseError("<h1>", provider="acme"), "provider_error"),
        (UserExhaustedError("done"), "unknown_execution_error"),
        (OSError("Python's own"), "unknown_execution_error"),
        (SystemExit(1), "unknown_execution_error"),
    ],
)
def test_the_class_of_an_exception_says_whose_fault_it_was(error, status):
    assert failure_status(error, "execution").value == status


@pytest.mark.parametrize("whose", ["user", "tool"])
def test_a_conversation_too_long_for_another_model_is_not_the_agents_failure(whose):
    with pytest.raises(errors.ContextOverflowError) as caught, errors.model_of(whose):
        raise errors.ContextOverflowError("long", provider="acme")

    assert failure_status(caught.value, "execution").value == "provider_error"


def test_every_status_is_a_result_or_without_a_verdict_and_then_made_again():
    every = {status.value for status in TaskExecutionStatus} - {"task_execution_failed"}

    assert {"success", *AGENT_FAILURES} | NO_VERDICT_STATUSES == every
    assert not AGENT_FAILURES & NO_VERDICT_STATUSES
    assert {"evaluation_failed"} == NO_VERDICT_STATUSES - RERUN_STATUSES
    assert {status.value for status in RETRYABLE_STATUSES} < RERUN_STATUSES


def test_an_error_record_names_type_message_and_traceback():
    def deep():
        raise ValueError("no such order")

    try:
        deep()
    except ValueError as error:
        record = error_record(error)

    assert list(record) == ["error_type", "error_message", "traceback"]
    assert record["error_type"] == "ValueError"
    assert record["error_message"] == "no such order"
    assert "in deep" in record["traceback"]
    assert record["traceback"].endswith("ValueError: no such order\n")


def test_secrets_in_an_error_reach_no_report():
    error = ConnectionError(
        "GET https://host/v1?api_key=abcdef0123456789 failed: Bearer 0123456789"
    )

    assert "0123456789" not in json.dumps(error_record(error))
    assert "0123456789" not in json.dumps(collection_failure("traces", error))
    assert "0123456789" not in json.dumps(gathering_failure("traces", object(), error))


def test_an_error_that_cannot_be_shown_is_still_a_record():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    record = error_record(Mute())

    assert record["error_type"] == "Mute"
    assert "RuntimeError in Mute.__str__" in record["error_message"]


def test_a_filter_by_execution_failure_covers_all_that_can_happen_while_executing():
    covered = TaskExecutionStatus.TASK_EXECUTION_FAILED.covers
    every = {status.value for status in TaskExecutionStatus}

    assert every - covered == {
        "success",
        "setup_failed",
        "evaluation_failed",
        "task_execution_failed",
    }
    assert TaskExecutionStatus.SETUP_FAILED.covers == {"setup_failed"}


def test_normalising_removes_what_differs_between_equal_runs_and_nothing_else():
    report = {
        "task_id": "t",
        "run_id": "abc",
        "started_at": "2025-01-01",
        "duration_seconds": 1.0,
        "seed": 7,
        "error": {
            "error_message": "exceeded 1s deadline after 1.02s",
            "elapsed": 1.02,
            "timeout": 1,
        },
        "traces": {
            "metadata": {"timestamp": "now", "thread_id": 5, "total_components": 2},
            "tools": {
                "t": {"invocations": [{"id": "0b5c2f0e-5f5c-4c09-a8a1-3f3c3f2b1a00", "inputs": 1}]}
            },
            "models": {"m": {"total_duration_seconds": 1, "average_duration_seconds": 1, "n": 1}},
            "orders": [{"id": "#W1", "what": ("a", "b")}],
        },
        "config": {"benchmark": {"git": {}}, "agents": {"a": {"gathered_at": "now", "type": "A"}}},
        "final_answer": "<Thing object at 0x7f00aa11bb22>",
    }

    assert normalise(report) == {
        "task_id": "t",
        "seed": 7,
        "error": {"error_message": "exceeded 1s deadline after some time", "timeout": 1},
        "traces": {
            "metadata": {"total_components": 2},
            "tools": {"t": {"invocations": [{"inputs": 1}]}},
            "models": {"m": {"n": 1}},
            "orders": [{"id": "#W1", "what": ["a", "b"]}],
        },
        "config": {"agents": {"a": {"type": "A"}}},
        "final_answer": "<Thing object at 0x…>",
    }


def test_normalising_leaves_the_report_and_foreign_objects_alone():
    @dataclass
    class Thing:
        size: int

    report = {"task_id": "t", "run_id": "r", "config": {"benchmark": 1}, "final_answer": Thing(3)}

    assert normalise(report)["final_answer"] == Thing(3)
    assert report["config"] == {"benchmark": 1}
    assert report["run_id"] == "r"
