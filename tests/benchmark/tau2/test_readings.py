"""The causes that are found agree with those who read the conversations, as the page says."""

from pathlib import Path

import pytest

from benchmarks.readings import each_once, rows, rows_by_step
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.review.causes import user_findings
from maseval.benchmark.tau2.review.causes.failure import LOOKED_FOR
from maseval.benchmark.tau2.review.causes.steps import BY_DEFAULT
from tests.benchmark.tau2.readings.reading import (
    compare_readings,
    count_agreement,
    read_cases,
    readings,
)

PAGE = Path(__file__).parents[3] / "docs" / "how-we-know.md"
pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data")]


@pytest.fixture(scope="module")
def compared(contract_dir, tau2_data, tau2_data_of_1_0_1):
    return {name: list(compare_readings(name, contract_dir)) for name in ("readings", "earlier")}


@pytest.mark.parametrize(
    ("name", "first", "named"), [("readings", 0.87, 0.95), ("earlier", 0.9, 0.9)]
)
def test_causes_agree_with_the_readers(name, first, named, compared):
    found = compared[name]
    total = count_agreement(found)

    assert total["first"] >= first * total["read"]
    assert total["named"] >= named * total["read"]
    assert total["open"] <= 0.1 * total["read"]


def test_the_page_has_the_rate_of_each_domain_step_and_grade(compared):
    found, written = each_once(compared.values()), PAGE.read_text(encoding="utf-8")

    for row in (*rows(found), *rows_by_step(found)):
        assert f"| {' | '.join(map(str, row[:5]))} |" in written
    told = {}
    for grade in ("likely", "undecided"):
        total = count_agreement(each for each in found if each.cause.grade == grade)
        told[grade] = f"{total['first']} of {total['read']}"
        share = total["first"] / total["read"]
        assert share >= 0.95 if grade == "likely" else share < 0.95
    assert "in {likely} of them, *undecided* ones in {undecided}.".format(**told) in written
    default = count_agreement(e for e in found if e.cause.kind.endswith("by default"))
    assert f" {default['first']} of {default['read']} such failures" in BY_DEFAULT


def test_the_first_line_of_users_says_how_much_of_what_readers_note_is_found(
    contract_dir, tau2_data_of_1_0_1
):
    noted = near = 0
    for reading, case, cause in read_cases("readings", contract_dir):
        at = [each["message"] for each in reading["user_faults"]]
        found = [e.message for e in user_findings(case, cause) if e.message is not None]
        noted += len(at)
        near += sum(any(abs(one - other) <= 2 for other in at) for one in found)

    assert f"{near} of the {noted} faults that readers noted in 180 conversations" in LOOKED_FOR


def test_every_reading_is_of_a_task_that_exists_and_names_a_party():
    known = {name: {raw["id"] for raw in load_raw_tasks(name)} for name in ("airline", "retail")}
    parties = {"agent", "user", "task", "infrastructure", "nobody"}
    failures = readings("readings", "failure")

    assert len(failures) == 120 and len(readings("readings", "pass")) == 60
    assert {each["who"] for each in failures} <= parties
    for each in failures:
        assert each["task"] in known.get(each["domain"], {each["task"]})
