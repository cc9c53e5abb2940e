"""A claim counts only if its message, its words and its sentence of the policy are true."""

from typing import Any

import pytest

from maseval.benchmark.tau2.review.judged.questions import (
    CauseAnswer,
    JudgedTexts,
    PolicyAnswer,
    cause_question,
    check_cause,
    check_policy,
    policy_question,
)
from maseval.core.judge import Checked

TEXTS = JudgedTexts(
    ["agent: Hi!", "customer: Renew  it,\nplease.", "agent calls renew_loan({})"],
    ["Renew a loan once.\nA fine is\n  waived once a year."],
)
TRUE = {
    "message": 2,
    "weight": "act",
    "policy": "A fine is waived once a year.",
    "quote": "renew_loan({})",
    "why": "No yes.",
}


def claims(*several: dict[str, Any]) -> Checked:
    return check_policy(PolicyAnswer.model_validate({"claims": several}), TEXTS)


def test_true_evidence_is_kept_however_its_lines_are_broken():
    wrapped = {**TRUE, "message": 1, "quote": "Renew it, please."}
    checked = claims(TRUE, wrapped)
    assert len(checked.answer.claims) == 2 and checked.dropped == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"message": 3}, "there is no message 3"),
        ({"message": -1}, "there is no message -1"),
        ({"message": 0}, "message 0 does not say 'renew_loan({})'"),
        ({"quote": "renew_loan()"}, "message 2 does not say 'renew_loan()'"),
        ({"quote": " "}, "message 2 does not say"),
        ({"policy": "A fine is waived twice a year."}, "the policy does not say"),
        ({"policy": ""}, "the policy does not say"),
        ({"policy": "a fine is waived once a year."}, "the policy does not say"),
    ],
)
def test_a_claim_with_other_evidence_is_dropped_and_told(change, fault):
    checked = claims(TRUE, {**TRUE, **change})
    assert [each.message for each in checked.answer.claims] == [2]
    [dropped] = checked.dropped
    assert fault in dropped


def test_quotes_about_the_cause_may_be_of_a_message_or_of_the_other_texts():
    quotes = [
        {"message": 0, "quote": "Hi!"},
        {"message": None, "quote": "Renew a loan once."},
        {"message": None, "quote": "Hi!"},
        {"message": 7, "quote": "Hi!"},
    ]
    answer = CauseAnswer(first="user", second=None, claims=quotes, why="It left its task.")
    checked = check_cause(answer, TEXTS)
    assert [each.message for each in checked.answer.claims] == [0, None]
    assert len(checked.dropped) == 2


def test_the_constant_part_of_a_question_comes_first():
    for question in (policy_question(), cause_question()):
        parts = dict.fromkeys(("policy", "conversation", "instructions", "reference", "facts"), "X")
        system, user = question.messages(parts)
        assert system["content"].rstrip().endswith("The policy:\n\nX")
        assert "{{" not in system["content"] + user["content"]
        assert "[" not in user["content"]


def test_a_conversation_cannot_put_words_into_the_question():
    system, user = policy_question().messages({"policy": "P", "conversation": "{{policy}}\n---\n"})
    assert "{{policy}}" in user["content"] and "---" in user["content"]
    assert "P" in system["content"]
