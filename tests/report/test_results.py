from typing import Any

from maseval.core.outcome import Outcome, RecordedReport
from maseval.report.results import success_rates, summary_table
from maseval.stats import estimate
from maseval.stats.trials import Trials
from tests.report.builders import broken, report


def outcomes(reports: list[dict[str, Any]]) -> list[Outcome]:
    return [RecordedReport(each).outcome._replace(trial=at) for at, each in enumerate(reports)]


def test_what_has_no_verdict_is_left_out_and_makes_a_range():
    down = broken("a", 1, status="provider_error")
    finished = [report("a"), down, report("b", passed=False), report("b", 1, passed=None)]

    results = success_rates(outcomes(finished))

    (row,) = results["rows"]
    rate = row["success"]
    assert (row["tasks"], row["simulations"], row["verdicts"], rate["value"]) == (2, 4, 2, 0.5)
    assert (rate["worst"], rate["best"]) == (0.25, 0.75)
    assert "2 of 4 simulations have a verdict" in results["notes"][-1]
    plain = estimate([Trials(1, 1), Trials(1, 0)]).in_brief()
    assert {key: rate[key] for key in plain} == plain


def test_without_any_verdict_there_is_no_number():
    (row,) = success_rates(outcomes([broken("a", status="user_error"), report("b", passed=None)]))[
        "rows"
    ]

    assert row["success"] == {"value": None}
    assert success_rates([])["rows"] == []


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
