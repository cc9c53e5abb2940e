"""The causes that facts prove agree with those who read the conversations, as the page says."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.readings import each_once
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from tests.benchmark.tau2.readings.reading import compare_readings, count_agreement, readings

PAGE = Path(__file__).parents[3] / "docs" / "how-we-know.md"
pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data")]


@pytest.fixture(scope="module")
def compared(contract_dir: Path, tau2_data: Path, tau2_data_of_1_0_1: Path) -> dict[str, Any]:
    return {name: list(compare_readings(name, contract_dir)) for name in ("readings", "earlier")}


def test_a_party_that_facts_prove_is_the_one_that_the_reader_blames(compared):
    """The page has the numbers, which are tuned: the steps were chosen with these readings."""
    found = each_once(compared.values())
    proven = [each for each in found if each.cause.grade == "proven"]
    total = count_agreement(proven)
    domains = {each.domain for each in proven}

    assert total["first"] >= 0.97 * total["read"] and total["read"] >= 0.55 * len(found)
    assert {each.cause.who for each in found if each not in proven} == {"unclear"}
    assert domains == {"airline", "retail", "telecom"}
    said = f"{total['first']} of the {total['read']} failures in which a fact decides"
    assert said in " ".join(PAGE.read_text(encoding="utf-8").split())


def test_every_reading_is_of_a_task_that_exists_and_names_a_party():
    known = {name: {raw["id"] for raw in load_raw_tasks(name)} for name in ("airline", "retail")}
    parties = {"agent", "user", "task", "infrastructure", "nobody"}
    failures = readings("readings", "failure")

    assert len(failures) == 120 and len(readings("readings", "pass")) == 60
    assert {each["who"] for each in failures} <= parties
    for each in failures:
        assert each["task"] in known.get(each["domain"], {each["task"]})
