"""One conversation from two sides of it."""

from typing import Any

import pytest

from maseval.benchmark.tau2.conversation.recording import (
    NoConversationError,
    ending_of,
    merge_conversation,
    read_recording,
)
from maseval.benchmark.tau2.formats.message import (
    AnsweredMessages,
    complete,
    messages_seen_by,
    to_history,
)
from maseval.benchmark.tau2.world.world import calls_with_answers

GREETING = {"role": "assistant", "content": "Hi!"}


def say(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def call(role: str, name: str) -> dict[str, Any]:
    made = {"id": f"{role}-{name}", "name": name, "arguments": {}, "requestor": role}
    return {"role": role, "content": None, "tool_calls": [made]}


def result(role: str, name: str) -> dict[str, str]:
    return {"role": "tool", "id": f"{role}-{name}", "content": f"{name} done", "requestor": role}


WHOLE = [
    GREETING,
    say("user", "It is dark."),
    call("assistant", "look"),
    result("assistant", "look"),
    call("assistant", "paint"),
    result("assistant", "paint"),
    say("assistant", "Press the switch."),
    call("user", "press"),
    result("user", "press"),
    say("user", "Light!"),
    say("assistant", "Fine."),
    say("user", "###STOP###"),
]
AGENT = messages_seen_by(WHOLE, "assistant")[1:-1]
USER = messages_seen_by(WHOLE, "user")


def plain(messages: list[dict[str, Any]]) -> list[tuple[str, str | None, list[str]]]:
    return [
        (each["role"], each["content"], [one["name"] for one in each.get("tool_calls") or ()])
        for each in messages
    ]


@pytest.mark.parametrize("form", [list, to_history], ids=["v0.2.0", "openai"])
@pytest.mark.parametrize("kind", ["user", "users"])
def test_both_sides_make_the_whole(form, kind):
    user = {"messages": form(USER)}
    traces = {
        "agents": {"a": {"messages": [say("system", "Be kind."), *form(AGENT)]}},
        kind: user if kind == "user" else {"customer": user},
    }

    merged = merge_conversation(traces)

    assert plain(merged) == plain(WHOLE)
    assert [each.get("requestor") for each in merged if each["role"] == "tool"] == [
        *("assistant", "assistant", "user")
    ]


@pytest.mark.parametrize("shown", [1, 4, 7, 9, 10, 11])
def test_a_conversation_that_was_cut_off_is_merged_too(shown):
    whole = WHOLE[: shown + 1]
    traces = {
        "agents": {"a": {"messages": messages_seen_by(whole, "assistant")[1:]}},
        "user": {"messages": messages_seen_by(whole, "user")},
    }

    assert plain(merge_conversation(traces)) == plain(whole)


def test_one_side_alone_is_the_whole():
    assert plain(merge_conversation({"agents": {"a": {"messages": AGENT}}})) == plain(AGENT)


def test_texts_in_parts_are_joined():
    parts = [{"type": "text", "text": "It is"}, {"type": "text", "text": "red."}]
    traces = {"agents": {"a": {"messages": [{"role": "assistant", "content": parts}]}}}

    assert merge_conversation(traces)[0]["content"] == "It is\nred."


def test_sides_of_two_conversations_are_an_error():
    traces = {
        "agents": {"a": {"messages": [say("user", "Red."), say("assistant", "Fine.")]}},
        "user": {"messages": [say("user", "Blue."), say("assistant", "Fine.")]},
    }

    with pytest.raises(NoConversationError, match=r"'Red.' where the user has 'Blue.'"):
        merge_conversation(traces)


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (WHOLE, "user_stop"),
        (WHOLE[:-1], "agent_stop"),
        (WHOLE[:-2], "agent_stop"),
        ([*WHOLE[:-1], {**WHOLE[-1], "role": "assistant"}], "agent_stop"),
    ],
)
def test_the_end_is_the_users_if_it_is_the_user_who_says_so(messages, reason):
    assert ending_of(messages) == reason


def read(messages: list[dict[str, Any]]) -> AnsweredMessages | list[dict[str, Any]]:
    return read_recording({"messages": messages}).messages


def test_the_calls_of_a_complete_record_are_found_with_their_answers_while_it_is_checked():
    messages = [complete(each) for each in WHOLE]

    found = read(messages)

    assert isinstance(found, AnsweredMessages)
    assert found == messages
    assert found.calls == list(calls_with_answers(messages))


@pytest.mark.parametrize(
    "messages",
    [
        WHOLE,
        [complete(each) for each in WHOLE[:3]],
        [complete(each) for each in (*WHOLE[:4], WHOLE[3])],
        [complete(each) for each in (*WHOLE[:3], WHOLE[5])],
        [complete(each) for each in (*WHOLE[:3], WHOLE[1], WHOLE[3])],
        [complete(each) for each in (say("system", "Be kind."), *WHOLE)],
    ],
    ids=["missing-keys", "no-answer", "two-answers", "of-another-call", "too-late", "system"],
)
def test_what_is_not_complete_or_in_order_is_left_to_replay(messages):
    found = read(messages)

    assert found is messages
