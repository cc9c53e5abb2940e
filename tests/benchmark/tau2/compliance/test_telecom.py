"""The carrier's policy as rules: nothing is found where it is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.review.policy import PolicyResult, check_gold, scenario_text
from maseval.benchmark.tau2.review.policy.checking import DEMANDED
from maseval.benchmark.tau2.scoring.case import open_case
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, compliance_of
from tests.benchmark.tau2.compliance.gold_telecom import (
    CUSTOMER,
    LINE,
    NUMBER,
    clean_steps,
    solo_steps,
)

RULES = {rule.id: rule for rule in DOMAINS["telecom"].rules}
# Absurd values, each for every argument of a call; a tool may accept some of them.
HOSTILE: list[dict[str, Any]] = [
    {},
    *(
        dict.fromkeys(("customer_id", "line_id", "bill_id", "gb_amount", "reason", "id"), value)
        for value in (None, "", 0, -1, 1e308, float("nan"), True, [], {}, [None], "L1002", "2")
    ),
    {"customer_id": CUSTOMER, "line_id": LINE, "gb_amount": "2"},
    {"customer_id": CUSTOMER, "line_id": LINE, "gb_amount": 0.1, "reason": None},
    {"customer_id": CUSTOMER, "bill_id": "B1002", "extra": {"a": []}},
    {"phone_number": None, "full_name": 7, "dob": []},
    {"phone_number": "(", "full_name": "(", "dob": "["},
    {"full_name": "John Smith", "dob": "--"},
    {"mode": None, "app_name": [], "permission": 3},
]


@pytest.fixture(scope="module")
def tasks(tau2_data: Path) -> list[dict[str, Any]]:
    return json.loads((tau2_data / "domains/telecom/tasks.json").read_text("utf-8"))


def names(found: PolicyResult) -> set[str]:
    return {breach.rule for breach in found.breaches}


@pytest.mark.parametrize("domain", ["telecom", "telecom-workflow"])
def test_the_reference_solutions_are_without_breaches(
    domain: str, tasks: list[dict[str, Any]]
) -> None:
    for task in tasks:
        found = compliance_of(domain, task, clean_steps(task))
        assert (found.without_breaches_found, found.breaches) == (True, ()), (task["id"], found)


def test_the_reference_solutions_of_the_next_release_are_without_breaches(
    tasks: list[dict[str, Any]], tau2_data_of_1_0_1: Path
) -> None:
    for task in tasks[::15]:
        found = compliance_of("telecom", task, clean_steps(task), version="1.0.1")
        assert found.without_breaches_found is True, (task["id"], found)


def test_without_a_user_only_data_that_no_ticket_mentions_is_added_against_the_policy(
    tasks: list[dict[str, Any]],
) -> None:
    """The tickets about picture messages give no permission to refuel; the solutions do it."""
    broken = set()
    for task in tasks:
        found = compliance_of("telecom", task, solo_steps(task), solo=True)
        assert found.without_breaches_found is True, (task["id"], found)
        broken |= {(task["id"], breach.rule, breach.kind == DEMANDED) for breach in found.breaches}
    demanded = {
        (task["id"], "telecom.refuel.permitted", True)
        for task in tasks
        if task["id"].startswith("[mms_issue]") and "data_usage_exceeded" in task["id"]
    }
    assert broken == demanded
    assert len(demanded) == 30


def test_the_gold_of_an_agent_alone_pays_the_bill_before_the_line_is_resumed(
    tasks: list[dict[str, Any]],
) -> None:
    """A reference solution has calls of the user, also where the agent makes them all."""
    paying = [task for task in tasks if "overdue_bill" in task["id"]]
    for task in paying:
        simulation = {"task_id": task["id"], "messages": [], "termination_reason": "user_stop"}
        case = open_case(simulation, "telecom", task, solo=True)
        found = check_gold(case.setting, scenario_text(task), task["ticket"]).breaches
        assert "telecom.resume.bills" not in [each.rule for each in found]
    assert paying


@pytest.mark.parametrize("solo", [False, True])
def test_no_arguments_make_a_rule_raise(solo: bool, tasks: list[dict[str, Any]]) -> None:
    tools = sorted({tool for rule in RULES.values() for tool in rule.tools})
    own = [each for each in tools if solo or DOMAINS["telecom"].toolkit.has_tool(each)]
    calls = [Do(tool, arguments) for tool in own for arguments in HOSTILE]
    steps = [*calls, Say("assistant", "###STOP###")]
    found = compliance_of("telecom", tasks[0], steps, solo=solo)
    assert found.unreadable is None
    assert found.failed_rules == ()
    assert found.breaches


@pytest.mark.parametrize(
    ("wish", "line", "rules"),
    [
        ("My number is (555) 123-2002. I'm abroad.", LINE, set()),
        ("My number is 555.123.2002. I am travelling.", "L1001", {"telecom.line.asked"}),
        (
            "My number is 5551232002, but it's about my line ending in 2001. I'm abroad.",
            "L1001",
            set(),
        ),
        ("My number is 555-123-2002. I'm abroad with all of my lines.", "L1001", set()),
    ],
)
def test_the_line_that_the_user_speaks_of(
    wish: str, line: str, rules: set[str], tasks: list[dict[str, Any]]
) -> None:
    task = next(each for each in tasks if "user_abroad_roaming_disabled" in each["id"])
    steps = [
        Say("user", wish),
        Do("get_customer_by_phone", {"phone_number": NUMBER}),
        Do("get_details_by_id", {"id": line}),
        Do("enable_roaming", {"customer_id": CUSTOMER, "line_id": line}),
        *(Say("assistant", "Roaming is on."), Say("user", "Thank you. ###STOP###")),
    ]
    assert names(compliance_of("telecom", task, steps)) == rules


def test_records_do_not_decide_if_a_user_asked_for_data_before_the_limit(
    tasks: list[dict[str, Any]],
) -> None:
    task = next(each for each in tasks if "data_usage_exceeded" not in each["id"])
    call = Do("refuel_data", {"customer_id": CUSTOMER, "line_id": LINE, "gb_amount": 1})
    steps = [
        Say("user", f"Hello. My number is {NUMBER}. Please add 1 GB of data to my line."),
        Do("get_customer_by_phone", {"phone_number": NUMBER}),
        Say("assistant", "1 GB costs $2.00. Shall I add it?"),
        *(Say("user", "Yes."), call, Say("assistant", "Done."), Say("user", "###STOP###")),
    ]
    found = compliance_of("telecom", task, steps)
    assert [each.rule for each in found.undecided] == ["telecom.refuel.need"]
    assert not names(found)
