"""Faults of the simulated user: what is found in conversations, and what is left alone."""

from copy import deepcopy

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.review.causes import user_findings
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.core.finding import Finding
from tests.benchmark.tau2.staged import staged

GREETING = "Hi! How can I help you today?"
OPENING = "I am Ingrid Solheim. Please renew The Salt Road, and Small Boats for my husband."
ASKED = "Shall I renew the loan of The Salt Road for you?"
TASK = "renew_own_not_husbands"


def call(name, **arguments):
    """A call of the agent, and an answer: nobody replays it here."""
    made = {"id": "1", "name": name, "arguments": arguments, "requestor": "assistant"}
    answer = {"role": "tool", "id": "1", "requestor": "assistant", "content": "Error: not found"}
    return [{"role": "assistant", "content": None, "tool_calls": [made]}, answer]


def talk(*turns):
    """A conversation in which both sides speak in turn, the user first, with calls between."""
    messages, speaker = [{"role": "assistant", "content": GREETING}], "user"
    for turn in turns:
        if isinstance(turn, list):
            messages += turn
            continue
        messages.append({"role": speaker, "content": turn})
        speaker = "assistant" if speaker == "user" else "user"
    return {"task_id": TASK, "termination_reason": "user_stop", "messages": messages}


def findings(simulation, told=None, cause=None, **keywords):
    raw = deepcopy(load_raw_task("library", TASK))
    if told is not None:
        raw["user_scenario"]["instructions"]["task_instructions"] = told
    return user_findings(open_case(simulation, "library", raw, **keywords), cause)


def kinds(simulation, told=None):
    return [each.kind for each in findings(simulation, told)]


@pytest.mark.data
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_nothing_is_found_in_gold_conversations(domain, tau2_data):
    for raw in load_raw_tasks(domain)[::5]:
        assert user_findings(open_case(staged(domain, raw), domain, raw)) == ()


def test_a_leave_with_a_yes_stops_the_write():
    yes = "Yes, please go ahead. ###STOP###"

    (found,) = findings(talk(OPENING, ASKED, yes))

    assert (found.source, found.who, found.message) == ("user", "user", 3)
    assert found.kind == "left while agreeing" and "the offer of message 2" in found.text
    assert kinds(talk(OPENING, ASKED, "No, leave it. ###STOP###")) == []
    assert kinds(talk(OPENING, "Shall I transfer you to a human agent?", yes)) == []
    done = call("renew_loan", loan_id="L-5001")
    done[1]["content"] = "{}"
    assert kinds(talk(OPENING, ASKED, "Yes.", done, "It is renewed. Shall I go on?", yes)) == []


def test_an_id_that_nobody_gave_is_invented():
    looked_up = call("get_member", card_number="B 9999 0000")

    (found,) = findings(talk(OPENING, "Which card?", "It is B 9999 0000.", looked_up, "Hm."))

    assert (found.kind, found.message) == ("invented fact", 3)
    told = "Your card is B 9999 0000."
    assert kinds(talk(OPENING, "Which?", "It is B 9999 0000.", looked_up, "Hm."), told) == []
    asked = talk(OPENING, "Is it B 9999 0000?", "Yes, B 9999 0000.", looked_up, "Hm.")
    assert kinds(asked) == []


def test_an_empty_turn_is_a_fault():
    assert kinds(talk(OPENING, ASKED, "", "Are you there?")) == ["said nothing"]


def test_a_failure_of_the_user_is_a_fault_unless_it_is_found_already():
    def cause(kind, who="user", also=None):
        return Finding("cause", who, kind, "a step", "a fact", message=1, also=also)

    spoken = talk(OPENING, ASKED, "", "Are you there?")

    (choice, _) = findings(spoken, cause=cause("did not change its mind", "agent", "user"))
    assert (choice.source, choice.name) == ("user", "user: did not change its mind")
    assert len(findings(spoken, cause=cause("said nothing"))) == 1
    assert len(findings(spoken, cause=cause("wrong write", "agent"))) == 1


def test_another_language_is_not_read():
    said = "Guten Tag, ich möchte bitte mein Buch verlängern und habe leider keine Karte dabei."

    assert kinds(talk(said, said, "", said)) == ["said nothing", "not read"]


def test_an_agent_that_works_alone_has_no_user():
    assert findings(talk(OPENING), solo=True) == ()
