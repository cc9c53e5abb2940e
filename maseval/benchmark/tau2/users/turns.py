"""Turns in which there is no user: it says nothing, or speaks as the agent would."""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2 import words
from maseval.benchmark.tau2.formats.message import has_text, is_tool_call
from maseval.benchmark.tau2.users.finding import FaultKind, UserFault
from maseval.benchmark.tau2.users.part import UserPart

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
