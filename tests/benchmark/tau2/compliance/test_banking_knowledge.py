"""The bank's policy as rules: nothing is found where it is kept."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.review.policy import PolicyResult
from maseval.benchmark.tau2.review.policy.checking import DEMANDED
from tests.benchmark.tau2.compliance.gold_banking_knowledge import (
    CALL,
    DOMAIN,
    UNLOCK,
    Task,
    clean_steps,
    inner,
)
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step, compliance_of

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_texts")]
RULES = {rule.id: rule for rule in DOMAINS[DOMAIN].rules}
# The reference solution does not close or freeze a card as its dispute says, and replaces another
# one on the day on which it is closed, in the entry tier.
GOLD_BREACHES = {
    ("task_082", "banking.debit_dispute.action"),
    ("task_083", "banking.debit_dispute.action"),
    ("task_091", "banking.card_order.waiting"),
}
CLOSE, ORDER = "close_bank_account_7392", "order_debit_card_5739"
HOSTILE: list[Any] = [None, "", 0, -1, 1e308, True, [], {}, [None], "01", "11/14/2025"]
FIELDS = (
    *("user_id", "account_id", "card_id", "credit_card_account_id", "transaction_id", "amount"),
    *("account_type", "account_class", "source_account_id", "destination_account_id", "reason"),
    *("new_pin", "pin", "last_4_digits", "shipping_address", "delivery_option", "card_design"),
    *("new_limit", "limit_type", "new_credit_limit", "requested_increase_amount"),
    *("disputed_amount", "purchase_date", "time_verified", "expiration_date", "credit_type"),
)


@pytest.fixture(scope="module")
def tasks(banking_data: Path) -> list[dict[str, Any]]:
    files = sorted((banking_data / "tasks").glob("*.json"))
    return [json.loads(each.read_text("utf-8")) for each in files]


def found_in(task: Task, steps: list[Step]) -> PolicyResult:
    return compliance_of(DOMAIN, task, steps, version="1.0.1")


def named(tasks: list[dict[str, Any]], number: str) -> dict[str, Any]:
    return next(each for each in tasks if each["id"] == f"task_{number}")


def names(found: PolicyResult) -> set[str]:
    return {breach.rule for breach in found.breaches}


def test_every_variant_has_the_rules() -> None:
    variants = [each for name, each in DOMAINS.items() if name.startswith("banking_knowledge")]
    assert len(variants) > 10
    assert all([*each.rules] == [*RULES.values()] for each in variants)


def test_the_reference_solutions_are_without_breaches(tasks: list[dict[str, Any]]) -> None:
    broken = set()
    for task in tasks:
        found = found_in(task, clean_steps(task))
        assert found.unreadable is None and not found.failed_rules, (task["id"], found)
        assert found.without_breaches_found is True, (task["id"], found.breaches, found.undecided)
        broken |= {(task["id"], each.rule) for each in found.breaches if each.weight == "remark"}
    assert broken == GOLD_BREACHES


def altered(task: Task, change: Callable[[dict[str, Any]], Any]) -> list[Step]:
    """The steps with other arguments in the orders of a debit card; None leaves them."""
    steps = clean_steps(task)
    for at, step in enumerate(steps):
        if (
            isinstance(step, Do)
            and step.name == CALL
            and step.arguments["agent_tool_name"] == ORDER
        ):
            new = change(json.loads(step.arguments["arguments"]))
            steps[at] = step if new is None else inner(ORDER, **new)
    return steps


def test_what_the_reference_solution_does_is_demanded_in_any_order(
    tasks: list[dict[str, Any]],
) -> None:
    def reversed_order(given: dict[str, Any]) -> dict[str, Any] | None:
        turned = dict(reversed(given.items()))
        return {**turned, "delivery_fee": 0.0} if "lightblue" in given["account_id"] else None

    task = named(tasks, "091")
    (breach,) = found_in(task, altered(task, reversed_order)).breaches
    assert (breach.rule, breach.kind) == ("banking.card_order.waiting", DEMANDED)


def test_no_arguments_make_a_rule_raise(tasks: list[dict[str, Any]]) -> None:
    task, broken = named(tasks, "080"), set()
    begun = [*clean_steps(task)[:6], Do(CALL, {}), Do(UNLOCK, {}), Do("log_verification", {})]
    for tool in sorted(DOMAINS[DOMAIN].toolkit.discoverable_tools()):
        steps: list[Step] = [*begun, Do(UNLOCK, {"agent_tool_name": tool})]
        steps += [inner(tool, **dict.fromkeys(FIELDS, value)) for value in HOSTILE]
        steps += [
            Do(CALL, {"agent_tool_name": tool, "arguments": value}) for value in ("[]", "{", "", 3)
        ]
        found = found_in(task, [*steps, Say("assistant", "Bye.")])
        assert (found.unreadable, found.failed_rules) == (None, ()), tool
        broken |= names(found)
    assert len(broken) > 3
