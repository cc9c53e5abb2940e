"""Faults of the simulated user: what is found in conversations, and what is left alone."""

import random
from copy import deepcopy
from types import SimpleNamespace

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.review.users import FaultKind, check_user
from maseval.benchmark.tau2.review.users.checking import LANGUAGE_NOT_READ, NO_USER
from maseval.benchmark.tau2.review.users.steps import steps_asked_for
from tests.benchmark.tau2.injected.blaming import DOMAINS, faults_of
from tests.benchmark.tau2.injected.finding import found_in_gold, found_with, is_found

GREETING = "Hi! How can I help you today?"
ENOUGH = 4


def task(told=None, **more):
    """A task of the library, with other words to its user."""
    raw = deepcopy(load_raw_task("library", "renew_own_not_husbands"))
    if told is not None:
        raw["user_scenario"]["instructions"] |= {"task_instructions": told, **more}
    return raw


def talk(*turns, reason="user_stop"):
    """A conversation in which both sides speak in turn, the user first."""
    messages = [{"role": "assistant", "content": GREETING}]
    for number, turn in enumerate(turns):
        messages.append({"role": "assistant" if number % 2 else "user", "content": turn})
    return {
        "task_id": "renew_own_not_husbands",
        "termination_reason": reason,
        "messages": messages,
    }


def kinds(simulation, raw=None, domain="library"):
    found = check_user(simulation, domain=domain, task=raw or task())
    return [each.kind for each in found.faults]


OPENING = "I am Ingrid Solheim. Please renew The Salt Road, and Small Boats for my husband."
ASKED = "Shall I renew The Salt Road for you?"


@pytest.mark.parametrize("domain", DOMAINS)
def test_nothing_is_found_in_gold_conversations(domain, tau2_data):
    found = [found_in_gold(domain, each) for each in load_raw_tasks(domain)[::5]]

    assert [each.faults for each in found if each is not None and each.faults] == []


