"""What is sent arrives, or is refused with a way out."""

import threading
from typing import Any

import pytest

from maseval import AgentError
from maseval.core.engine.parcel import WorkResult
from maseval.core.exceptions import TaskTimeoutError
from maseval.core.provider_errors import RateLimitError
from maseval.core.report import TaskExecutionStatus
from tests.interface.libraries import needing

pytestmark = needing("ray")


class PairError(Exception):
    """Cannot be read again by pickle alone: it needs two arguments."""

    def __init__(self, left: str, right: str) -> None:
        super().__init__(f"{left} and {right}")
        self.right = right


class LockedError(Exception):
    """Holds what cannot be sent."""

    def __init__(self) -> None:
        super().__init__("locked")
        self.lock = threading.Lock()


def carried(error: Any, report: Any = None) -> Any:
    from maseval.core.engine.parcel import sendable_error, unpack

    status = TaskExecutionStatus.AGENT_ERROR
    result = WorkResult(report or {}, status, sendable_error(error), {})
    arrived = unpack(result.packed())
    assert arrived.status == status
    return arrived


@pytest.mark.parametrize(
    "error",
    [
        AgentError("no", component="agent", details={"a": 1}, suggestion="do"),
        RateLimitError("slow down", provider="openai", model_id="m", status=429, retry_after=2.5),
        TaskTimeoutError("late", elapsed=2.0, timeout=1.0),
        OSError(2, "no such file"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"),
        SystemExit(3),
        KeyError("k"),
    ],
)
def test_an_exception_arrives_as_it_was(error):
    arrived = carried(error).exception

    assert type(arrived) is type(error)
    assert (str(arrived), arrived.args, vars(arrived)) == (str(error), error.args, vars(error))


@pytest.mark.parametrize(
    ("error", "told"),
    [(PairError("one", "two"), "PairError: one and two"), (LockedError(), "LockedError: locked")],
)
def test_of_an_exception_that_cannot_be_sent_name_and_text_arrive(error, told):
    assert str(carried(error).exception) == told


def test_an_object_in_a_report_that_cannot_be_sent_becomes_text_as_it_does_in_json():
    lock = threading.Lock()

    report = carried(None, {"final_answer": lock, "eval": [1]}).report

    assert report["eval"] == [1] and "lock" in report["final_answer"]


def test_objects_that_occur_twice_are_still_one_object():
    message = {"role": "user", "content": "x" * 100}

    report = carried(None, {"traces": {"all": [message], "seen": [message]}}).report

    assert report["traces"]["all"][0] is report["traces"]["seen"][0]


def test_what_only_the_program_itself_defines_is_sent_whole():
    """Plain pickle would only name it."""
    from maseval.core.engine.parcel import pack, unpack

    program: dict = {"__name__": "__main__"}
    exec("class Mine:\n    answer = 42", program)

    assert unpack(pack(program["Mine"])).answer == 42
    assert unpack(pack(lambda: 42))() == 42
