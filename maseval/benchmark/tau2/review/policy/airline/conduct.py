"""The airline's rules about the conversation: reasons, confirmations, promises and form."""

import re
from collections.abc import Iterator, Mapping

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.policy.airline.journeys import (
    BOOK,
    CANCEL,
    TOP,
    WRITES,
    airline,
    free_to_cancel,
    reservation_of,
)
from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CallMoment,
    CannotTell,
    Talk,
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


@airline.state("cancel.reason", "Cancel flight, 4th condition", CANCEL, words=True)
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
        "weather, and the user gave none"
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


@airline.protocol("cancel.reason_obtained", "Cancel flight, 2nd paragraph", CANCEL)
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


@airline.protocol("book.insurance_asked", "Book flight, Travel insurance, 1st bullet", BOOK)
def insurance_asked(moment: CallMoment) -> Iterator[Answer]:
    """The agent asks whether the user wants insurance before it books."""
    said = (*moment.agent_texts, *moment.user_texts)
    if not any("insur" in each.text.lower() for each in said):
        yield Broken("nobody spoke of travel insurance before the booking")


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


@airline.talk("claim.done", f"{TOP}, 4th paragraph")
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
                    {"said": sentence},
                    said.message_index,
                )
