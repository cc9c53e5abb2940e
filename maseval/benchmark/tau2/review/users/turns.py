"""Turns that are none of a user's: empty, in the agent's place, or the last one too early."""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2.formats.message import OUT_OF_SCOPE, TRANSFER, has_text, is_tool_call
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.users.finding import FaultKind, UserFault
from maseval.benchmark.tau2.review.users.part import UserPart
from maseval.benchmark.tau2.review.users.steps import steps_asked_for

_AGENT = re.compile(
    r"\bhow (?:can|may) i (?:help|assist) you\b|\banything else (?:i can|you need) (?:help|assist)"
    r"|\bi(?:'ve| have) (?:processed|booked|cancell?ed|updated|located) your\b"
    r"|\bi(?:'d| would) be happy to (?:help|assist) you\b"
    r"|\bplease (?:confirm you'd like to proceed|provide your (?:user id|e-?mail|order))\b",
    re.IGNORECASE,
)


def said_nothing(part: UserPart) -> Iterator[UserFault]:
    """Yield the turns in which the user neither spoke nor called a tool."""
    for index, message in enumerate(part.talk.messages):
        if message["role"] == "user" and not has_text(message) and not is_tool_call(message):
            yield UserFault(FaultKind.SILENT, "the user neither speaks nor acts", index)


def spoke_as_the_agent(part: UserPart) -> Iterator[UserFault]:
    """Yield the turns in which the user takes the agent's place."""
    for said in part.talk.user:
        for sentence in words.sentences(said.text):
            if _AGENT.search(sentence):
                text = "the user speaks as the agent would"
                yield UserFault(FaultKind.ROLE, text, said.message_index, sentence)
                break


# A sentence that waits for an answer; others speak of confirming something later.
_EXPECTS = re.compile(
    r"\?|\bplease (?:confirm|reply|respond|let)|\breply\b|\byes\b|\bshall i\b|\bshould i\b",
    re.IGNORECASE,
)
_COMMANDS = re.compile(
    r"\bgo ahead and (?:cancel|book|process|exchange|return|modify|update|change|upgrade|refund)\b"
    r"|\bplease proceed with\b",
    re.IGNORECASE,
)
_ORDERS = re.compile(r"\bplease (?!let)\w+|\bgo ahead\b|\bproceed\b|\bi confirm\b", re.IGNORECASE)


def left_before_the_write(part: UserPart) -> Iterator[UserFault]:
    """Yield the user's leave, if it says yes with it, or leaves a question or a step open.

    The token of a transfer is for when it has been made.
    """
    messages = part.talk.messages
    if not messages or messages[-1]["role"] != "user" or part.was_transferred:
        return
    content, at = messages[-1].get("content") or "", len(messages) - 1
    asked = part.question_before(at)
    if part.ending != "user_stop" or asked is None or OUT_OF_SCOPE in content:
        return
    if TRANSFER in content:
        if _waits(asked.text) or not words.speaks_of_a_transfer(asked.text):
            text = "the user leaves as if it had been transferred, which nobody has done"
            yield UserFault(FaultKind.LEFT, text, at, content)
        return
    if any(made.message_index > asked.message_index for made in part.talk.calls):
        return  # what was asked for has been done
    reply = words.plain(content)
    how = _left_open(part, asked.text, reply)
    if how is not None:
        text = f"the user {how}, asked in message {asked.message_index}"
        yield UserFault(FaultKind.LEFT, text, at, content)


def _left_open(part: UserPart, asked: str, reply: str) -> str | None:
    agreed = words.agrees(reply) and not words.narrows(reply) and not words.wants_a_human(reply)
    if agreed and _waits_for_a_yes(asked):
        return "says yes and leaves with it"
    if words.refusal(asked):
        return None
    if not reply and _waits_for_a_yes(asked):
        return "leaves without an answer"
    question = asked.rstrip().endswith("?") and not words.closes(words.sentences(asked)[-1])
    if agreed and (_ORDERS.search(reply) if question else _COMMANDS.search(reply)):
        return "says yes and leaves with it"
    said_no_more = not reply or (words.says_goodbye(reply) and not words.declines(reply))
    if said_no_more and steps_asked_for(part, asked):
        return "leaves without taking the step"
    return None


def _waits(text: str) -> bool:
    """Tell whether the end of a text waits for an answer."""
    return any("?" in each or words.requests(each) for each in words.sentences(text)[-2:])


def _waits_for_a_yes(text: str) -> bool:
    asked = (each for each in words.sentences(text) if words.asks(each) and _EXPECTS.search(each))
    return any(not words.closes(each) for each in asked)
