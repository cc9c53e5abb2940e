"""The rules are asked at the right moment, and no answer is lost."""

from dataclasses import replace

import pytest

from maseval.benchmark.tau2.review.policy import check_case, check_gold
from maseval.benchmark.tau2.review.policy.checking import BROKE, DEMANDED, TRIED
from maseval.benchmark.tau2.review.policy.confirming import (
    explicit_yes,
    no_text_beside_a_call,
    one_call_at_a_time,
)
from maseval.benchmark.tau2.review.policy.rules import Broken, CannotTell, Kind, rule, talk_rule
from maseval.benchmark.tau2.review.talk import Talk
from maseval.benchmark.tau2.scoring.case import open_case
from tests.benchmark.tau2.todo_list import CREATE, task, todo_list

PLACE = "Tasks"


def state_rule(check, name="todo.state"):
    return rule(name, Kind.STATE, place=PLACE, tools=["create_task"])(check)


def conversation(*messages, raw):
    return {
        "id": "one",
        "task_id": raw["id"],
        "trial": 0,
        "messages": [dict(each) for each in messages],
        "termination_reason": "user_stop",
        "start_time": "2025-01-01T10:00:00",
        "end_time": "2025-01-01T10:00:01",
    }


def say(role, text):
    return {"role": role, "content": text}


def make(title, at=0, answer=None, **arguments):
    call = {"id": f"c{at}", "name": "create_task", "arguments": {"user_id": "user_1", **arguments}}
    call["arguments"]["title"] = title
    call["requestor"] = "assistant"
    answer = answer or '{"task_id": "task_2"}'
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "id": f"c{at}", "content": answer, "requestor": "assistant"},
    ]


@pytest.fixture
def check(tmp_path):
    """Ask rules about the messages of a conversation about a list of things to do."""

    raw = task(CREATE)
    plain = todo_list(tmp_path, raw)

    def asked(rules, *messages, solo=False):
        domain = replace(plain, rules=rules)
        return check_case(open_case(conversation(*messages, raw=raw), domain, raw, solo=solo))

    return asked


def always_broken(moment):
    """Nothing is ever right."""
    yield Broken("this is wrong", {"title": moment.arguments["title"]})


def raises(moment):
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


def test_a_conversation_in_another_language_cannot_be_told(check):
    rules = [explicit_yes("todo", PLACE, ["create_task"]), state_rule(lambda moment: [])]
    german = (
        "Guten Tag, ich möchte gern eine neue Aufgabe anlegen lassen, und zwar für morgen früh, "
        "damit ich sie nicht vergesse und rechtzeitig erledigen kann."
    )
    found = check(rules, say("user", german), *make("one"))
    assert [each.text for each in found.undecided] == ["the conversation is not in English"]
    assert found.without_breaches_found is None and found.breaches == ()


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
    ("user", "agent"),
    [
        ("你好我想取消我的订单", "好的请告诉我您的订单号"),
        ("Здравствуйте, отмените мой заказ", "Хорошо"),
        (
            "Bonjour, je voudrais annuler ma réservation car je ne peux plus voyager la semaine "
            "prochaine pour des raisons de santé.",
            "Bien sûr.",
        ),
    ],
)
def test_another_language_is_told_by_its_words_or_its_script(user, agent):
    assert not Talk([say("user", user), say("assistant", agent)]).is_english


def test_a_list_of_records_is_no_other_language():
    rows = "\n".join(
        f"- Visa Gold Checking ACC{n} Pending Zurich Merchant Alpha" for n in range(20)
    )
    talk = Talk(
        [
            say("user", "I want to see my accounts."),
            say("assistant", f"These are your accounts, and the balance of each: {rows}"),
        ]
    )
    assert talk.is_english


@pytest.mark.parametrize("text", ["", "ok", "12345", "👍 👍"])
def test_few_words_are_no_other_language(text):
    assert Talk([say("user", text)]).is_english


def test_what_is_known_before_a_message_is_what_was_said_and_answered(check):
    talk = Talk([say("user", "early"), *make("one", answer="an answer"), say("user", "late")])
    assert talk.known_before(3) == "early\nan answer\n"
    assert talk.known_before(1) == "early\n"
    assert talk.known_before(0) == "" and talk.known_before(9).endswith("late\n")
    assert talk.is_known_before("answer", 3) and not talk.is_known_before("answer", 1)
