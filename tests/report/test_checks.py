from typing import Any

import pytest

from maseval.core.outcome import RecordedReport
from maseval.report.checks import shown_verdicts
from maseval.report.conversation import conversation
from tests.report.builders import report, reward_info, simulated


def verdict_on(finished: dict[str, Any]) -> dict[str, Any]:
    parsed = RecordedReport(finished)
    (verdict,) = shown_verdicts(parsed, conversation(parsed))
    return verdict


def checks_of(**found: Any) -> dict[str, Any]:
    finished = simulated(eval=[{"reward_info": reward_info(**found)}])
    return {check["kind"]: check for check in verdict_on(finished)["checks"]}


def test_every_check_says_whether_it_counts():
    verdict = verdict_on(simulated(reward=0.0))

    assert verdict["basis"] == [("DB", 0.0)]
    assert [(check["kind"], check["met"], check["counts"]) for check in verdict["checks"]] == [
        ("DB", False, True),
        ("ACTION", True, False),
        ("COMMUNICATE", False, False),
    ]
    assert verdict["checks"][2]["evidence"] == "Information '42' not communicated."


def test_a_failed_check_of_the_end_state_does_not_say_that_it_equals_the_reference():
    names = [verdict_on(simulated(reward=reward))["checks"][0]["name"] for reward in (1.0, 0.0)]

    assert names == [
        "the end state equals that of the reference",
        "the end state differs from that of the reference",
    ]


@pytest.mark.parametrize(
    ("order", "compared", "message"), [("#W1", None, 4), ("#W2", None, None), ("#W2", [], 4)]
)
def test_a_reference_action_points_to_the_message_that_made_it(order, compared, message):
    action = {
        **{"name": "cancel_order", "requestor": "assistant"},
        **{"arguments": {"order_id": order}, "compare_args": compared},
    }
    check = checks_of(action_checks=[{"action": action, "action_match": True}])["ACTION"]
    assert check["message"] == message


def test_an_assertion_reads_like_a_call():
    claim = {
        "env_type": "user",
        "func_name": "assert_mobile_data_status",
        "arguments": {"expected_status": True},
        "assert_value": False,
    }
    check = checks_of(env_assertions=[{"env_assertion": claim, "met": False}])["ENV_ASSERTION"]
    assert check["name"] == "user: assert_mobile_data_status(expected_status=true) is false"


def test_a_conversation_that_cannot_be_replayed_says_where():
    problem = {"error": "differs at message 5", "expected": "A", "found": "B"}
    finished = simulated(eval=[{"reward_info": reward_info(info={"replay_error": problem})}])
    assert verdict_on(finished)["notes"] == [
        "The conversation cannot be replayed: differs at message 5",
        "expected: A",
        "found: B",
    ]


def test_any_other_verdict_is_shown_as_it_was_returned():
    finished = report(eval=[{"passed": True, "booked": {"Ash": [10]}}])
    assert verdict_on(finished) == {"returned": [("passed", "true"), ("booked", '{"Ash": [10]}')]}


def test_judged_assertions_are_shown_one_by_one_and_undecided_ones_do_not_count():
    rows = [
        {"assertion": "told", "answer": "True", "evidence": "turn 1", "assertion_type": "user"},
        {"assertion": "booked", "answer": "FALSE", "evidence": "", "assertion_type": "system"},
        {"assertion": "paid", "answer": "N/A", "assertion_type": "system"},
    ]
    coverage = {"assertions": 4, "rows": 2}
    errors = {"user": "no JSON"}
    verdict = {"report": rows, "judge_errors": errors, "coverage": {"system": coverage}}
    (shown,) = shown_verdicts(RecordedReport({"eval": [verdict]}), [])
    assert [
        (check["kind"], check["name"], check["met"], check["counts"], check["evidence"])
        for check in shown["checks"]
    ] == [
        ("USER", "told", True, True, "turn 1"),
        ("SYSTEM", "booked", False, True, None),
        ("SYSTEM", "paid", False, False, None),
    ]
    assert shown["notes"] == [
        "the judge's answer about the user side cannot be read: no JSON",
        "the judge answered 2 of 4 assertions of system",
    ]


def test_checks_of_any_evaluator_are_shown_one_by_one():
    given = [
        {"name": "the door is shut", "met": True, "kind": "world"},
        {"name": "nobody was told", "met": False, "evidence": "message 3", "counts": False},
    ]

    shown = verdict_on(simulated(eval=[{"passed": True, "checks": given}]))["checks"]

    assert [(each["kind"], each["met"], each["counts"]) for each in shown] == [
        ("world", True, True),
        ("check", False, False),
    ]
    assert shown[1]["evidence"] == "message 3"


def test_checks_of_another_shape_are_shown_as_they_were_returned():
    shown = verdict_on(simulated(eval=[{"passed": True, "checks": ["all"]}]))

    assert ("passed", "true") in shown["returned"]
