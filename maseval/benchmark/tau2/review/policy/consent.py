"""The user's consent to a call: what was proposed, and what the reply to it means.

A policy wants an action described to the user and a clear yes to it. So the texts before a call
are read in pairs, a text of the agent and the user's reply: is that text about the call, does it
ask, and is the reply a yes, a no, or neither? A yes may be older than the last reply, as when the
user agreed to several actions at once or a refused call is repaired.
"""

from enum import Enum, auto
from typing import NamedTuple

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.replies import Meaning, read_reply
from maseval.benchmark.tau2.review.talk import CallMoment, Utterance, once_per_call
from maseval.benchmark.tau2.review.words import (
    closes,
    mentions,
    record,
    says_part_of_it,
    says_the_like,
    telling_values,
)


class Topic(Enum):
    """A text of the agent, by what it has to do with a call."""

    THIS = auto()  # it describes the call
    OTHER = auto()  # it is about another record
    OPEN = auto()  # it says neither: "shall I go ahead?"


def topic_of(said: Utterance, moment: CallMoment) -> Topic:
    """Say what a text of the agent has to do with a call."""
    call, name, text = moment.call, record(moment.call), said.lower
    if name is not None and not mentions(text, name) and _names_another(said.text, name, moment):
        return Topic.OTHER
    if says_the_like(text, call["name"]) or _names_values(text, call):
        return Topic.THIS
    named = (said.asks or (name is not None and mentions(text, name))) and (
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
    return Consent(question, reply, meaning, topic, question.expects_a_yes, described)


def _topic_said(said: Utterance, moment: CallMoment) -> Topic:
    """Return what a text has to do with a call, found once for each of the agent's texts."""
    known: dict[int, Topic] = moment.notes.setdefault("topics", {})
    if said.message_index not in known:
        known[said.message_index] = topic_of(said, moment)
    return known[said.message_index]


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
