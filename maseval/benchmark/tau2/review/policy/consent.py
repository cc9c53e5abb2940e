"""The user's consent to a call: what was proposed, and what the reply to it means.

A policy wants an action described to the user and a clear yes to it. So the texts before a call
are read in pairs, a text of the agent and the user's reply: is that text about the call, does it
ask, and is the reply a yes, a no, or neither? A yes may be older than the last reply, as when the
user agreed to several actions at once or a refused call is repaired.
"""

import re
from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.talk import CallMoment, Utterance, once_per_call
from maseval.benchmark.tau2.review.words import (
    asks,
    closes,
    mentions,
    record,
    said_as,
    says_part_of_it,
    says_the_like,
    sentences,
    telling_values,
    topic_words,
)


class Meaning(Enum):
    """A reply to a proposal, by what it means for the action."""

    YES = auto()
    REQUEST = auto()  # an order in the user's own words: "cancel it"
    CONDITION = auto()
    QUESTION = auto()
    NO = auto()
    UNCLEAR = auto()


class Topic(Enum):
    """A text of the agent, by what it has to do with a call."""

    THIS = auto()  # it describes the call
    OTHER = auto()  # it is about another record
    OPEN = auto()  # it says neither: "shall I go ahead?"


# Verbs that may stand for any action.
_ANY_VERB = {"do", "make", "process", "charge", "finalize", "finalise"}


@lru_cache(maxsize=4096)
def read_reply(text: str, tool: str) -> Meaning:
    """Say what a reply means for a call of a tool that was proposed; its last word on it counts."""
    agreed = 0 if phrases.SHORT_YES.match(text) else -1
    for start, clause in _clauses(text):
        for found in phrases.YES.finditer(clause):
            asked = clause[found.end() :].startswith("?")
            if not asked and not phrases.TURNED.search(clause[: found.start()]):
                agreed = start + found.start()
                break
    back = _last_refusal(text, tool)
    if back >= 0 and back >= agreed:
        if agreed >= 0 and _depends(text, back):
            return Meaning.CONDITION
        return Meaning.UNCLEAR if _last_order(text, tool) > back else Meaning.NO
    if agreed >= 0:
        return Meaning.CONDITION if _depends(text, agreed) else Meaning.YES
    if _last_order(text, tool) >= 0:
        return Meaning.REQUEST
    return Meaning.QUESTION if text.rstrip().endswith("?") else Meaning.UNCLEAR


def agrees(text: str) -> bool:
    """Return True if a text says yes, to whatever was asked, and takes nothing back."""
    return read_reply(text, "") is Meaning.YES


def _last_refusal(text: str, tool: str) -> int:
    """Return where the last words against a call begin, or -1."""
    refusals = [found for found in phrases.TAKES_BACK.finditer(text) if _is_about(found, tool)]
    refusals += [*phrases.DEFERS.finditer(text), *phrases.ASKS_SOMEBODY.finditer(text)]
    return max((found.start() for found in refusals), default=-1)


def _is_about(refusal: re.Match[str], tool: str) -> bool:
    """Return True if a refusal is about a call: "do not change it" is no word against a booking."""
    verbs = [verb.lower() for verb in refusal.groups() if verb]
    if not verbs or verbs[0] in _ANY_VERB:
        return True
    topic = topic_words(tool)
    return not topic or re.match(said_as(topic[0]), verbs[0]) is not None


