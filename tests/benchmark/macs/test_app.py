from typing import Any

import pytest

from maseval.benchmark.macs.app.support import SUPPORT


def report(
    status: str = "success", error: dict[str, str] | None = None, **evaluation: Any
) -> dict[str, Any]:
    return {
        "task_id": "task-000001",
        "repeat_idx": 0,
        "status": status,
        "error": error,
        "task": {"query": "q", "metadata": {"domain": "travel", "scenario": "Goals:\n  a room"}},
        "eval": [evaluation] if evaluation else None,
    }


def row(answer: str, side: str) -> dict[str, str]:
    return {"assertion": "booked", "answer": answer, "evidence": "no call", "assertion_type": side}


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (report(passed=False, report=[row("FALSE", "user")]), "agent: goal not met"),
        (
            report(passed=False, report=[row("TRUE", "user"), row("false", "system")]),
            "agent: goal met, but not as asserted",
        ),
        (
            report(passed=False, report=[], judge_errors={"user": "no JSON"}),
            "infrastructure: judge's answer unreadable",
        ),
        (report("agent_error", {"error_message": "boom"}), "agent: raised an error"),
        (report("user_error", {"error_message": "boom"}), "infrastructure: did not finish"),
    ],
)
def test_a_failure_is_labelled_by_what_the_judge_says_or_how_it_ended(given, name):
    (found,) = SUPPORT.review(given).findings
    assert found.name == name and found.evidence


def test_what_passed_needs_no_label():
    assert SUPPORT.review(report(passed=True, report=[])).findings == []


def test_an_unmet_assertion_is_the_evidence():
    (found,) = SUPPORT.review(report(passed=False, report=[row("FALSE", "system")])).findings
    assert found.evidence == ("system: booked (no call)",)


def test_a_task_s_title_is_the_beginning_of_its_scenario():
    assert SUPPORT.task_title(report()) == "Goals: a room"
    long = report()
    long["task"]["metadata"]["scenario"] = "x" * 500
    assert len(SUPPORT.task_title(long)) == 203
    long["task"]["metadata"]["scenario"] = ""
    assert SUPPORT.task_title(long) is None
