"""The page on how right labels are says what comes out when it is measured anew."""

from pathlib import Path

import pytest

from benchmarks.readings import rows
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from tests.benchmark.tau2.readings.reading import compared, readings

PAGE = Path(__file__).parents[3] / "docs" / "label-readings.md"
pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data")]


def table(found) -> str:
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows(found))


def test_the_page_has_the_agreement_of_today(contract_dir):
    written = PAGE.read_text(encoding="utf-8")

    assert table(list(compared("readings", contract_dir))) in written


def test_every_reading_is_of_a_task_that_exists_and_names_a_party():
    known = {name: {raw["id"] for raw in load_raw_tasks(name)} for name in ("airline", "retail")}
    parties = {"agent", "user", "task", "infrastructure", "nobody"}
    failures = readings("readings", "failure")

    assert len(failures) == 120 and len(readings("readings", "pass")) == 60
    assert {each["who"] for each in failures} <= parties
    for each in failures:
        assert each["task"] in known.get(each["domain"], {each["task"]})
