"""A reply is a yes, a no, or neither; and it is one to a call that was described."""

from pathlib import Path

import pytest

from maseval.benchmark.tau2.review.policy.confirming import (
    explicit_yes,
    find_consent,
    names,
    spell_date,
)
from maseval.benchmark.tau2.review.policy.rules import Broken, CannotTell
from maseval.benchmark.tau2.review.replies import Meaning, evades, read_reply
from maseval.benchmark.tau2.review.talk import CallMoment, Talk

CANCEL = {"name": "cancel_reservation", "arguments": {"reservation_id": "EHGLP3"}}
BAGS = {
    "name": "update_reservation_baggages",
    "arguments": {"reservation_id": "EHGLP3", "total_baggages": 2, "nonfree_baggages": 0},
}
RULE = explicit_yes("airline", "top", ["cancel_reservation", "update_reservation_baggages"])
PROPOSAL = "I will cancel reservation EHGLP3 and refund $120. Do you confirm (yes/no)?"


REPLIES = Path(__file__).with_name("replies.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", REPLIES)
def test_a_reply_to_a_proposal_means_what_its_reader_says(line):
    """A line is a meaning and a reply; ``EVADES`` is one without any word of agreement."""
    meaning, _, text = line.partition(" ")
    for each in (text, text.upper()):
        read = read_reply(each, CANCEL["name"])
        evading = read is Meaning.UNCLEAR and evades(each)
        assert ("EVADES" if evading and meaning != "UNCLEAR" else read.name) == meaning


def conversation(*texts, before=()):
    """Texts of user and agent in turn, and a moment after them; ``before`` are answered calls."""
    messages = [
        {"role": "assistant" if number % 2 else "user", "content": text}
        for number, text in enumerate(texts)
    ]
    for call, answer in before:
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "id": "", "content": answer})
    return messages


def answers(messages, call=CANCEL):
    moment = CallMoment(call, len(messages), None, None, Talk(messages), "")
    return list(RULE.check(moment))


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["Please cancel my reservation EHGLP3 because I am ill, my id is mia_li_3668."],
        ["Cancel EHGLP3", "Could you tell me your user id?", "mia_li_3668"],
        ["Cancel EHGLP3", PROPOSAL, "No, keep it."],
        ["Cancel EHGLP3", PROPOSAL, "What would I get back?"],
        ["Cancel EHGLP3", "Shall I add two bags to your trip?", "Yes, please."],
    ],
)
def test_acting_without_a_yes_is_a_breach(texts):
    [found] = answers(conversation(*texts))

    assert isinstance(found, Broken)


def test_a_yes_about_another_record_is_none():
    seen = [({"name": "get_reservation_details", "arguments": {}}, '{"reservation_id": "AAAAA1"}')]
    texts = conversation("Cancel AAAAA1", before=seen)
    texts += [
        {"role": "assistant", "content": PROPOSAL.replace("EHGLP3", "AAAAA1")},
        {"role": "user", "content": "yes"},
    ]

    [found] = answers(texts)

    assert found.text == "the user's last words before the call are about something else"


def test_one_yes_covers_the_actions_it_was_asked_for_and_no_other():
    both = "I will cancel reservation EHGLP3 and then add a bag to VAAOXJ. Shall I proceed?"
    done = [(CANCEL, '{"reservation_id": "EHGLP3", "status": "cancelled"}')]
    bags = {**BAGS, "arguments": {**BAGS["arguments"], "reservation_id": "VAAOXJ"}}

    assert answers(conversation("Hello", both, "yes", before=done), bags) == []
    assert answers(conversation("Hello", PROPOSAL, "yes", before=done), BAGS) != []


def test_a_refused_call_may_be_repaired_and_a_done_one_is_not_repeated():
    texts = ["Cancel EHGLP3", PROPOSAL, "yes", "One moment please.", "Thank you, I am here."]
    refused = [(CANCEL, "Error: busy")]

    assert answers(conversation(*texts, before=refused)) == []
    assert answers(conversation(*texts, before=[(CANCEL, "{}")])) != []


def test_an_older_yes_ends_with_a_no():
    texts = ["Hi", PROPOSAL, "yes", PROPOSAL, "No, stop.", "Anything else?", "What is the weather?"]

    [found] = answers(conversation(*texts))

    assert isinstance(found, Broken)


def test_a_condition_leaves_it_open():
    [found] = answers(conversation("Hi", PROPOSAL, "Yes, if that is free of charge."))

    assert isinstance(found, CannotTell)


def test_a_yes_counts_beside_a_token_that_ends_the_conversation():
    talk = Talk(conversation("Hi", PROPOSAL, "Yes, please. ###STOP###"))

    assert find_consent(CallMoment(CANCEL, 3, None, None, talk)).given


def test_dates_are_spelled_as_people_do():
    for text in ("may 20", "may 20th", "the 20th of may", "2024-05-20", "5/20", "may 20, 2024"):
        assert any(names(text, each) for each in spell_date("2024-05-20"))
