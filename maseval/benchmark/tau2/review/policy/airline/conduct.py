"""The airline's rules about the conversation: reasons, confirmations, promises and form."""

import re
from collections.abc import Iterator, Mapping

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.policy.airline.details import DETAILS
from maseval.benchmark.tau2.review.policy.airline.journeys import (
    BOOK,
    CANCEL,
    CHANGES,
    TOP,
    WRITES,
    free_to_cancel,
    reservation_of,
)
from maseval.benchmark.tau2.review.policy.confirming import (
    details_listed,
    explicit_yes,
    no_text_beside_a_call,
    nothing_after_a_transfer,
    one_call_at_a_time,
    transfer_is_announced,
)
from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CallMoment,
    CannotTell,
    Kind,
    Talk,
    rule,
    talk_rule,
)
from maseval.benchmark.tau2.review.words import reports_it_done, sentences

_COVERED = re.compile(
    r"\b(?:sick|ill(?:ness)?|health|medical|doctor|hospital|surgery|injur|pregnan|unwell|covid|flu"
    r"|fever|disease|operation|diagnos|broke (?:my|his|her)|weather|storm|hurricane|snow|blizzard"
    r"|flood|tornado|typhoon|under the weather|(?:not|n't|not been) feel(?:ing)? (?:\w+ )?"
    r"(?:well|good|great|up to))",
    re.IGNORECASE,
)
_MAYBE_COVERED = re.compile(
    r"\b(?:emergency|died|death|passed away|funeral|accident|feeling)", re.IGNORECASE
)
_NEGATED = re.compile(r"\b(?:no|not|n't|isn't|without|never)\b[^.!?,;]{0,30}$", re.IGNORECASE)


@rule(
    "airline.cancel.reason",
    Kind.STATE,
    place="Cancel flight, 4th condition",
    tools={CANCEL},
    reads_words=True,
)
def covered_reason(moment: CallMoment) -> Iterator[Answer]:
    """A journey that only insurance lets cancel is cancelled for health or weather."""
    reservation = reservation_of(moment)
    if reservation is None or reservation.insurance != "yes":
        return
    if free_to_cancel(moment, reservation):
        return
    told = moment.user_said
    for found in _COVERED.finditer(told):
        if not _NEGATED.search(told[max(0, found.start() - 40) : found.start()]):
            return
    if _MAYBE_COVERED.search(told):
        yield CannotTell("the user's reason may be one of health")
        return
    yield Broken(
        f"reservation {reservation.reservation_id} may be cancelled only for reasons of health or "
        "weather, and the user gave none",
        {"reservation": reservation.reservation_id, "cabin": reservation.cabin},
    )


_REASON = re.compile(
    r"\b(?:because|reason|due to|change (?:of|in) (?:my |our )?plans?|changed? (?:my |our )?plans?"
    r"|plans? (?:have |has |had )?(?:to )?change|no longer|mistake|conflict"
    r"|(?:can't|cannot|can not|unable to|not able to|won't) (?:make|travel|go|fly|attend|take|be)"
    r"|emergency|died|passed away|cancell?ed (?:by|my flight)|airline cancell?ed"
    r"|(?:don't|do not) need|duplicate|overlap|mix-?up|(?:free|give) (?:up )?(?:my|your|the) seat)",
    re.IGNORECASE,
)
_REASON_TO_CANCEL = re.compile(
    r"\b(?:since|schedul|meeting|too (?:long|expensive|late|early)|delay|better|instead"
    r"|so (?:that )?i|save|cheaper|won't|can't)",
    re.IGNORECASE,
)
_CANCEL = re.compile(r"\bcancel|\brefund", re.IGNORECASE)
_ASKS_REASON = re.compile(r"\b(?:reasons?|why)\b", re.IGNORECASE)


@rule(
    "airline.cancel.reason_obtained",
    Kind.PROTOCOL,
    place="Cancel flight, 2nd paragraph",
    tools={CANCEL},
)
def reason_obtained(moment: CallMoment) -> Iterator[Answer]:
    """The agent learns why the user cancels before it cancels."""
    for said in moment.user_texts:
        if _REASON.search(said.text) or _COVERED.search(said.text):
            return
        # Weaker words count where the user speaks of cancelling.
        if _CANCEL.search(said.text) and _REASON_TO_CANCEL.search(said.text):
            return
    for said in moment.agent_texts:
        if _ASKS_REASON.search(said.text):
            return
    yield Broken("the user was not asked for a reason to cancel, and gave none")


