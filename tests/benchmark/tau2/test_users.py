"""Faults of the simulated user that the record shows: an empty turn, and a value from nowhere."""

from copy import deepcopy
from typing import Any

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


def call(name: str, **arguments: str) -> list[dict[str, Any]]:
    """A call of the agent, and an answer: nobody replays it here."""
    made = {"id": "1", "name": name, "arguments": arguments, "requestor": "assistant"}
    answer = {"role": "tool", "id": "1", "requestor": "assistant", "content": "Error: not found"}
    return [{"role": "assistant", "content": None, "tool_calls": [made]}, answer]


def talk(*turns: list[dict[str, Any]] | str) -> dict[str, Any]:
    """A conversation in which both sides speak in turn, the user first, with calls between."""
    messages, speaker = [{"role": "assistant", "content": GREETING}], "user"
    for turn in turns:
        if isinstance(turn, list):
            messages += turn
            continue
        messages.append({"role": speaker, "content": turn})
        speaker = "assistant" if speaker == "user" else "user"
    return {"task_id": TASK, "termination_reason": "user_stop", "messages": messages}


def findings(
    simulation: dict[str, Any], told: str | None = None, **keywords: bool
) -> tuple[Finding, ...]:
    raw = deepcopy(load_raw_task("library", TASK))
    if told is not None:
        raw["user_scenario"]["instructions"]["task_instructions"] = told
    return user_findings(open_case(simulation, "library", raw, **keywords))


def kinds(simulation: dict[str, Any], told: str | None = None) -> list[str]:
    return [each.kind for each in findings(simulation, told)]


@pytest.mark.data
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_nothing_is_found_in_gold_conversations(domain, tau2_data):
    for raw in load_raw_tasks(domain)[::5]:
        assert user_findings(open_case(staged(domain, raw), domain, raw)) == ()


def test_an_id_that_nobody_gave_is_invented():
    looked_up = call("get_member", card_number="B 9999 0000")

    (found,) = findings(talk(OPENING, "Which card?", "It is B 9999 0000.", looked_up, "Hm."))

    assert (found.source, found.who, found.grade) == ("user", "user", "proven")
    assert (found.kind, found.message) == ("invented fact", 3)
    told = "Your card is B 9999 0000."
    assert kinds(talk(OPENING, "Which?", "It is B 9999 0000.", looked_up, "Hm."), told) == []
    asked = talk(OPENING, "Is it B 9999 0000?", "Yes, B 9999 0000.", looked_up, "Hm.")
    assert kinds(asked) == []


def test_an_empty_turn_is_a_fault_in_any_language():
    said = "Guten Tag, ich möchte bitte mein Buch verlängern und habe leider keine Karte dabei."

    assert kinds(talk(OPENING, ASKED, "", "Are you there?")) == ["said nothing"]
    assert kinds(talk(said, said, "", said)) == ["said nothing"]


def test_an_agent_that_works_alone_has_no_user():
    assert findings(talk("", ASKED), solo=True) == ()
