"""The audit of the bank: what its documents, records and reference solutions say of each other."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains.releases import release_of
from maseval.benchmark.tau2.review.audit import KINDS, Finding, audit, document
from maseval.benchmark.tau2.review.audit.auditing import audit_task
from maseval.benchmark.tau2.review.audit.subject import AuditedDomain, AuditedTask, audited_domain

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_texts")]
BANK, VERSION = "banking_knowledge", "1.0.1"
PAGE = Path(__file__).parents[3] / "docs" / "audit-findings-banking.md"
KNOWN = {
    "documents against the gold": {
        *("014", "017", "020", "026", "027", "056", "060", "061", "062", "069", "071", "082"),
        *("094", "095", "097"),
    },
    "documents in conflict": {"072", "073", "074", "078", "084", "085"},
    "gold is not what was asked for": {"091"},
    "gold lacks a call of the user": {"053", "082"},
    "user is not told to call": {"049"},
    "answer nobody gives": {"015", "038", "039", "040", "041", "054", "070", "071", "088", "091"},
    "several right end states": {"045", "049", "063", "082", "084", "085", "097"},
    "free text is compared": {
        *("059", "060", "061", "062", "065", "066", "067", "068", "069", "083"),
    },
    "persona contradicts the database": {"004", "023", "031", "057", "082", "086", "091"},
    "record after the clock": {"072", "073", "074"},
}


@pytest.fixture(scope="module")
def findings(banking_data: Path, tau2_texts: None) -> list[Finding]:
    return audit(BANK, version=VERSION)


@pytest.fixture(scope="module")
def bank(banking_data: Path, tau2_texts: None) -> AuditedDomain:
    release = release_of(BANK, VERSION)
    return audited_domain(release.domain(BANK), None, release.rules)


@pytest.fixture
def raw(banking_data: Path) -> Any:
    def read(number: str) -> dict[str, Any]:
        task: dict[str, Any] = json.loads((banking_data / f"tasks/task_{number}.json").read_text())
        return task

    return read


def kinds_of(bank: AuditedDomain, task: dict[str, Any]) -> set[str]:
    found = audit_task(AuditedTask.of(bank, task))
    return {finding.kind for finding in found if finding.severity != "info"}


def with_inner(task: dict[str, Any], tool: str, **changes: object) -> dict[str, Any]:
    """A task whose reference solution calls a tool with other arguments."""
    task = copy.deepcopy(task)
    for action in task["evaluation_criteria"]["actions"]:
        if (
            action["arguments"].get("agent_tool_name") == tool
            and "arguments" in action["arguments"]
        ):
            inner = json.loads(action["arguments"]["arguments"])
            if changes.keys() <= inner.keys() or tool.startswith("order_"):
                action["arguments"]["arguments"] = json.dumps(inner | changes)
    return task


def test_the_findings_are_those_that_were_read(findings):
    assert not [each for each in findings if each.kind == "task cannot be read"]
    told = [each for each in findings if each.severity != "info" and each.task_id]
    seen = {(each.kind, each.task_id) for each in told}

    for kind, numbers in KNOWN.items():
        assert {task for found, task in seen if found == kind} == {f"task_{n}" for n in numbers}


def test_each_finding_says_what_was_tried_and_what_happened(findings):
    by_rule = ("task_004",)
    mine = [
        each for each in findings if each.kind in KNOWN and each.task_id not in (None, *by_rule)
    ]

    assert mine
    for each in mine:
        assert each.kind in KINDS and each.evidence["tried"] and each.evidence["happened"]


def test_faults_of_documents_name_the_tasks_that_need_them(findings):
    found = {
        each.text.partition(" ")[0]: each.evidence.get("tasks")
        for each in findings
        if each.kind == "documents in conflict" and each.task_id is None
    }

    assert found["doc_savings_accounts_gold_account_013"] == ["task_094", "task_095"]
    assert found["doc_savings_accounts_silver_account_002"] == ["task_093", "task_097"]
    assert "task_031" in found["doc_credit_cards_credit_cards_(general)_014"]
    assert "'streaming" in found


def test_a_mended_reference_solution_is_no_longer_found(bank, raw):
    """The card that the customer asks for, at once; an account under the other card's yield."""
    order = "order_debit_card_5739"
    best = {"delivery_option": "EXPEDITED", "card_design": "PREMIUM"}

    assert "gold is not what was asked for" in kinds_of(bank, raw("091"))
    assert "gold is not what was asked for" not in kinds_of(
        bank, with_inner(raw("091"), order, **best)
    )


def test_rewards_that_are_rounded_down_are_right(bank, raw):
    task = raw("026")
    text = json.dumps(task).replace("1500 points", "1499 points")
    errors = [
        each
        for each in audit_task(AuditedTask.of(bank, json.loads(text)))
        if each.severity == "error"
    ]

    assert not errors


def test_a_customer_who_is_told_what_to_answer_answers(bank, raw):
    task = raw("054")
    assert "answer nobody gives" in kinds_of(bank, task)

    task["user_scenario"]["instructions"] += "\nIf asked, you want expedited shipping."

    assert "answer nobody gives" not in kinds_of(bank, task)


def test_a_gold_with_the_call_of_the_user_is_sound(bank, raw):
    task = raw("053")
    actions = task["evaluation_criteria"]["actions"]
    given = next(n for n, each in enumerate(actions) if each["name"].startswith("give_"))
    arguments = {
        "discoverable_tool_name": "get_card_last_4_digits",
        "arguments": '{"credit_card_account_id": "cc_e9d195fe8e_silver"}',
    }
    call = {"action_id": "x", "name": "call_discoverable_user_tool", "arguments": arguments}
    actions.insert(given + 1, {**call, "requestor": "user"})

    assert "gold lacks a call of the user" not in kinds_of(bank, task)


def test_what_was_read_counts_where_the_gold_reads(findings):
    (reading,) = [each for each in findings if each.kind == "reading counts"]

    assert "task_059" in reading.evidence["tasks"] and "task_058" not in reading.evidence["tasks"]


def test_the_page_says_what_is_found_and_how_much_of_it_was_read(findings):
    found, read = PAGE.read_text(encoding="utf-8").split("\n## Read by hand\n")

    assert found == document(findings, VERSION)
    tasks = {each.task_id for each in findings if each.severity != "info" and each.task_id}
    assert f"Of the {len(tasks)}\ntasks that have one" in read
