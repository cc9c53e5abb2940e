"""Breaches in other styles are found by the rule that is broken, and nothing in their twins."""

from pathlib import Path

import pytest

from tests.benchmark.tau2.compliance.outcomes import outcomes, rules_broken, table_rows
from tests.benchmark.tau2.compliance.styles import Pair, pairs

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data", "banking_data", "tau2_texts")]
PAGE = Path(__file__).parents[4] / "docs" / "compliance.md"


def test_as_many_breaches_in_other_styles_are_found_as_the_page_says() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert not [each for each in table_rows() if each not in page]
    assert not [each for each in outcomes() if each.flagged]


@pytest.mark.parametrize("pair", list(pairs("alarms")), ids=lambda pair: pair.style)
def test_what_once_gave_a_false_alarm_gives_none(pair: Pair) -> None:
    assert not rules_broken(pair, pair.clean)
