"""Leaves before what the user has agreed to, or was asked to do, is done."""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2 import words
from maseval.benchmark.tau2.formats.message import OUT_OF_SCOPE, TRANSFER
from maseval.benchmark.tau2.users.finding import FaultKind, UserFault
from maseval.benchmark.tau2.users.part import UserPart
from maseval.benchmark.tau2.users.steps import steps_asked_for

# A sentence that waits for an answer; others speak of confirming something later.
_EXPECTS = re.compile(
    r"\?|\bplease (?:confirm|reply|respond|let)|\breply\b|\byes\b|\bshall i\b|\bshould i\b",
    re.IGNORECASE,
)
_ORDERS = re.compile(r"\bplease (?!let)\w+|\bgo ahead\b|\bproceed\b|\bi confirm\b", re.IGNORECASE)


def left_before_the_write(part: UserPart) -> Iterator[UserFault]:
    """Yield the user's leave, if it says yes with it, or leaves a question or a step open."""
    messages = part.talk.messages
    if not messages or messages[-1]["role"] != "user" or part.was_transferred:
        return
    content, at = messages[-1].get("content") or "", len(messages) - 1
    asked = part.question_before(at)
    if part.ending != "user_stop" or asked is None or OUT_OF_SCOPE in content:
        return
    if TRANSFER in content and words.speaks_of_a_transfer(asked.text):
        return
    if any(made.message_index > asked.message_index for made in part.talk.calls):
        return  # what was asked for has been done
    reply = words.plain(content)
    how = _left_open(part, asked.text, reply)
    if how is not None:
        text = f"the user {how}, asked in message {asked.message_index}"
        yield UserFault(FaultKind.LEFT, text, at, content)


def _left_open(part: UserPart, asked: str, reply: str) -> str | None:
    if words.refusal(asked) or words.wants_a_human(reply):
        return None
    agreed = words.agrees(reply) and not words.narrows(reply)
    if _waits_for_a_yes(asked) and (agreed or not reply):
        return "says yes and leaves with it" if reply else "leaves without an answer"
    if agreed and _ORDERS.search(reply) and asked.rstrip().endswith("?"):
        return None if words.closes(asked) else "says yes and leaves with it"
    said_no_more = not reply or (words.says_goodbye(reply) and not words.declines(reply))
    if said_no_more and steps_asked_for(part, asked):
        return "leaves without taking the step"
    return None


def _waits_for_a_yes(text: str) -> bool:
    asked = (each for each in words.sentences(text) if words.asks(each) and _EXPECTS.search(each))
    return any(not words.closes(each) for each in asked)
