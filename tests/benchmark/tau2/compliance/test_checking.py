"""The rules are asked at the right moment, and no answer is lost."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.review.policy import check_case, check_gold
from maseval.benchmark.tau2.review.policy.checking import BROKE, DEMANDED, TRIED
from maseval.benchmark.tau2.review.policy.confirming import (
    explicit_yes,
    no_text_beside_a_call,
    one_call_at_a_time,
)
from maseval.benchmark.tau2.review.policy.rules import (
    Broken,
    CannotTell,
    Kind,
    Rule,
    rule,
    talk_rule,
)
from maseval.benchmark.tau2.review.talk import CallMoment, Talk
from maseval.benchmark.tau2.review.values import has_date, is_said, normalise
from maseval.benchmark.tau2.scoring.case import open_case
from tests.benchmark.tau2.todo_list import CREATE, task, todo_list

PLACE = "Tasks"


def state_rule(check: Callable[..., Any], name: str = "todo.state") -> Rule:
    return rule(name, Kind.STATE, place=PLACE, tools=["create_task"])(check)


def conversation(*messages: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "one",
        "task_id": raw["id"],
        "trial": 0,
        "messages": [dict(each) for each in messages],
        "termination_reason": "user_stop",
        "start_time": "2025-01-01T10:00:00",
        "end_time": "2025-01-01T10:00:01",
    }


def say(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def make(
    title: str, at: int = 0, answer: str | None = None, **arguments: Any
) -> list[dict[str, Any]]:
    call = {"id": f"c{at}", "name": "create_task", "arguments": {"user_id": "user_1", **arguments}}
    call["arguments"]["title"] = title
    call["requestor"] = "assistant"
    answer = answer or '{"task_id": "task_2"}'
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "id": f"c{at}", "content": answer, "requestor": "assistant"},
    ]


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., Any]:
    """Ask rules about the messages of a conversation about a list of things to do."""

    raw = task(CREATE)
    plain = todo_list(tmp_path, raw)

    def asked(rules, *messages, solo=False):
        domain = replace(plain, rules=rules)
        return check_case(open_case(conversation(*messages, raw=raw), domain, raw, solo=solo))

    return asked


def always_broken(moment: CallMoment) -> Iterator[Broken]:
    """Nothing is ever right."""
    yield Broken("this is wrong", {"title": moment.arguments["title"]})


def raises(moment: CallMoment) -> Iterator[Broken]:
    """This rule has a fault."""
    yield Broken("found before the fault")
    raise KeyError("absent")


def test_a_rule_sees_the_world_just_before_the_call(check):
    seen = []

    def look(moment):
        """Look."""
        seen.append(len(moment.tools.db.tasks))
        return []

    check([state_rule(look)], *make("one", 0), *make("two", 1))
    assert seen[-2:] == [1, 2]  # the reference solution was asked about first


def test_a_breach_names_message_call_and_values(check):
    (found,) = check([state_rule(always_broken)], say("user", "hi"), *make("one")).breaches
    assert (found.rule, found.message, found.evidence) == ("todo.state", 1, ("title: one",))
    assert (found.kind, found.grade, found.weight) == (BROKE, "proven", "state")
    assert found.call is not None and found.call.startswith("create_task(")


def test_a_rule_that_raises_loses_nothing_that_it_or_others_found(check):
    rules = [state_rule(raises, "todo.raises"), state_rule(always_broken)]
    found = check(rules, *make("one"))
    assert [each.rule for each in found.breaches] == ["todo.raises", "todo.state"]
    (fault,) = found.failed_rules
    said = "the rule failed: KeyError: 'absent'"
    assert (fault.rule, fault.text, fault.message) == ("todo.raises", said, 0)


def test_a_rule_that_fails_leaves_open_what_it_would_have_found(check):
    def fault(moment):
        """Raise."""
        raise ValueError("no")

    assert check([state_rule(fault)], *make("one")).without_breaches_found is None


def test_a_refused_call_is_tried_and_not_held_against_the_agent(check):
    found = check([state_rule(always_broken)], *make("one", answer="Error: User not found"))
    assert [each.kind for each in found.breaches] == [TRIED]
    assert found.without_breaches_found is True


def test_a_breach_that_the_reference_solution_makes_too_is_demanded(check):
    title = CREATE["arguments"]["title"]
    found = check([state_rule(always_broken)], *make(title), *make("other", 1))
    assert [each.kind for each in found.breaches] == [DEMANDED, BROKE]


def test_the_reference_solution_is_asked_about_state_alone(tmp_path):
    raw = task(CREATE)
    spoken = explicit_yes("todo", PLACE, ["create_task"])
    domain = replace(todo_list(tmp_path, raw), rules=[state_rule(always_broken), spoken])
    case = open_case(conversation(raw=raw), domain, raw)
    found = check_gold(case.setting, "")
    assert [each.rule for each in found.breaches] == ["todo.state"]


ASKED = say("assistant", "Soll ich die Aufgabe anlegen?")


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([say("user", "Hallo"), ASKED, say("user", "Ja"), *make("one")], []),
        ([ASKED, say("user", "Eine Aufgabe"), *make("one")], ["the user was not asked"]),
        (
            [say("user", "Hallo"), ASKED, say("user", "Ja"), *make("one"), *make("one", 1)],
            ["the same was already done"],
        ),
    ],
)
def test_in_any_language_the_user_answers_before_a_call_and_again_before_the_next(
    check, messages, found
):
    breaches = check([explicit_yes("todo", PLACE, ["create_task"])], *messages).breaches
    assert [
        each.text.partition(" before ")[0].partition(" after ")[0] for each in breaches
    ] == found


def test_in_solo_mode_nobody_is_asked_for_a_yes(check):
    found = check([explicit_yes("todo", PLACE, ["create_task"])], *make("one"), solo=True)
    assert found.without_breaches_found is True


def test_a_doubt_leaves_it_open_and_a_breach_decides(check):
    def doubt(moment):
        """Doubt."""
        yield CannotTell("the record does not say")

    assert check([state_rule(doubt)], *make("one")).without_breaches_found is None
    assert (
        check([state_rule(doubt), state_rule(always_broken)], *make("one")).without_breaches_found
        is False
    )


def test_matters_of_form_are_found_and_no_breach_of_substance(check):
    rules = [one_call_at_a_time("todo", PLACE), no_text_beside_a_call("todo", PLACE)]
    both = {**make("one")[0], "content": "Let me do that."}
    both["tool_calls"] = [*both["tool_calls"], make("two", 1)[0]["tool_calls"][0]]
    found = check(rules, both, make("one")[1], make("two", 1)[1])
    assert [each.rule for each in found.breaches] == [
        "todo.form.one_call",
        "todo.form.text_or_call",
    ]
    assert found.without_breaches_found is True


def test_a_domain_without_rules_says_so(check):
    assert "has no rules" in check([], *make("one")).unreadable


def test_a_talk_rule_is_asked_once(check):
    seen = []

    @talk_rule("todo.talk", Kind.PROTOCOL, place=PLACE)
    def listen(talk: Talk):
        """Listen."""
        seen.append([each.text for each in talk.user])
        return []

    check([listen], say("user", "hello"), *make("one"), say("user", "bye ###STOP###"))
    assert seen == [["hello", "bye"]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("mia_li_3668", "it is mia li, thirty-six sixty-eight"),
        ("555-123-2002", "(555) 123 2002"),
        ("5551232002", "triple five, one two three, two oh oh two"),
        ("ana.silva1@example.com", "ana dot silva one at example dot com"),
        ("#W1234567", "\u201cw 123 4567\u201d"),
    ],
)
def test_a_value_is_found_however_it_is_spelled(value, text):
    assert is_said(value, normalise(text))
    assert not is_said(value, "another value, 4711")


def test_a_date_is_found_by_its_parts():
    for text in ("may 20th, 1990", "20/05/1990", "the 20 of may '90", "1990-05-20"):
        assert has_date(text, "1990-05-20"), text
    assert not has_date("may 21, 1990", "1990-05-20") and not has_date("june 20", "1990-05-20")


def test_what_is_known_before_a_message_is_what_was_said_and_answered(check):
    talk = Talk([say("user", "early"), *make("one", answer="an answer"), say("user", "late")])
    assert talk.known_before(3) == "early\nan answer\n"
    assert talk.known_before(1) == "early\n"
    assert talk.known_before(0) == "" and talk.known_before(9).endswith("late\n")
    assert talk.is_known_before("answer", 3) and not talk.is_known_before("answer", 1)
