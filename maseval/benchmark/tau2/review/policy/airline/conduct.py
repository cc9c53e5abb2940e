"""The airline's rules about the conversation: who asks, what is known, reasons and claims."""

from collections.abc import Iterator

from maseval.benchmark.tau2.domains.airline.models import User
from maseval.benchmark.tau2.domains.airline.tools import BAGGAGE_PRICE
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.absence import (
    found_in,
    missing,
    spoken,
    telling_clause,
)
from maseval.benchmark.tau2.review.policy.airline.journeys import (
    BOOK,
    CANCEL,
    CHANGES,
    FLIGHTS,
    PASSENGERS,
    TOP,
    WRITES,
    AirlineCall,
    airline,
    text_of,
)
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TOOL, names, spell_date
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell
from maseval.benchmark.tau2.review.talk import Talk

ON_A_RESERVATION = tuple(tool for tool in CHANGES if tool != BOOK)


@airline.protocol(
    "identity.user_id",
    "Book flight, 1st paragraph; Modify flight and Cancel flight, 1st paragraph",
    *CHANGES,
    words=False,
)
def user_gives_id(call: AirlineCall) -> Iterator[Answer]:
    """The user says who they are, by their user id, before anything is changed."""
    owner, told = call.owner, call.user_words
    if owner is None or _gives(told, owner.user_id) or _others(call, told, owner):
        return
    offered = call.agent_texts
    if any(owner.user_id in each.text for each in offered):
        yield CannotTell("the agent named the user id, and the user did not")
    else:
        yield missing("the user has not given a user id", spoken(told))


@airline.flow("identity.own_record", "Modify flight and Cancel flight, 1st paragraph", *WRITES)
def own_record(call: AirlineCall) -> Iterator[Answer]:
    """The change is to a record of the user who gave their id."""
    owner, told = call.owner, call.user_words
    if owner is None or _gives(told, owner.user_id):
        return
    others = _others(call, told, owner)
    if others:
        yield Broken(
            f"the change is made for {owner.user_id}, and the user is {', '.join(others)}",
            {"user": others},
        )


def _gives(told: str, user_id: str) -> bool:
    return user_id in told or phrases.NO_WORD.sub("", user_id) in phrases.NO_WORD.sub("", told)


def _others(call: AirlineCall, told: str, owner: User) -> list[str]:
    """Return the ids of other users that a text has."""
    found = sorted(set(phrases.USER_ID.findall(told)) - {owner.user_id})
    return [each for each in found if each in call.tools.db.users]


def known_to(call: AirlineCall) -> str:
    """Return in lower case all that was said by the user, answered by tools, or agreed to."""
    known, consent = call.talk.known_words_before(call.message_index), call.consent
    if consent is not None and consent.given:
        known += f"\n{consent.question.text.lower()}"
    return known


@airline.protocol(
    "record.read", "Modify flight and Cancel flight, rules", *ON_A_RESERVATION, words=False
)
def reservation_was_read(call: AirlineCall) -> Iterator[Answer]:
    """The reservation is looked up before it is changed."""
    reservation = call.reservation
    if reservation is None:
        return
    name = reservation.reservation_id
    if not any(f'"reservation_id": "{name}"' in made.answer for made in call.calls_read):
        yield Broken(f"reservation {name} was never looked up")


@airline.state("transfer.denied", f"{TOP}, 6th paragraph", TRANSFER_TOOL, hears=True)
def denied_is_not_transferred(call: AirlineCall) -> Iterator[Answer]:
    """A cancellation that the policy denies is refused, and not handed over."""
    summary, told = call.text("summary"), call.user_words
    if call.wishes_for_a_human or not phrases.CANCEL.search(summary.lower()):
        return
    if phrases.OTHER_REQUEST.search(summary.lower()) or phrases.OTHER_REQUEST.search(told):
        return
    read = [each.call["arguments"].get("reservation_id") for each in call.calls_read]
    named = set(phrases.ID.findall(summary)) or set(map(str, read))
    found = [call.find_reservation(each) for each in named & set(map(str, read)) or read]
    asked = [each for each in found if each is not None]
    # What has flown, only a human can help with.
    if asked and not any(
        call.find_flown(each)
        or each.status == "cancelled"
        or each.insurance == "yes"
        or call.may_cancel(each)
        for each in asked
    ):
        names_read = ", ".join(sorted({each.reservation_id for each in asked}))
        yield Broken(
            f"the policy denies to cancel {names_read}, and the user is transferred for it"
        )