@pytest.mark.parametrize(
    ("domain", "fault"),
    [(domain, each) for domain in DOMAINS for each in faults_of(domain) if each.who == "user"],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_fault_that_was_written_in_is_found(domain, fault, tau2_data):
    tasks = load_raw_tasks(domain)
    tried = 0
    for raw in random.Random(fault.name).sample(tasks, len(tasks)):
        found = found_with(fault, domain, raw, random.Random(f"{fault.name} {raw['id']}"))
        if found is None:
            continue
        tried += 1
        if is_found(fault, found):
            return
        assert tried < ENOUGH


def test_a_fault_names_its_message_and_the_words():
    found = check_user(
        talk(OPENING, "Which card is it?", "My e-mail is ingrid@example.com."),
        domain="library",
        task=task(),
    )
    (fault,) = found.faults

    assert (fault.kind, fault.message_index) == (FaultKind.INVENTED, 3)
    assert "ingrid@example.com" in fault.text and "My e-mail is" in fault.quote


def test_a_value_that_somebody_gave_is_not_invented():
    asked = "Is ingrid@example.com still right?"

    assert kinds(talk(OPENING, asked, "Yes, ingrid@example.com is right.")) == []
    told = task("Your e-mail is ingrid@example.com.")
    assert kinds(talk(OPENING, GREETING, "It is ingrid@example.com."), told) == []
    assert kinds(talk(OPENING, GREETING, "It is not ingrid@example.com.")) == []


def test_a_date_of_birth_in_other_words_is_known():
    assert kinds(talk(f"{OPENING} I was born on June 2, 1984.")) == []
    assert kinds(talk(f"{OPENING} I was born on June 3, 1984.")) == [FaultKind.INVENTED]


def test_a_date_nobody_gave_is_invented_unless_it_can_be_worked_out():
    said = talk(OPENING, "When was that?", "It was on October 15th.")

    assert kinds(said) == [FaultKind.INVENTED]
    assert kinds(said, task("You borrowed it a day before October 16.")) == []
    assert kinds(said, task("Make up a story about when you borrowed it.")) == []


def test_a_circumstance_that_moves_a_policy_must_be_in_the_task():
    said = talk(OPENING, "Why?", "Because I was sick in February.")

    assert kinds(said) == [FaultKind.INVENTED]
    assert kinds(said, task("You were in hospital in February.")) == []
    assert kinds(talk(OPENING, "Why?", "I was not sick.")) == []


def test_a_leave_with_a_yes_is_too_early():
    for leave in ("Yes, please go ahead. ###STOP###", "###STOP###"):
        assert kinds(talk(OPENING, ASKED, leave)) == [FaultKind.LEFT]
    for leave in ("No, leave it. ###STOP###", "Yes, and only that, actually. ###STOP###"):
        assert kinds(talk(OPENING, ASKED, leave)) == []
    closing = "It is done. Would you like anything else?"
    assert kinds(talk(OPENING, closing, "That is all. ###STOP###")) == []


def test_the_token_of_a_transfer_before_the_transfer_is_too_early():
    yes = "Yes, please transfer me. ###TRANSFER###"

    assert kinds(talk(OPENING, "Shall I transfer you to a human agent?", yes)) == [FaultKind.LEFT]
    made = "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON."
    assert kinds(talk(OPENING, made, "###TRANSFER###")) == []
    assert kinds(talk(OPENING, "I will transfer you now.", "Thanks. ###TRANSFER###")) == []


def test_a_wish_without_a_condition_has_to_be_said():
    told = "You also want to know the shelf mark of the dictionary."
    said = talk("Please renew my novel.", "It is renewed.", "That is all. ###STOP###")

    assert kinds(said, task(told, reason_for_call="")) == [FaultKind.UNSAID]
    under = f"If the agent is friendly: {told}"
    assert kinds(said, task(under, reason_for_call="")) == []
    asked = talk("Renew it. And the shelf mark?", "It is 8 B.", "Thanks. ###STOP###")
    assert kinds(asked, task(told, reason_for_call="")) == []


def test_what_is_to_be_kept_is_not_told_unasked():
    told = task(
        "You pay with the bank card ending in 7334 (only provide this when the agent asks)."
    )
    said = f"{OPENING} My bank card ends in 7334."

    assert kinds(talk(said), told) == [FaultKind.TOLD]
    asked = "How do you pay? With a bank card?"
    assert kinds(talk(OPENING, asked, "With the one that ends in 7334."), told) == []


def test_a_transfer_that_the_task_forbids_is_not_asked_for():
    told = task("Under no circumstances do you want to be transferred.")

    wish = talk(OPENING, "I cannot do that.", "Then please transfer me to a human agent.")
    assert kinds(wish, told) == [FaultKind.CHOICE]
    for no in ("Please don't transfer me.", "Please, stop trying to transfer me!"):
        assert kinds(talk(OPENING, "I cannot do that.", no), told) == []
    assert kinds(wish) == []


def test_the_limit_of_the_task_holds():
    told = task("You are willing to pay up to $100 for the change.")
    offer = "The total cost is ${}. Shall I proceed?"

    dear = talk(OPENING, offer.format(114), "Yes, please proceed.", "It is done.")
    assert kinds(dear, told) == [FaultKind.CHOICE]
    assert kinds(talk(OPENING, offer.format(90), "Yes, please proceed.", "Done."), told) == []
    assert kinds(talk(OPENING, offer.format(114), "No, that is too much.", "Well."), told) == []


def test_a_report_needs_a_look(tau2_data):
    raw = next(each for each in load_raw_tasks("telecom") if "airplane" in each["id"])
    raw = {**raw, "evaluation_criteria": {**raw["evaluation_criteria"], "actions": []}}
    said = ["My data does not work.", "What does the status bar show?", "The status bar shows 5G."]

    assert kinds(talk(*said), raw, "telecom") == [FaultKind.BLIND]
    looked = talk(*said)
    call = {"id": "1", "name": "check_status_bar", "arguments": {}, "requestor": "user"}
    looked["messages"][3:3] = [
        {"role": "user", "content": None, "tool_calls": [call]},
        {"role": "tool", "id": "1", "requestor": "user", "content": "Status Bar: 5G"},
    ]
    assert kinds(looked, raw, "telecom") == []
    unsure = talk(*said[:2], "I am not sure what the status bar shows.")
    assert kinds(unsure, raw, "telecom") == []


def test_an_empty_turn_and_the_role_of_the_agent_are_faults():
    assert kinds(talk(OPENING, ASKED, "", "Are you there?")) == [FaultKind.SILENT]
    role = "Great! Is there anything else I can help you with?"
    assert kinds(talk(OPENING, "It is renewed.", role)) == [FaultKind.ROLE]


def test_another_language_is_not_read():
    said = "Guten Tag, ich möchte bitte mein Buch verlängern und habe leider keine Karte dabei."
    found = check_user(talk(said, said, "", said), domain="library", task=task())

    assert [each.kind for each in found.faults] == [FaultKind.SILENT]
    assert found.unreadable == LANGUAGE_NOT_READ


def test_an_agent_that_works_alone_has_no_user():
    found = check_user(talk(OPENING), domain="library", task=task(), solo=True)

    assert (found.faults, found.unreadable) == ((), NO_USER)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("Please simply wait a moment.", []),
        ("Could you take out your SIM and put it back?", ["reseat_sim_card"]),
        ("Please disconnect from all VPNs.", ["connect_vpn", "disconnect_vpn"]),
    ],
)
def test_a_step_is_asked_for_by_a_whole_word(text, steps):
    part = SimpleNamespace(setting=SimpleNamespace(domain=domain_named("telecom")))
    assert steps_asked_for(part, text) == steps
