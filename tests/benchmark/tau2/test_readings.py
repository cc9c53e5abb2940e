"""The causes that are found agree with those who read the conversations, as the page says."""

from pathlib import Path

import pytest

from benchmarks.readings import rows
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from tests.benchmark.tau2.readings.reading import compare_readings, count_agreement, readings

PAGE = Path(__file__).parents[3] / "docs" / "label-readings.md"
pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data")]


@pytest.fixture(scope="module")
def compared(contract_dir, tau2_data, tau2_data_of_1_0_1):
    return {name: list(compare_readings(name, contract_dir)) for name in ("readings", "earlier")}


@pytest.mark.parametrize(
    ("name", "first", "named"), [("readings", 0.85, 0.92), ("earlier", 0.88, 0.88)]
)
def test_causes_agree_with_the_readers(name, first, named, compared):
    found = compared[name]
    total = count_agreement(found)

    assert total["first"] >= first * total["read"]
    assert total["named"] >= named * total["read"]
    assert total["open"] <= 0.1 * total["read"]
    written = PAGE.read_text(encoding="utf-8")
    for row in rows(found):
        assert f"| {' | '.join(map(str, row))} |" in written


def test_likely_causes_name_the_readers_first_party(compared):
    found = [*compared["readings"], *compared["earlier"]]
    likely = count_agreement(each for each in found if each.cause.grade == "likely")

    assert likely["read"] > 100 and likely["first"] >= 0.95 * likely["read"]


def test_every_reading_is_of_a_task_that_exists_and_names_a_party():
    known = {name: {raw["id"] for raw in load_raw_tasks(name)} for name in ("airline", "retail")}
    parties = {"agent", "user", "task", "infrastructure", "nobody"}
    failures = readings("readings", "failure")

    assert len(failures) == 120 and len(readings("readings", "pass")) == 60
    assert {each["who"] for each in failures} <= parties
    for each in failures:
        assert each["task"] in known.get(each["domain"], {each["task"]})
