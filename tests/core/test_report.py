"""Reports: every report has every key, and a failure becomes a record in one way."""

import errno
import json

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
        (MemoryError(), "machine_error"),
        (OSError(errno.ENOSPC, "no space"), "machine_error"),
        (OSError(errno.EDQUOT, "quota"), "machine_error"),
        (OSError(errno.EMFILE, "files"), "machine_error"),
        (OSError(errno.ENFILE, "files"), "machine_error"),
        (OSError(errno.ENOMEM, "memory"), "machine_error"),
        (OSError(errno.ENOENT, "no file"), "unknown_execution_error"),
        (RuntimeError("can't start new thread"), "machine_error"),
        (RuntimeError("can't start"), "unknown_execution_error"),
    ],
)
def test_the_class_of_an_exception_says_whose_fault_it_was(error, status):
    assert failure_status(error, "execution").value == status


@pytest.mark.parametrize("wrapper", [AgentError, UserError, RuntimeError, ExceptionGroup])
def test_whoever_ran_out_of_memory_is_not_at_fault(wrapper):
    lost = MemoryError()
    error = ExceptionGroup("both", [lost]) if wrapper is ExceptionGroup else wrapper("crashed")
    error.__cause__ = None if wrapper is ExceptionGroup else lost

    assert failure_status(error, "execution").value == "machine_error"


@pytest.mark.parametrize("whose", ["user", "tool"])
def test_a_conversation_too_long_for_another_model_is_not_the_agents_failure(whose):
    with pytest.raises(errors.ContextOverflowError) as caught, errors.model_of(whose):
        raise errors.ContextOverflowError("long", provider="acme")

    assert failure_status(caught.value, "execution").value == "provider_error"


def test_every_status_is_a_result_or_without_a_verdict_and_then_made_again():
    every = {status.value for status in TaskExecutionStatus} - {"task_execution_failed"}

    assert {"success", *AGENT_FAILURES} | NO_VERDICT_STATUSES == every
    assert not AGENT_FAILURES & NO_VERDICT_STATUSES
    assert {"evaluation_failed", "judge_undecided"} == NO_VERDICT_STATUSES - RERUN_STATUSES
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
        "judge_undecided",
        "task_execution_failed",
    }
    assert TaskExecutionStatus.SETUP_FAILED.covers == {"setup_failed"}
