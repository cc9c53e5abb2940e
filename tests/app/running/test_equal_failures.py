"""A run in which all fails in the same way: when that is seen, and when it is not."""

from typing import Any

import pytest

from maseval.app.running.folder_run import EqualFailures
from maseval.core.outcome import Outcome


def line(
    outcome: str = "error",
    error: str | None = "task '1' has no ticket",
    status: str = "setup_failed",
) -> Outcome:
    return Outcome("library", "1", 0, None, status=status, kind=outcome, error=error)


def objections(*lines: Outcome, earlier: list[Outcome] | tuple[Any, ...] = ()) -> list[str | None]:
    watch = EqualFailures(earlier)
    return [watch.objection(each) for each in lines]


def test_the_fifth_equal_failure_stops_the_run_with_its_cause():
    *before, fifth = objections(*(line(error=f"task '{n}' has no ticket") for n in range(5)))

    assert before == [None] * 4
    assert "the first 5 simulations all failed" in fifth and "task '4' has no ticket" in fifth
    assert "--no-retry-failed" in fifth


@pytest.mark.parametrize(
    "other",
    [line(error="something else"), line(status="agent_error"), line("fail", None, "success")],
)
def test_one_that_ended_in_another_way_stops_nothing(other):
    assert not any(objections(other, *[line()] * 9))
    assert not any(objections(*[line()] * 4, other, *[line()] * 9))


def test_what_an_earlier_session_achieved_counts():
    assert not any(objections(*[line()] * 9, earlier=[line("pass", None, "success")]))
    assert any(objections(*[line()] * 9, earlier=[line()]))
