"""The shop's policy as rules: nothing is found where it is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.review.policy import PolicyResult
from maseval.benchmark.tau2.review.policy.checking import TRIED
from tests.benchmark.tau2.compliance.gold_retail import ADDRESS, YES, conversation, writes
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, compliance_of

RELEASES = {"0.2.0": "tau2_data", "1.0.1": "tau2_data_of_1_0_1", "verified": "tau2_data_verified"}
RULES = {rule.id: rule for rule in DOMAINS["retail"].rules}
# What reference solutions break: the task, the rule, and whether the tool lets them.
BROKEN_BY_GOLD = {
    "0.2.0": {
        ("12", "retail.return.refund", False),
        ("13", "retail.return.refund", False),
        ("18", "retail.items.option", True),
        ("64", "retail.exchange.status", False),
        ("91", "retail.items.option", True),
        ("105", "retail.payment.balance", False),
        ("107", "retail.items.option", True),
    },
    "1.0.1": {("64", "retail.exchange.status", False), ("105", "retail.payment.balance", False)},
    "verified": {
        ("18", "retail.items.available", False),
        ("64", "retail.exchange.status", False),
        ("91", "retail.items.available", False),
        ("105", "retail.payment.balance", False),
    },
}
NAMES = (
    *("order_id", "item_ids", "new_item_ids", "payment_method_id", "reason", "user_id", "zip"),
    *("address1", "address2", "city", "state", "country", "email", "first_name", "last_name"),
)
ORDER, ITEM, CARD = "#W6247578", "3799046073", "credit_card_9513926"
# Absurd values, each for every argument of a call; a tool may accept some of them.
HOSTILE: list[dict[str, Any]] = [
    {},
    *(
        dict.fromkeys(NAMES, value)
        for value in (None, "", 0, -1, 1e308, float("nan"), True, [], {}, [None], ORDER, [ORDER])
    ),
    *(dict.fromkeys(NAMES, value) for value in ("(", [["1"]])),
    {"order_id": ORDER, "item_ids": ITEM, "new_item_ids": ["1"], "payment_method_id": CARD},
    {"order_id": ORDER, "item_ids": [None, 7], "new_item_ids": [{}], "payment_method_id": ["x"]},
    {"order_id": ORDER, "item_ids": [], "new_item_ids": [], "payment_method_id": CARD},
    {"order_id": ORDER, "reason": ["no longer needed"]},
    {"user_id": "yusuf_rossi_9620", "zip": 19122, "city": None, "address1": {}, "state": ["NY"]},
]


@pytest.fixture(scope="module")
def tasks(tau2_data: Path) -> dict[str, dict[str, Any]]:
    raw = json.loads((tau2_data / "domains/retail/tasks.json").read_text("utf-8"))
    return {task["id"]: task for task in raw}


def names(found: PolicyResult) -> set[str]:
    return {breach.rule for breach in found.breaches}


def broken_by_gold(tasks: dict[str, dict[str, Any]], version: str) -> set[tuple[str, str, bool]]:
    """Play every reference solution; what is not against the state must be clean."""
    broken = set()
    for task in tasks.values():
        found = compliance_of("retail", task, conversation(task), version=version)
        assert (found.without_breaches_found, found.undecided, found.failed_rules) == (
            True,
            (),
            (),
        ), (task["id"], found)
        assert all(breach.weight == "remark" for breach in found.breaches), (
            task["id"],
            found.breaches,
        )
        broken |= {(task["id"], breach.rule, breach.kind != TRIED) for breach in found.breaches}
    return broken


@pytest.mark.beside
@pytest.mark.parametrize("version", BROKEN_BY_GOLD)
def test_the_reference_solutions_are_without_breaches_but_for_known_ones(
    version: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(RELEASES[version])
    tasks = {task["id"]: task for task in load_raw_tasks("retail", None, version=version)}
    assert broken_by_gold(tasks, version) == BROKEN_BY_GOLD[version]


@pytest.mark.parametrize("identified", [False, True])
def test_no_arguments_make_a_rule_raise(identified: bool, tasks: dict[str, dict[str, Any]]) -> None:
    tools = sorted({tool for rule in RULES.values() for tool in rule.tools})
    before = [
        Do(
            "find_user_id_by_name_zip",
            {"first_name": "Yusuf", "last_name": "Rossi", "zip": "19122"},
        ),
        Do("get_order_details", {"order_id": ORDER}),
    ]
    steps = [
        *(before if identified else ()),
        Say("assistant", "A refund of $5.00 goes to your gift card in 5 to 7 business days. Yes?"),
        Say("user", "Yes, please go ahead. ("),
        *(Do(tool, arguments) for tool in tools for arguments in HOSTILE),
        Say("assistant", "A refund of $5.00 was made at 12 Some Street. ###STOP###"),
    ]
    found = compliance_of("retail", tasks["0"], steps)
    assert found.unreadable is None
    assert found.failed_rules == ()
    assert found.breaches


def test_an_address_on_file_need_not_be_spelled_out(tasks: dict[str, dict[str, Any]]) -> None:
    task = tasks["71"]
    steps = conversation(task, with_wish=False)
    at = writes(steps, ADDRESS)[0]
    steps[at - 3 : at] = [
        Say("user", "Please send it to my default address."),
        Say("assistant", "I will change the address of order #W5270061 to your default. Confirm?"),
        Say("user", YES),
    ]
    assert names(compliance_of("retail", task, steps)) == set()
