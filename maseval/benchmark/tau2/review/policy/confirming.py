"""Rules that the policies of several domains share: a yes before a write, one call at a time.

A policy wants an action described to the user and a clear yes to it. So the texts before a call
are read in pairs, a text of the agent and the user's reply: is that text about the call, does it
ask, and is the reply a yes, a no, or neither? A yes may be older than the last reply, as when the
user agreed to several actions at once or a refused call is repaired.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from maseval.benchmark.tau2.formats.message import Tau2ToolCall, spoken_text
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.absence import missing, spoken
from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CannotTell,
    Kind,
    Rule,
    rule,
    talk_rule,
)
from maseval.benchmark.tau2.review.replies import Meaning, asks_back, evades, is_short, read_reply
from maseval.benchmark.tau2.review.talk import CallMoment, Talk, Utterance
from maseval.benchmark.tau2.review.words import (
    MONTHS,
    closes,
    mentions,
    record,
    says_part_of_it,
    says_the_like,
    speaks_of_a_transfer,
    stands_in,
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
    has_name = name is not None and mentions(text, name)
    if name is not None and not has_name and _others_named(said.text, name, moment):
        return Topic.OTHER
    if _names_values(text, call) or says_the_like(text, call["name"]):
        return Topic.THIS
    named = (said.asks or has_name) and not _speaks_of_another(said, name, moment)
    refunds = call["name"].startswith("cancel") and phrases.REFUND.search(text) is not None
    if named and (refunds or says_part_of_it(text, call["name"])):
        return Topic.THIS
    # "Order #W1, $20 back to your card, ok?", after the user has named the action.
    if named and said.asks and has_name:
        wished = [each for each in moment.user_texts if each.message_index < said.message_index]
        if wished and says_the_like(wished[-1].lower, call["name"]):
            return Topic.THIS
    return Topic.OPEN


def _names_values(text: str, call: Tau2ToolCall) -> bool:
    """Return True if a text has two values of a call, or one that hardly another call has.

    Ids of records and payments are the same in many calls.
    """
    own = {k: v for k, v in call["arguments"].items() if not k.endswith("_id")}
    named = [value for value in set(telling_values(own)) if mentions(text, value)]
    return len(named) > 1 or any(phrases.TELLING_ID.fullmatch(value) for value in named)


def _speaks_of_another(said: Utterance, name: str | None, moment: CallMoment) -> bool:
    """Return True if a text names another action, and not beside the name of another record."""
    if phrases.OTHER_ACTION.search(said.lower) is None:
        return False
    others = _others_named(said.text, name, moment) if name is not None else []
    parts = re.split("|".join(map(re.escape, map(str.lower, others))) or "$^", said.lower)
    own = next((each for each in parts if name is not None and name.lower() in each), said.lower)
    return phrases.OTHER_ACTION.search(own) is not None


def _others_named(text: str, name: str, moment: CallMoment) -> list[str]:
    """Return the other records of the same kind in a text that a tool has answered."""
    alike = {
        word
        for word in phrases.ID.findall(text)
        if len(word) == len(name) and word.isupper() == name.isupper() and word != name
    }
    if not alike:
        return []
    key = next(iter(moment.arguments))
    answers = [made.answer for made in moment.calls_read]
    return [word for word in alike if any(f'"{key}": "{word}"' in answer for answer in answers)]


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
            return self.asked or (self.topic is Topic.THIS and not self.explains)
        return self.meaning is Meaning.REQUEST and self.asked and self.topic is Topic.THIS

    @property
    def explains(self) -> bool:
        """True if the text asks only if it was understood."""
        return not self.asked and phrases.UNDERSTOOD.search(self.question.lower) is not None

    @property
    def decides(self) -> bool:
        """True if no older reply matters: a yes, a no, or no clear answer to a clear question."""
        if self.given or (self.meaning is Meaning.NO and not closes(self.question.text)):
            return True
        open_answer = self.meaning in (Meaning.CONDITION, Meaning.QUESTION)
        return open_answer and self.asked and self.topic is Topic.THIS


def find_consent(moment: CallMoment) -> Consent | None:
    """Return the yes that covers a call, or else the last reply before it; None if nobody replied.

    An older yes holds as long as the user has not said no to the same call since, and the same
    call has not been carried out since.
    """
    if find_consent not in moment.notes:
        moment.notes[find_consent] = _find_consent(moment)
    found: Consent | None = moment.notes[find_consent]
    return found


def _find_consent(moment: CallMoment) -> Consent | None:
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
    before = [question, *moment.talk.agent_before(question.message_index)[::-1]]
    described = any(_topic_said(each, moment) is Topic.THIS for each in before)
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


TRANSFER_TOOL = "transfer_to_human_agents"
TRANSFER_TEXT = "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON."


def explicit_yes(domain: str, place: str, tools: Collection[str]) -> Rule:
    """Make the rule that the user says yes to a proposal before a call is made."""

    @rule(f"{domain}.confirm.yes", Kind.PROTOCOL, place=place, tools=tools)
    def require_yes(moment: CallMoment) -> Iterator[Answer]:
        """The user is asked and agrees before the action is taken."""
        consent = find_consent(moment)
        if consent is None:
            yield Broken("the user was not asked before the call")
        elif not consent.given:
            yield _objection(consent, moment)
        elif done_since(consent.reply.message_index, moment):
            yield Broken("the same was already done after this yes")
        elif phrases.OTHER_PAYMENT.search(consent.reply.lower) and _pays_as_told(consent, moment):
            reply = {"reply": consent.reply.text}
            yield Broken("the user wanted to pay in another way than the one proposed", reply)

    return require_yes


def _objection(consent: Consent, moment: CallMoment) -> Answer:
    """Say why the last reply before a call is no yes to it."""
    values, meaning = {"reply": consent.reply.text}, consent.meaning
    if meaning is Meaning.NO:
        return Broken("the user's last reply before the call was no", values)
    if consent.topic is Topic.OTHER:
        return Broken("the user's last words before the call are about something else", values)
    name = record(moment.call)
    if not consent.described:
        said = consent.question.text
        named = name and mentions(said, name) and not _others_named(said, name, moment)
        text = "the agent did not tell the user about the action before it"
        return missing(text, said if named else spoken(consent.question.lower), values)
    if meaning is Meaning.CONDITION:
        return CannotTell("the user agreed on a condition")
    if meaning is Meaning.QUESTION:
        return Broken("the user answered with a question", values)
    if meaning is Meaning.YES and not consent.explains:
        return CannotTell("the user said yes to a message that did not ask for it")
    if meaning is Meaning.UNCLEAR and consent.asked and consent.topic is Topic.THIS:
        if declines(consent.question, consent.reply, moment):
            return Broken("the user was asked and did not agree", values)
        return CannotTell("the user's reply is neither a yes nor a no")
    if meaning is Meaning.REQUEST and name is not None and mentions(consent.question.text, name):
        return CannotTell("the user demanded what the agent described without asking")
    return Broken("the agent did not ask for a yes before the call", values)


def _pays_as_told(consent: Consent, moment: CallMoment) -> bool:
    """Return True if a call uses the payment of the proposal, or has none to choose."""
    used = [each for each in telling_values(moment.arguments) if phrases.PAYMENT_ID.match(each)]
    known = moment.talk.known_before(moment.message_index)
    for each in used:
        card = re.search(rf'"{re.escape(each)}": {{[^{{}}]{{0,200}}"last_four": "(\d{{4}})"', known)
        forms = [each, card[1]] if card else [each, each.partition("_")[0]]
        if not any(mentions(consent.question.text, form) for form in forms):
            return False
    return True


def names(text: str, spelling: str | re.Pattern[str]) -> bool:
    """Return True if a text in lower case has a spelling as a word, or fits a pattern."""
    if isinstance(spelling, str):
        return stands_in(text, spelling.lower())
    return spelling.search(text) is not None


@lru_cache(maxsize=256)
def spell_date(date: str) -> list[str | re.Pattern[str]]:
    """Return the date, and a pattern for the other ways to write it, also without its year."""
    found = re.fullmatch(r"\d{4}-(\d\d)-(\d\d)", date)
    if found is None or not 1 <= int(found[1]) <= 12:
        return [date]
    month, day = (rf"0?{int(each)}" for each in found.groups())
    name, nth = MONTHS[int(found[1]) - 1], rf"{int(found[2])}(?:st|nd|rd|th)?"
    name = rf"(?:{name}|{name[:3]})"
    words = rf"{name} {nth}|{nth} ?(?:of )?{name}|{month}/{day}|{found[1]}-{found[2]}"
    return [date, re.compile(rf"(?<![\w-])(?<!\d\.)(?:{words})(?![\w-])")]


def one_call_at_a_time(domain: str, place: str) -> Rule:
    """Make the rule that a message of the agent holds at most one call."""

    @talk_rule(f"{domain}.form.one_call", Kind.FORM, place=place, reads_words=False)
    def single(talk: Talk) -> Iterable[Answer]:
        """The agent makes one call at a time."""
        for at, message in enumerate(talk.messages):
            calls = message.get("tool_calls") if message["role"] == "assistant" else None
            if calls and len(calls) > 1:
                yield Broken(f"{len(calls)} calls in one message", {"calls": len(calls)}, at)

    return single


def no_text_beside_a_call(domain: str, place: str) -> Rule:
    """Make the rule that a message of the agent is a text or a call, and not both."""

    @talk_rule(f"{domain}.form.text_or_call", Kind.FORM, place=place, reads_words=False)
    def either(talk: Talk) -> Iterable[Answer]:
        """The agent does not speak to the user in the message that makes a call."""
        for at, message in enumerate(talk.messages):
            calls = message["role"] == "assistant" and message.get("tool_calls")
            if calls and (text := spoken_text(message)):
                yield Broken("a text and a call in one message", {"text": text}, at)

    return either


def transfer_is_announced(domain: str, place: str) -> Rule:
    """Make the rule that the set sentence follows the call that hands the user over, and only it.

    A conversation that ends with the call has not come to the sentence.
    """

    @talk_rule(f"{domain}.form.transfer_text", Kind.FORM, place=place, reads_words=False)
    def require_sentence(talk: Talk) -> Iterable[Answer]:
        """The agent transfers by a call first, and then says so in the prescribed words."""
        handed = [made.answer_index for made in talk.calls if made.call["name"] == TRANSFER_TOOL]
        for said in talk.agent:
            if TRANSFER_TEXT in said.text and not any(at < said.message_index for at in handed):
                yield Broken("the transfer was announced and not made", {}, said.message_index)
        for at in handed[:1]:
            later = [said for said in talk.agent if said.message_index > at]
            if later and TRANSFER_TEXT not in (text := later[0].text):
                values = {"said": text}
                yield Broken("other words follow the transfer", values, later[0].message_index)

    return require_sentence


def nothing_after_a_transfer(domain: str, place: str, tools: Collection[str]) -> Rule:
    """Make the rule that the agent changes nothing any more once it has handed the user over."""

    @rule(f"{domain}.transfer.last", Kind.PROTOCOL, place=place, tools=tools, reads_words=False)
    def last(moment: CallMoment) -> Iterator[Answer]:
        """The agent takes no action after it has transferred the user."""
        made = moment.calls_read
        if any(each.call["name"] == TRANSFER_TOOL and not each.failed for each in made):
            yield Broken("the user had been transferred to a human agent before the call")

    return last


def declines(question: Utterance, reply: Utterance, moment: CallMoment) -> bool:
    """Return True if a reply to a question about a call is a no, or puts the answer off."""
    if is_unclear(question, reply, moment):
        return evades(reply.text)
    meaning = read_reply(reply.text, moment.call["name"])
    return meaning is Meaning.NO or (meaning is Meaning.QUESTION and asks_back(reply.text))


def is_unclear(question: Utterance, reply: Utterance, moment: CallMoment) -> bool:
    """Return True if a reply to one question is neither a clear yes nor a clear no."""
    one = question.text.count("?") < 2
    return one and read_reply(reply.text, moment.call["name"]) is Meaning.UNCLEAR


def transfer_is_wanted(domain: str, place: str) -> Rule:
    """Return the rule that nobody is transferred who does not want it."""

    @rule(f"{domain}.transfer.wish", Kind.PROTOCOL, place=place, tools={TRANSFER_TOOL}, manner=True)
    def require_wish(moment: CallMoment) -> Iterator[Answer]:
        """Nobody is transferred to a human against the user's last word on it."""
        for question, reply in moment.exchanges():
            wish = reply.wish
            asked = [each for each in question.sentences if "?" in each][-1:]
            # "I can pass you on to a colleague. Would you like that?"
            is_brief = any(len(each.split()) < 6 for each in asked)
            offered = speaks_of_a_transfer(" ".join(question.sentences[-2:] if is_brief else asked))
            declined = offered and is_short(reply.text) and declines(question, reply, moment)
            if wish is False or (wish is None and declined):
                yield Broken("the user did not want a transfer", {"reply": reply.text})
            if offered or wish is not None:
                return

    return require_wish
