"""The carrier's policy as rules: nothing is found where it is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.review.policy import PolicyResult, check_gold, scenario_text
from maseval.benchmark.tau2.review.policy.checking import DEMANDED
from maseval.benchmark.tau2.scoring.case import open_case
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step, compliance_of
from tests.benchmark.tau2.compliance.gold_telecom import (
    CUSTOMER,
    LINE,
    NUMBER,
    OFFER,
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


def offered(task: dict[str, Any], text: str) -> list[Step]:
    """The conversation of a task in which data is offered in other words."""
    offer = Say("assistant", OFFER)
    return [Say("assistant", text) if step == offer else step for step in clean_steps(task)]


def test_a_price_in_words_that_are_not_read_is_no_breach(tasks: list[dict[str, Any]]) -> None:
    task = next(each for each in tasks if "data_usage_exceeded" in each["id"])
    found = compliance_of("telecom", task, offered(task, "2 GB more cost four oh oh. Add it?"))
    assert (found.breaches, {each.rule for each in found.undecided}) == (
        (),
        {"telecom.refuel.price"},
    )


@pytest.mark.parametrize(
    ("reply", "rules"),
    [
        ("I'd like to refuel 2.0 GB of data, please.", set()),
        ("I don't want to change my plan, but please add 2GB to my line.", set()),
        ("Okay, let's do the maximum.", set()),
        ("Two gigabytes, please.", set()),
        ("Yes, but only one gig.", {"telecom.refuel.amount"}),
        ("Just one, please.", {"telecom.refuel.amount"}),
        ("No, please don't add any data.", {"telecom.refuel.yes"}),
    ],
)
def test_replies_to_an_offer_of_data(
    reply: str, rules: set[str], tasks: list[dict[str, Any]]
) -> None:
    task = next(each for each in tasks if "data_usage_exceeded" in each["id"])
    steps = [
        Say("user", reply) if step == Say("user", "Yes, please add 2 GB.") else step
        for step in clean_steps(task)
    ]
    assert names(compliance_of("telecom", task, steps)) == rules


@pytest.mark.parametrize(
    ("offer", "is_right"),
    [
        ("You can refuel up to 2 GB at $2/GB. How much?", True),
        ("- Price per GB: $2.00\n- Total: $4.00\nShall I add 2 GB?", True),
        ("1 GB costs $2.00 and 2 GB cost $4.00. Shall I add 2 GB?", True),
        ("Refuel 2 GB for $4.00, or switch to Unlimited Plus for $85.00 per month?", True),
        (
            "Unlimited Plus: $85.00, refueling $0.10 per GB.\nOr 2 GB of data for four dollars?",
            True,
        ),
        ("The refueling price is $2.00. Your bill of $65.00 is paid. Shall I add 2 GB?", True),
        ("Refueling 2 GB would cost $2.00. Shall I?", False),
        ("You can refuel at $4/GB. Add 2 GB?", False),
        ("Refueling 2 GB is free for you. Shall I?", False),
    ],
)
def test_prices_in_an_offer_of_data(
    offer: str, is_right: bool, tasks: list[dict[str, Any]]
) -> None:
    task = next(each for each in tasks if "data_usage_exceeded" in each["id"])
    found = names(compliance_of("telecom", task, offered(task, offer)))
    assert ("telecom.refuel.price" in found) != is_right


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("Please don't enter any PIN, I will transfer you.", set()),
        ("If you enter the wrong PIN three times, the card locks.", set()),
        ("Did you enter a PIN recently?", set()),
        ("Please enter your SIM PIN now.", {"telecom.sim.locked"}),
        ("Please remove and reinstall the SIM card.", set()),
        ("This is not a factory reset, your photos stay.", set()),
        ("Are you chatting from another device?", set()),
        ("Thank you for letting me know that the payment is completed.", set()),
        ("I've added a note to your account.", set()),
        ("Please reset your network settings.", {"telecom.advice.manual"}),
        ("I've added 1 GB to your line.", {"telecom.claim.done"}),
        ("Roaming has been switched on for your line.", {"telecom.claim.done"}),
        ("And that one runs 56 a month.", {"telecom.plan.price"}),
        ("$75, that is what the plan costs monthly.", {"telecom.plan.price"}),
        ("I have upgraded your line to another plan.", {"telecom.claim.done"}),
    ],
)
def test_what_an_agent_says(text: str, rules: set[str], tasks: list[dict[str, Any]]) -> None:
    task = next(each for each in tasks if each["id"].startswith("[service_issue]"))
    steps = clean_steps(task)
    added = [*steps[:3], Say("assistant", text), Say("user", "I see."), *steps[3:]]
    assert names(compliance_of("telecom", task, added)) == rules


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


def test_a_user_who_asks_for_data_may_have_it_before_the_limit(tasks: list[dict[str, Any]]) -> None:
    task = next(each for each in tasks if "data_usage_exceeded" not in each["id"])
    call = Do("refuel_data", {"customer_id": CUSTOMER, "line_id": LINE, "gb_amount": 1})
    steps = [
        Say("user", f"Hello. My number is {NUMBER}. Please add 1 GB of data to my line."),
        Do("get_customer_by_phone", {"phone_number": NUMBER}),
        Say("assistant", "1 GB costs $2.00. Shall I add it?"),
        *(Say("user", "Yes."), call, Say("assistant", "Done."), Say("user", "###STOP###")),
    ]
    assert compliance_of("telecom", task, steps).without_breaches_found is True


def test_data_that_no_ticket_permits_leaves_an_agent_only_the_transfer(
    tasks: list[dict[str, Any]],
) -> None:
    task = next(
        each
        for each in tasks
        if each["id"].startswith("[mms_issue]") and "data_mode_off|data_usage" in each["id"]
    )
    transfer = Do("transfer_to_human_agents", {"summary": "more data needs a permission"})
    done = [step for step in solo_steps(task)[:-1] if getattr(step, "name", "") != "refuel_data"]
    stop = Say("assistant", "###STOP###")
    assert (
        compliance_of("telecom", task, [*done, transfer, stop], solo=True).without_breaches_found
        is True
    )
    hasty = compliance_of("telecom", task, [*done[:2], transfer, stop], solo=True)
    assert names(hasty) == {"telecom.transfer.exhausted"}


def test_only_what_the_state_alone_shows_is_proven() -> None:
    graded = {name: rule.is_replayed for name, rule in RULES.items()}
    assert graded["telecom.payment.overdue"] and not graded["telecom.claim.done"]
    assert not graded["telecom.refuel.need"] and not graded["telecom.roaming.abroad"]
