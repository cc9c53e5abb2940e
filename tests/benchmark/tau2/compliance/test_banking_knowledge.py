"""The bank's policy as rules: clean where it is kept, and each breach found and named."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.compliance import Compliance
from maseval.benchmark.tau2.domains import DOMAINS
from tests.benchmark.tau2.compliance.breaches_banking_knowledge import (
    CALL,
    DOMAIN,
    UNLOCK,
    clean_steps,
    inner,
)
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, compliance_of
from tests.benchmark.tau2.compliance.test_inventory import COPIED, inventory, words

pytestmark = pytest.mark.data
RULES = {rule.id: rule for rule in DOMAINS[DOMAIN].rules}
# The reference solution replaces a card on the day on which it is closed, in the entry tier.
GOLD_BREACHES = {("task_091", "banking.card_order.waiting")}
HOSTILE: list[Any] = [None, "", 0, -1, 1e308, True, [], {}, [None], "01", "11/14/2025"]
FIELDS = (
    *("user_id", "account_id", "card_id", "credit_card_account_id", "transaction_id", "amount"),
    *("account_type", "account_class", "source_account_id", "destination_account_id", "reason"),
    *("new_pin", "pin", "last_4_digits", "shipping_address", "delivery_option", "card_design"),
    *("new_limit", "limit_type", "new_credit_limit", "requested_increase_amount"),
    *("disputed_amount", "purchase_date", "time_verified", "expiration_date", "credit_type"),
)


@pytest.fixture(scope="module", autouse=True)
def texts(shared_data: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASEVAL_TAU2_TEXTS", str(shared_data / "tau2-texts"))
        yield


@pytest.fixture(scope="module")
def tasks(banking_data: Path) -> list[dict[str, Any]]:
    files = sorted((banking_data / "tasks").glob("*.json"))
    return [json.loads(each.read_text("utf-8")) for each in files]


def found_in(task: dict[str, Any], steps: list[Any]) -> Compliance:
    return compliance_of(DOMAIN, task, steps, version="1.0.1")


def names(found: Compliance) -> set[str]:
    return {breach.rule for breach in found.breaches}


def test_every_variant_has_the_rules() -> None:
    variants = [each for name, each in DOMAINS.items() if name.startswith("banking_knowledge")]
    assert len(variants) > 10
    assert all(each.rules == tuple(RULES.values()) for each in variants)


def test_the_reference_solutions_are_clean(tasks: list[dict[str, Any]]) -> None:
    broken = set()
    for task in tasks:
        found = found_in(task, clean_steps(task))
        assert found.unreadable is None and not found.faults, (task["id"], found)
        assert found.clean is True, (task["id"], found.breaches, found.doubts)
        broken |= {(task["id"], each.rule) for each in found.breaches if each.demanded}
    assert broken == GOLD_BREACHES


def test_no_arguments_make_a_rule_raise(tasks: list[dict[str, Any]]) -> None:
    tools = sorted(DOMAINS[DOMAIN].toolkit.discoverable_tools())
    task = next(each for each in tasks if each["id"] == "task_080")
    steps: list[Any] = [Say("user", "Hello, I need your help."), *clean_steps(task)[:8]]
    for tool in tools:
        steps.append(Do(UNLOCK, {"agent_tool_name": tool}))
        steps += [inner(tool, **dict.fromkeys(FIELDS, value)) for value in HOSTILE]
        steps += [
            Do(CALL, {"agent_tool_name": tool, "arguments": value}) for value in ("[]", "{", "", 3)
        ]
    steps += [Do(CALL, {}), Do(UNLOCK, {}), Do("log_verification", {}), Say("assistant", "Bye.")]
    found = found_in(task, steps)
    assert found.unreadable is None
    assert found.faults == ()
    assert found.breaches


def test_no_statement_is_copied_from_policy_or_documents(banking_data: Path) -> None:
    files = [*banking_data.glob("documents/*.json"), *banking_data.glob("prompts/**/*.md")]
    text = f" {' '.join(words(' '.join(each.read_text('utf-8') for each in files)))} "
    for entry in inventory("banking_knowledge"):
        said = words(entry["statement"])
        runs = (said[at : at + COPIED] for at in range(len(said) - COPIED + 1))
        assert not [run for run in runs if f" {' '.join(run)} " in text], entry
