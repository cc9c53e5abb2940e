import pytest

from maseval.report.results import outcome, reward, success_rates, summary_table, wilson
from tests.report.builders import broken, report


@pytest.mark.parametrize(
    ("finished", "expected"),
    [
        (report(passed=True), "pass"),
        (report(passed=False), "fail"),
        (report(passed=None), "unjudged"),
        (report(eval=[{"score": 0.7}]), "unjudged"),
        (report(eval=[{"passed": False}, {"passed": True}]), "pass"),
        (broken(), "error"),
        (report(status="task_timeout", passed=True), "error"),
    ],
)
def test_the_outcome_of_a_repetition(finished, expected):
    assert outcome(finished) == expected


def test_the_reward_is_the_best_given():
    assert reward(report(eval=[{"reward": 0.5}, {"reward": 1.0}, {"reward": None}])) == 1.0
    assert reward(report(passed=True)) is None


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (0, 0, 0.0, 1.0)],
)
def test_wilson_intervals_are_those_of_the_tables(passed, total, low, high):
    assert wilson(passed, total) == pytest.approx((low, high), abs=1e-4)


def test_errors_stay_in_the_denominator():
    counted = [("a", "pass"), ("a", "error"), ("b", "fail"), ("b", "unjudged")]

    (row,) = success_rates([("all", counted)])["rows"]

    assert (row["tasks"], row["simulations"], row["success"]["value"]) == (2, 4, 0.25)


def test_a_summary_becomes_columns_even_where_a_row_lacks_one():
    k1, k2 = {"value": 0.5, "low": 0.4, "high": 0.6}, {"value": 0.25}
    rows = [
        {"name": "airline", "tasks": 50, "pass^1": k1},
        {"name": "all", "pass^1": k1, "pass^2": k2},
    ]

    table = summary_table({"rows": rows, "notes": ["how"]})

    assert (table["counts"], table["measures"]) == (["tasks"], ["pass^1", "pass^2"])
    assert table["rows"][0] == {"name": "airline", "counts": [50], "measures": [k1, None]}
    assert table["notes"] == ["how"]
