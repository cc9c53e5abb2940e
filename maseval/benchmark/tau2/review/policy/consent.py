"""The user's consent to a call: what was proposed, and what the reply to it means.

A policy wants an action described to the user and a clear yes to it. So the texts before a call
are read in pairs, a text of the agent and the user's reply: is that text about the call, does it
ask, and is the reply a yes, a no, or neither? A yes may be older than the last reply, as when the
user agreed to several actions at once or a refused call is repaired.
"""

import re
from collections.abc import Iterator
from enum import Enum, auto
from functools import cache, lru_cache
from typing import NamedTuple

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.policy.rules import CallMoment, Utterance, once_per_call
from maseval.benchmark.tau2.review.words import (
    asks,
    closes,
    mentions,
    record,
    said_as,
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


_ACT = (
    r"(?:proceed|go ahead|confirm|decide|(do|make|book|cancel|change|update|upgrade|modify|process"
    r"|charge|exchange|return|finali[sz]e)(?: it| that| this| so| them| any| (?:the|my|this|that) "
    r"(?:\w+ )?(?:change|booking|order|flight|reservation|trip|return|exchange)|\W*$))"
)
# Verbs that may stand for any action.
_ANY_VERB = {"do", "make", "process", "charge", "finalize", "finalise"}
_CLAUSE = re.compile(r"(?<=[.!?;])\s+|\n+|,\s+|\s{0,2}[\u2014\u2013]\s*|\s-\s")
_YES = re.compile(
    r"\b(?:yes|yeah|yea|yep|yup|oui|s\u00ed|(?<!make )sure|ok|okay|alright|all right|absolutely"
    r"|definitely|certainly|of course|by all means|perfect|exactly|indeed|affirmative|agreed"
    r"|approved|confirmed|correct(?! (?:the|my|it|this|that)\b)|accurate|go ahead|go for it"
    r"|do (?:it|so|that)|please do(?! not|n't)|proceed(?:ing)?"
    r"|i(?:'d| would)? (?:also )?(?:like to )?(?:confirm|accept|approve|authori[sz]e|agree|consent)"
    r"|(?:that|it|this|which)(?:'s| is| all is)? (?:right|fine|good|great|okay|it\b|what i want)"
    r"|(?:that|this|it|which|everything|all|these|those|option)(?: all| really| both)? works?"
    r"|works for me"
    r"|(?:sounds?|looks?|seems?|is|are)(?: all)? (?:good|great|fine|right|perfect|lovely|okay|ok)"
    r"|sounds like a plan|let's (?:do|go|proceed|make|finali[sz]e|book|use)|make it so"
    r"|i(?:'m| am) (?:\w+ )?(?:fine|ok|okay|good|happy|comfortable|ready) (?:with|to)"
    r"|you (?:can|may) (?:now |please )?(?:go|proceed|cancel|book|make|process|use|start))\b"
    r"|^\W*fine\b|\U0001f44d|\u2705",
    re.IGNORECASE,
)
# Before a yes in its clause: then it is none.
_TURNED = re.compile(
    r"\bnot\b|n't\b|\bnever\b|\bwithout\b|\bbefore\b|\buntil\b|\bunless\b|\bhow\b|\bwhat\b|\bwhether\b"
    r"|\b(?:can|could|would|will|did|do|does|are|is) (?:you|we|i|it|that|this|there)\b"
    r"|\bcannot\b|\bto make sure\b|\bmake sure\b|\bif\b|\bonce\b|\bin order to\b|\blonger\b",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(
    r"(?:^|[.!?,;\u2014-]\s*)(?:but |and |oh,? |um,? |please |actually,? |hmm,? )*"
    r"(?:wait(?! for)\b|hold (?:on|off)\b|stop\b(?! ?over))"
    r"|(?:^|[.!?]\s+|actually,? )no\b(?=\s*(?:[,.!;]|$|thank|don't|wait|not\b|i ))"
    r"|\bplease (?:don't|do not)\W*$"
    r"|\bnever ?mind\b|\bforget (?:it|about it)\b|\bnot yet\b|\bchanged my mind\b"
    r"|\bon second thought|\blet me think\b|\bneed (?:some )?(?:time )?to think\b"
    rf"|\b(?:don't|do not|not)(?: want)?(?: you)?(?: to)? {_ACT}"
    rf"|\b(?:i'd|i would|i'll) rather (?:not {_ACT}|wait\b|leave it|keep it)"
    rf"|\bbefore (?:you|we|i)(?: can)? {_ACT}"
    r"|\bleave (?:it|that|everything) (?:as|alone)|\bkeep (?:it|everything) (?:as|the way)",
    re.IGNORECASE,
)
# One of these stands in every text that takes something back, which is quickly seen.
_AGAINST = (
    *("wait", "hold o", "stop", "n't", "never", "forget", "mind", "thought", "think"),
    *("rather", "before", "leave", "keep"),
)
_NO = re.compile(r"not?\b")
_CONDITION = re.compile(
    r"\b(?:only if|as long as|so long as|provided (?:that|it|you|there|the)\b|assuming"
    r"|unless|on (?:the )?condition"
    r"|(?<!even )(?<!m\u00eame )if (?:it|that|this|there|you|the|i|so)\b)",
    re.IGNORECASE,
)
# What customers and agents call it, beside the words of the tool's name.
_ALSO = {
    "modify": "|set|put|ship|us(?:e|ing)|cancel(?:l?ing)? (?:the|just|only)",
    "exchange": "|chang",
    "flights": "|seat|trip|leg|segment|upgrad|downgrad",
}
_CHOICE = re.compile(r"\b(?:which|what|how many|whose)\b[^.!?\n]*\?", re.IGNORECASE)
# "Let's proceed with it" is no question.
_EXPECTS = re.compile(
    r"\?|\bconfirm|\byes\b|\b(?:let me know|tell me|say)\b|\b(?:if|should|whether|unless) you\b",
    re.IGNORECASE,
)
_END = re.compile(r"[.!?\n]")
_ID = re.compile(r"#?\w+(?:-\w+)*")


def read_reply(text: str, call: Tau2ToolCall) -> Meaning:
    """Say what a reply means for a call that was proposed; its last word on the matter counts."""
    agreed = -1
    for start, clause in _clauses(text):
        for found in _YES.finditer(clause):
            if not _TURNED.search(clause[: found.start()]):
                agreed = start + found.start()
                break
    back = _last_refusal(text, call)
    if back > agreed:
        if agreed >= 0 and _depends(text, back):
            return Meaning.CONDITION
        return Meaning.UNCLEAR if _last_order(text, call) > back else Meaning.NO
    if agreed >= 0:
        return Meaning.CONDITION if _depends(text, agreed) else Meaning.YES
    if _last_order(text, call) >= 0:
        return Meaning.REQUEST
    return Meaning.QUESTION if text.rstrip().endswith("?") else Meaning.UNCLEAR


def _last_refusal(text: str, call: Tau2ToolCall) -> int:
    """Return where the last words against a call begin, or -1."""
    lower = text.lower()
    if not any(word in lower for word in _AGAINST) and not _NO.search(lower):
        return -1
    refusals = (found for found in _TAKES_BACK.finditer(text) if _is_about(found, call))
    return max((found.start() for found in refusals), default=-1)


def _is_about(refusal: re.Match[str], call: Tau2ToolCall) -> bool:
    """Tell whether a refusal is about a call: "do not change it" is no word against a booking."""
    verbs = [verb.lower() for verb in refusal.groups() if verb]
    if not verbs or verbs[0] in _ANY_VERB:
        return True
    topic = _topic(call["name"])
    return not topic or topic[0].search(verbs[0]) is not None


def _clauses(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for gap in _CLAUSE.finditer(text):
        yield start, text[start : gap.start()]
        start = gap.end()
    yield start, text[start:]


def _depends(text: str, agreed: int) -> bool:
    """Tell whether the sentence with the yes goes on with a condition."""
    sentence = _END.split(text[agreed + 1 :], maxsplit=1)[0]
    return _CONDITION.search(sentence) is not None


def _last_order(text: str, call: Tau2ToolCall) -> int:
    """Return where the last order to do what a call does begins, or -1."""
    return max((start for start, clause in _clauses(text) if _orders(clause, call)), default=-1)


def _orders(clause: str, call: Tau2ToolCall) -> bool:
    """Tell whether a clause tells the agent to do what a call does."""
    if clause.rstrip().endswith("?") or _TURNED.search(clause):
        return False
    return _speaks_of(clause, call) or _BIDS.search(clause) is not None


_BIDS = re.compile(
    r"\bplease (?:just )?(?:cancel|book|update|change|upgrade|downgrade|add|process|charge|switch"
    r"|exchange|return|modify|refund|make|send|use|confirm|complete|finali[sz]e|apply|remove)"
    r"|^(?:just )?(?:cancel|book|update|change|upgrade|process|charge|switch|exchange|return)",
    re.IGNORECASE,
)


def topic_of(text: str, moment: CallMoment) -> Topic:
    """Say what a text of the agent has to do with a call."""
    call, name = moment.call, record(moment.call)
    if name is not None and not mentions(text, name) and _names_another(text, name, moment):
        return Topic.OTHER
    if _speaks_of(text, call) or _names_values(text, call):
        return Topic.THIS
    return Topic.OPEN


def _names_values(text: str, call: Tau2ToolCall) -> bool:
    """Tell whether a text has two values of a call; ids are the same in many calls."""
    own = {k: v for k, v in call["arguments"].items() if not k.endswith("_id")}
    values = set(telling_values(own))
    return len(values) > 1 and sum(mentions(text, value) for value in values) > 1


def _names_another(text: str, name: str, moment: CallMoment) -> bool:
    """Tell whether a text names another record of the same kind that a tool has answered."""
    alike = {
        word
        for word in _ID.findall(text)
        if len(word) == len(name) and word.isupper() == name.isupper() and word != name
    }
    if not alike:
        return False
    key = next(iter(moment.arguments))
    answers = [made.answer for made in moment.calls_read]
    return any(f'"{key}": "{word}"' in answer for word in alike for answer in answers)


def _speaks_of(text: str, call: Tau2ToolCall) -> bool:
    """Tell whether a text says what the name of a tool says, in these or in other words."""
    patterns = _topic(call["name"])
    return bool(patterns) and all(pattern.search(text) for pattern in patterns)


@cache
def _topic(tool: str) -> list[re.Pattern[str]]:
    words = [f"{said_as(word)}{_ALSO.get(word, '')}" for word in topic_words(tool)]
    return [re.compile(rf"\b(?:{word})", re.IGNORECASE) for word in words]


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
    meaning = read_reply(reply.text, moment.call)
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
        _EXPECTS.search(each) and not _CHOICE.search(each) and asks(each)
        for each in sentences(text)
    )


def done_since(at: int, moment: CallMoment) -> bool:
    """Tell whether the same call was carried out after a message."""
    name, arguments = moment.call["name"], moment.arguments
    return any(
        made.message_index > at
        and not made.failed
        and made.call["name"] == name
        and made.call["arguments"] == arguments
        for made in moment.earlier_calls
    )
