import pytest

from maseval.core.outcome import RecordedReport
from maseval.report.results import success_rates, summary_table
from maseval.stats import estimate
from maseval.stats.trials import Trials
from tests.report.builders import broken, report


def outcomes(reports):
    return [(each.task, each.kind) for each in map(RecordedReport, reports)]


def test_errors_stay_in_the_denominator():
    finished = [report("a"), broken("a", 1), report("b", passed=False), report("b", 1, passed=None)]

    (row,) = success_rates(outcomes(finished))["rows"]

    rate = row["success"]
    assert (row["tasks"], row["simulations"], rate["value"]) == (2, 4, 0.25)
    assert rate == estimate([Trials(2, 1), Trials(2, 0)]).in_brief()


def test_tasks_count_once_however_many_trials_they_have():
    finished = [report("a"), report("b", passed=False), report("b", 1, passed=False)]

    (row,) = success_rates(outcomes(finished))["rows"]

    assert row["success"]["value"] == 0.5


@pytest.mark.parametrize("reports", [[broken("a"), report("b", passed=None)], []])
def test_without_any_verdict_there_is_no_number(reports):
    (*_, row) = success_rates(outcomes(reports))["rows"]

    assert row["success"] == {"value": None}


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