def _clauses(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for gap in phrases.REPLY_CLAUSE.finditer(text):
        yield start, text[start : gap.start()]
        start = gap.end()
    yield start, text[start:]


def _depends(text: str, agreed: int) -> bool:
    """Return True if the sentence with the yes goes on with a condition."""
    sentence = phrases.END.split(text[agreed + 1 :], maxsplit=1)[0]
    return phrases.CONDITION.search(sentence) is not None


def _last_order(text: str, tool: str) -> int:
    """Return where the last order to do what a call does begins, or -1."""
    return max((start for start, clause in _clauses(text) if _orders(clause, tool)), default=-1)


def _orders(clause: str, tool: str) -> bool:
    """Return True if a clause tells the agent to do what a call does."""
    if clause.rstrip().endswith("?") or phrases.TURNED.search(clause):
        return False
    return says_the_like(clause, tool) or phrases.BIDS.search(clause) is not None


def topic_of(text: str, moment: CallMoment) -> Topic:
    """Say what a text of the agent has to do with a call."""
    call, name = moment.call, record(moment.call)
    if name is not None and not mentions(text, name) and _names_another(text, name, moment):
        return Topic.OTHER
    if says_the_like(text, call["name"]) or _names_values(text, call):
        return Topic.THIS
    named = (asks(text) or (name is not None and mentions(text, name))) and (
        phrases.OTHER_ACTION.search(text) is None
    )
    refunds = call["name"].startswith("cancel") and phrases.REFUND.search(text) is not None
    if named and (refunds or says_part_of_it(text, call["name"])):
        return Topic.THIS
    return Topic.OPEN


def _names_values(text: str, call: Tau2ToolCall) -> bool:
    """Return True if a text has two values of a call, or one that hardly another call has.

    Ids of records and payments are the same in many calls.
    """
    own = {k: v for k, v in call["arguments"].items() if not k.endswith("_id")}
    named = [value for value in set(telling_values(own)) if mentions(text, value)]
    return len(named) > 1 or any(phrases.TELLING_ID.fullmatch(value) for value in named)


def _names_another(text: str, name: str, moment: CallMoment) -> bool:
    """Return True if a text names another record of the same kind that a tool has answered."""
    alike = {
        word
        for word in phrases.ID.findall(text)
        if len(word) == len(name) and word.isupper() == name.isupper() and word != name
    }
    if not alike:
        return False
    key = next(iter(moment.arguments))
    answers = [made.answer for made in moment.calls_read]
    return any(f'"{key}": "{word}"' in answer for word in alike for answer in answers)


class Consent(NamedTuple):
    """The reply that decides about a call, the text it answers, and what it means.

    ``described`` is True if the agent had spoken of the call by then, ``asked`` if that text asked
    for a yes or no.
    """

    question: Utterance
    reply: Utterance
    meaning: Meaning
    topic: Topic
    asked: bool
    described: bool

    @property
    def given(self) -> bool:
        """True if it is a clear yes to a call that had been described."""
        if not self.described or self.topic is Topic.OTHER:
            return False
        if self.meaning is Meaning.YES:
            return self.asked or self.topic is Topic.THIS
        return self.meaning is Meaning.REQUEST and self.asked and self.topic is Topic.THIS

    @property
    def decides(self) -> bool:
        """True if no older reply matters: a yes, a no, or no clear answer to a clear question."""
        if self.given or (self.meaning is Meaning.NO and not closes(self.question.text)):
            return True
        open_answer = self.meaning in (Meaning.CONDITION, Meaning.QUESTION)
        return open_answer and self.asked and self.topic is Topic.THIS


@once_per_call
def find_consent(moment: CallMoment) -> Consent | None:
    """Return the yes that covers a call, or else the last reply before it; None if nobody replied.

    An older yes holds as long as the user has not said no to the same call since, and the same
    call has not been carried out since.
    """
    last: Consent | None = None
    for question, reply in moment.exchanges():
        if last is not None and _topic_said(question, moment) is not Topic.THIS:
            continue
        found = _consent(question, reply, moment)
        if last is None:
            last = found
            if found.decides:
                return found
        elif found.meaning is Meaning.NO:
            return last
        elif found.given and found.meaning is Meaning.YES:
            return last if done_since(reply.message_index, moment) else found
    return last


def _consent(question: Utterance, reply: Utterance, moment: CallMoment) -> Consent:
    topic = _topic_said(question, moment)
    before = moment.talk.agent_before(question.message_index)
    described = topic is Topic.THIS or any(
        _topic_said(said, moment) is Topic.THIS for said in reversed(before)
    )
    meaning = read_reply(reply.text, moment.call["name"])
    return Consent(question, reply, meaning, topic, _expects_a_yes(question.text), described)


def _topic_said(said: Utterance, moment: CallMoment) -> Topic:
    """Return what a text has to do with a call, found once for each of the agent's texts."""
    known: dict[int, Topic] = moment.notes.setdefault("topics", {})
    if said.message_index not in known:
        known[said.message_index] = topic_of(said.text, moment)
    return known[said.message_index]


@lru_cache(maxsize=1024)
def _expects_a_yes(text: str) -> bool:
    return any(
        phrases.EXPECTS.search(each) and not phrases.CHOICE.search(each) and asks(each)
        for each in sentences(text)
    )


def done_since(at: int, moment: CallMoment) -> bool:
    """Return True if the same call was carried out after a message."""
    name, arguments = moment.call["name"], moment.arguments
    return any(
        made.message_index > at
        and not made.failed
        and made.call["name"] == name
        and made.call["arguments"] == arguments
        for made in moment.earlier_calls
    )
