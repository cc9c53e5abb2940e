"""Breaches in other styles are found by the rule that is broken, and nothing in their twins."""

from functools import cache
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task
from tests.benchmark.tau2.compliance.gold_talk import Step, compliance_of
from tests.benchmark.tau2.compliance.styles import Pair, pairs

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data")]
TASKS = {"airline": "1", "retail": "2"}


@cache
def task(domain: str) -> dict[str, Any]:
    return load_raw_task(domain, TASKS[domain])


def rules_broken(domain: str, steps: list[Step]) -> set[str]:
    found = compliance_of(domain, task(domain), steps)
    assert not found.failed_rules and found.unreadable is None
    return {each.rule for each in found.findings if each.counts}


@pytest.mark.parametrize("name", ["first", "second"])
def test_a_breach_is_found_by_its_rule_and_its_twin_is_without_any(name: str) -> None:
    told: list[Pair] = list(pairs(name))
    missed = [each[1:3] for each in told if each.rule not in rules_broken(each.domain, each.breach)]
    flagged = [each[1:3] for each in told if rules_broken(each.domain, each.clean)]
    assert (missed, flagged) == ([], [])


@pytest.mark.parametrize("pair", list(pairs("alarms")), ids=lambda pair: pair.style)
def test_what_once_gave_a_false_alarm_gives_none(pair: Pair) -> None:
    assert not rules_broken(pair.domain, pair.clean)
