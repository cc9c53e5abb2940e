"""Each rule is found broken where it is, and every rule has a conversation that breaks it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.review.policy.rules import Kind
from tests.benchmark.tau2.compliance.breaches import Case, base, cases, edited, staged
from tests.benchmark.tau2.compliance.gold_talk import Step, compliance_of

pytestmark = pytest.mark.data
BREACHES = ("airline", "retail", "telecom", "banking_knowledge")


@pytest.fixture
def data(request: pytest.FixtureRequest, domain: str) -> Iterator[None]:
    if domain != "banking_knowledge":
        request.getfixturevalue("tau2_data")
        yield
        return
    request.getfixturevalue("banking_data")
    request.getfixturevalue("tau2_texts")
    yield


@cache
def tasks(domain: str) -> dict[str, dict[str, Any]]:
    version = "1.0.1" if domain == "banking_knowledge" else None
    return {task["id"]: task for task in load_raw_tasks(domain, version=version)}


def rules_broken(
    domain: str, task: Mapping[str, Any], steps: list[Step], *, solo: bool = False
) -> Counter[tuple[str, str]]:
    version = "1.0.1" if domain == "banking_knowledge" else None
    found = compliance_of(domain, task, steps, version=version, solo=solo)
    assert not found.failed_rules
    return Counter((breach.rule, breach.text) for breach in found.breaches)


def by_rule() -> Iterator[Any]:
    for domain in BREACHES:
        found: dict[str, list[Case]] = {}
        for case in cases(domain):
            found.setdefault(case["rule"] or case["scene"], []).append(case)
        yield from (pytest.param(domain, each, id=name) for name, each in found.items())


@pytest.mark.beside
@pytest.mark.parametrize(("domain", "own"), [*by_rule()])
def test_a_breach_is_found_and_named_and_nothing_in_scenes_that_keep_the_policy(
    domain: str, own: list[Case], data: None
) -> None:
    for case in own:
        task = staged(case, tasks(domain)[case["task"]])
        solo = case.get("solo", False)
        steps = base(domain, task, solo=solo)
        before = rules_broken(domain, task, steps, solo=solo)
        more = rules_broken(domain, task, edited(case, task, steps), solo=solo) - before
        assert (case["rule"], case["text"]) in more if case["rule"] else not more, (case, more)


@pytest.mark.parametrize("domain", BREACHES)
def test_every_rule_but_those_of_form_has_breaches(domain: str) -> None:
    form = {rule.id for rule in DOMAINS[domain].rules if rule.kind is Kind.FORM}
    tried = {case["rule"] for case in cases(domain) if case["rule"]}
    assert tried - form == {rule.id for rule in DOMAINS[domain].rules} - form
