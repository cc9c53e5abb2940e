import pytest

from maseval.report.results import success_rates, summary_table
from maseval.stats import outcomes_of
from tests.report.builders import broken, report


def test_errors_stay_in_the_denominator():
    finished = [report("a"), broken("a", 1), report("b", passed=False), report("b", 1, passed=None)]

    (row,) = success_rates(outcomes_of(finished))["rows"]

    rate = row["success"]
    assert (row["tasks"], row["simulations"], rate["value"]) == (2, 4, 0.25)
    assert (rate["low"], rate["high"]) == pytest.approx((0.0456, 0.6994), abs=1e-4)


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