@rule(
    "airline.book.insurance_asked",
    Kind.PROTOCOL,
    place="Book flight, Travel insurance, 1st bullet",
    tools={BOOK},
)
def insurance_asked(moment: CallMoment) -> Iterator[Answer]:
    """The agent asks whether the user wants insurance before it books."""
    said = (*moment.agent_texts, *moment.user_texts)
    if not any("insur" in each.text.lower() for each in said):
        yield Broken("nobody spoke of travel insurance before the booking")


_DAYS = re.compile(
    r"\b(\d+)\s*(?:-|\u2013|to)\s*(\d+)\s+(?:business |working )?days", re.IGNORECASE
)


@talk_rule("airline.refund.period", Kind.PROTOCOL, place="Cancel flight, Refund")
def refund_period(talk: Talk) -> Iterator[Answer]:
    """A refund is announced for five to seven business days later."""
    if "days" not in talk.agent_words or "refund" not in talk.agent_words:
        return
    for said in talk.agent:
        for sentence in sentences(said.text) if "days" in said.text else ():
            found = _DAYS.search(sentence)
            if found and "refund" in sentence.lower() and found.groups() != ("5", "7"):
                yield Broken(
                    "a refund is promised for another time than in 5 to 7 business days",
                    {"said": found[0]},
                    said.message_index,
                )


_TOOLS_TOLD: Mapping[str, Tau2ToolCall] = {tool: {"name": tool, "arguments": {}} for tool in WRITES}
# Seen at once in a whole text; what a sentence reports is then asked of few.
_REPORTING = ("i've ", "has been ", "have been ", "i have ", "successfully ")
_REPORTS = re.compile(
    r"(?:\bi've|\bhave|\bhas)(?: been| now| just| also| already| successfully)*"
    r" (?:cancel|book|sen[dt]|issu|updat|chang|upgrad|downgrad|modif|add|switch|remov|mov|process"
    r"|complet|finali|made|appli|submit)"
)
_NOT_SO = re.compile(
    r"\b(?:no|not|n't|none|neither|nor|if|once|after|when|by the airline|cannot|unable|until)\b",
    re.IGNORECASE,
)
_MOST_OF_A_SENTENCE = 300


@talk_rule("airline.claim.done", Kind.PROTOCOL, place=f"{TOP}, 4th paragraph")
def only_done_is_claimed(talk: Talk) -> Iterator[Answer]:
    """The agent reports a change as made only after it has made it."""
    for said in talk.agent:
        lower = said.text.lower()
        if not any(word in lower for word in _REPORTING) or not _REPORTS.search(lower):
            continue
        made = {
            each.call["name"] for each in talk.calls_before(said.message_index) if not each.failed
        }
        for sentence in sentences(said.text):
            if len(sentence) > _MOST_OF_A_SENTENCE or not _REPORTS.search(sentence.lower()):
                continue
            if _NOT_SO.search(sentence):
                continue
            told = [tool for tool, call in _TOOLS_TOLD.items() if reports_it_done(sentence, call)]
            if told and not made.intersection(told):
                yield Broken(
                    "a change is reported that was not made",
                    {"said": sentence, "tool": told[0]},
                    said.message_index,
                )


CONFIRM = f"{TOP}, 3rd paragraph"
ONE_CALL = f"{TOP}, 5th paragraph"
TRANSFER = f"{TOP}, 7th paragraph"

CONDUCT_RULES = (
    explicit_yes("airline", CONFIRM, CHANGES),
    details_listed("airline", CONFIRM, DETAILS),
    covered_reason,
    reason_obtained,
    insurance_asked,
    refund_period,
    only_done_is_claimed,
    one_call_at_a_time("airline", ONE_CALL),
    no_text_beside_a_call("airline", ONE_CALL),
    transfer_is_announced("airline", TRANSFER),
    nothing_after_a_transfer("airline", TRANSFER, WRITES),
)
