"""The airline's rules about the conversation: reasons, confirmations, promises and form."""

from collections.abc import Iterator, Mapping

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.airline.journeys import (
    BOOK,
    CANCEL,
    TOP,
    WRITES,
    airline,
    free_to_cancel,
    reservation_of,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell
from maseval.benchmark.tau2.review.talk import CallMoment, Talk
from maseval.benchmark.tau2.review.words import reports_it_done, sentences


@airline.state("cancel.reason", "Cancel flight, 4th condition", CANCEL, words=True)
def covered_reason(moment: CallMoment) -> Iterator[Answer]:
    """A journey that only insurance lets cancel is cancelled for health or weather."""
    reservation = reservation_of(moment)
    if reservation is None or reservation.insurance != "yes":
        return
    if free_to_cancel(moment, reservation):
        return
    told = moment.user_said
    for found in phrases.COVERED.finditer(told):
        if not phrases.AIRLINE_NEGATED.search(told[max(0, found.start() - 40) : found.start()]):
            return
    if phrases.MAYBE_COVERED.search(told):
        yield CannotTell("the user's reason may be one of health")
        return
    yield Broken(
        f"reservation {reservation.reservation_id} may be cancelled only for reasons of health or "
        "weather, and the user gave none"
    )


@airline.protocol("cancel.reason_obtained", "Cancel flight, 2nd paragraph", CANCEL)
def reason_obtained(moment: CallMoment) -> Iterator[Answer]:
    """The agent learns why the user cancels before it cancels."""
    for said in moment.user_texts:
        if phrases.REASON.search(said.text) or phrases.COVERED.search(said.text):
            return
        # Weaker words count where the user speaks of cancelling.
        if phrases.CANCEL.search(said.text) and phrases.REASON_TO_CANCEL.search(said.text):
            return
    for said in moment.agent_texts:
        if phrases.ASKS_REASON.search(said.text):
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
_MOST_OF_A_SENTENCE = 300


@airline.talk("claim.done", f"{TOP}, 4th paragraph")
def only_done_is_claimed(talk: Talk) -> Iterator[Answer]:
    """The agent reports a change as made only after it has made it."""
    for said in talk.agent:
        lower = said.text.lower()
        if not any(word in lower for word in _REPORTING) or not phrases.AIRLINE_REPORTS.search(
            lower
        ):
            continue
        made = {
            each.call["name"] for each in talk.calls_before(said.message_index) if not each.failed
        }
        for sentence in sentences(said.text):
            if len(sentence) > _MOST_OF_A_SENTENCE or not phrases.AIRLINE_REPORTS.search(
                sentence.lower()
            ):
                continue
            if phrases.NOT_SO.search(sentence):
                continue
            told = [tool for tool, call in _TOOLS_TOLD.items() if reports_it_done(sentence, call)]
            if told and not made.intersection(told):
                yield Broken(
                    "a change is reported that was not made",
                    {"said": sentence},
                    said.message_index,
                )