@airline.talk("told.flight", f"{TOP}, 4th paragraph")
def flights_told_are_known(talk: Talk) -> Iterator[Answer]:
    """The agent speaks of no flight that no tool has shown and the user has not named."""
    seen: set[str] = set()
    for said in talk.agent if "hat" in talk.agent_words else ():
        for flight in sorted(set(phrases.OWN_FLIGHT.findall(said.text)) - seen):
            seen.add(flight)
            at = said.message_index
            tried = any(flight in str(made.call["arguments"]) for made in talk.calls_before(at))
            if not tried and not talk.is_known_before(flight, at):
                yield Broken(f"no tool has shown flight {flight}", {}, said.message_index)


@airline.talk("told.fee", "Book flight, Checked bag allowance")
def bag_fee_is_told_right(talk: Talk) -> Iterator[Answer]:
    """The price of a bag that the agent tells is that of the policy."""
    for said, sentence in talk.agent_sentences("bag", "luggage", "suitcase"):
        for one, other in phrases.BAG_FEE.findall(sentence) if "$" in sentence else ():
            if float(one or other) not in (BAGGAGE_PRICE, 0):
                text = f"a bag costs {BAGGAGE_PRICE} dollars, and the user was told ${one or other}"
                yield Broken(text, {}, said.message_index)


@airline.flow("record.known", "Modify flight and Cancel flight, 1st paragraph", *ON_A_RESERVATION)
def reservation_known(call: AirlineCall) -> Iterator[Answer]:
    """The id of the reservation was said by the user, agreed to, or found with a tool."""
    reservation_id = call.text("reservation_id")
    if reservation_id and reservation_id.lower() not in known_to(call):
        yield Broken(f"nobody has named reservation {reservation_id}, and no tool has shown it")


@airline.flow("flights.known", f"{TOP}, 4th paragraph", BOOK, FLIGHTS)
def flights_known(call: AirlineCall) -> Iterator[Answer]:
    """The flights were found with a tool, which alone shows prices and free seats."""
    shown = [made.answer for made in call.calls_read]
    flights = [flight for flight, _ in call.flights]
    unknown = [flight for flight in flights if not any(flight in answer for answer in shown)]
    if unknown:
        yield Broken(f"no tool has shown {', '.join(unknown)}")


@airline.flow(
    "passengers.known",
    "Book flight, Passengers, 2nd bullet; Modify flight, Change passengers",
    BOOK,
    PASSENGERS,
    words=True,
)
def passengers_known(call: AirlineCall) -> Iterator[Answer]:
    """The names and birthdays of passengers were said, agreed to, or found with a tool."""
    known = known_to(call)
    for passenger in call.passengers:
        name = [text_of(passenger.get(key)) for key in ("first_name", "last_name")]
        for value in name:
            if value and value.lower() not in known:
                yield Broken(f"nobody has named a passenger {' '.join(name)}")
                break
        born = text_of(passenger.get("dob"))
        if born and not any(names(known, each) for each in spell_date(born)):
            yield missing(
                f"nobody has said that {' '.join(name)} was born on {born}", spoken(known)
            )


@airline.state("cancel.reason", "Cancel flight, 4th condition", CANCEL, words=True)
def covered_reason(call: AirlineCall) -> Iterator[Answer]:
    """A journey that only insurance lets cancel is cancelled for health or weather."""
    reservation = call.reservation
    if reservation is None or reservation.insurance != "yes":
        return
    if call.may_cancel(reservation):
        return
    told = call.user_words
    for found in phrases.COVERED.finditer(told):
        if not phrases.AIRLINE_NEGATED.search(told[max(0, found.start() - 40) : found.start()]):
            return
    yield missing(
        f"reservation {reservation.reservation_id} may be cancelled only for reasons of health or "
        "weather, and the user gave none",
        "" if phrases.NOT_COVERED.search(told) else telling_clause(call, "cancel"),
    )


@airline.protocol("cancel.reason_obtained", "Cancel flight, 2nd paragraph", CANCEL)
def reason_obtained(call: AirlineCall) -> Iterator[Answer]:
    """The agent learns why the user cancels before it cancels."""
    for said in call.user_texts:
        if phrases.REASON.search(said.lower) or phrases.COVERED.search(said.lower):
            return
    if any(phrases.ASKS_REASON.search(said.lower) for said in call.agent_texts):
        return
    text = "the user was not asked for a reason to cancel, and gave none"
    yield missing(text, telling_clause(call, "cancel"))


@airline.protocol("book.insurance_asked", "Book flight, Travel insurance, 1st bullet", BOOK)
def insurance_asked(call: AirlineCall) -> Iterator[Answer]:
    """The agent asks whether the user wants insurance before it books."""
    said = (*call.agent_texts, *call.user_texts)
    if not any(phrases.INSURANCE.search(each.lower) for each in said):
        text = "travel insurance was not mentioned before the booking"
        yield missing(text, found_in(phrases.COVER, "\n".join(each.lower for each in said)))
