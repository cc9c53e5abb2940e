"""A call of the airline's agent with its records, and the rules about the conversation.

They are about who asks, what is known, reasons and claims. A model may write anything into a call:
what is missing, of another type or not in the database is answered with None, or with an empty text
or list.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, cast, get_args

from maseval.benchmark.tau2.domains.airline.models import (
    AirlineDB,
    AvailableFlight,
    Cabin,
    Flight,
    Reservation,
    User,
)
from maseval.benchmark.tau2.domains.airline.tools import BAGGAGE_PRICE, NOW
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.absence import found_in, missing, spoken, telling_clause
from maseval.benchmark.tau2.review.policy.confirming import (
    TRANSFER_TOOL,
    Consent,
    find_consent,
    names,
    spell_date,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, Kind, Policy
from maseval.benchmark.tau2.review.talk import CallMoment, Talk
from maseval.benchmark.tau2.review.words import refusal
from maseval.benchmark.tau2.world.state.records import RecordT, Table

TOP = "Airline Agent Policy"
BOOK, CANCEL = "book_reservation", "cancel_reservation"
FLIGHTS, BAGGAGES = "update_reservation_flights", "update_reservation_baggages"
PASSENGERS = "update_reservation_passengers"
CHANGES = (BOOK, CANCEL, BAGGAGES, FLIGHTS, PASSENGERS)
WRITES = (*CHANGES, "send_certificate")
FLOWN = ("landed", "flying")
A_DAY = timedelta(hours=24)


def text_of(value: object) -> str:
    """Return a text; an empty one if it is none."""
    return value if isinstance(value, str) else ""


def number_of(value: object) -> float | None:
    """Return a number, also one that was written as a text."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _find(table: Table[RecordT], key: object) -> RecordT | None:
    try:
        return table.view(key) if isinstance(key, str) else None
    except KeyError:
        return None


class AirlineCall(CallMoment):
    """A call of the airline's agent, with the records that it is about."""

    @property
    def db(self) -> AirlineDB:
        db: AirlineDB = self.tools.db
        return db

    def text(self, name: str) -> str:
        return text_of(self.arguments.get(name))

    def entries(self, name: str) -> list[Mapping[str, Any]]:
        """Return the mappings in a list among the arguments."""
        value = self.arguments.get(name)
        listed = value if isinstance(value, list) else []
        return [each for each in listed if isinstance(each, Mapping)]

    def find_user(self, user_id: object) -> User | None:
        return _find(self.db.users, user_id)

    def find_reservation(self, reservation_id: object) -> Reservation | None:
        return _find(self.db.reservations, reservation_id)

    def find_flight(self, flight_number: object) -> Flight | None:
        return _find(self.db.flights, flight_number)

    @cached_property
    def reservation(self) -> Reservation | None:
        """The reservation that the call names."""
        return self.find_reservation(self.arguments.get("reservation_id"))

    @cached_property
    def owner(self) -> User | None:
        """The user whom the call names, or whose reservation it names."""
        owner = self.reservation.user_id if self.reservation else self.arguments.get("user_id")
        return self.find_user(owner)

    @cached_property
    def consent(self) -> Consent | None:
        return find_consent(self)

    @property
    def passengers(self) -> list[Mapping[str, Any]]:
        """The passengers among the arguments."""
        return self.entries("passengers")

    @property
    def people(self) -> int:
        """The number of passengers."""
        return len(self.reservation.passengers if self.reservation else self.passengers)

    @property
    def bags(self) -> float | None:
        """All bags after the call."""
        return number_of(self.arguments.get("total_baggages"))

    @property
    def bags_before(self) -> float:
        return number_of(self.reservation.total_baggages) or 0 if self.reservation else 0

    @cached_property
    def payments(self) -> list[str]:
        """The ids of the payment methods that the call uses."""
        several = [each.get("payment_id") for each in self.entries("payment_methods")]
        found = map(text_of, [self.arguments.get("payment_id"), *several])
        return [each for each in dict.fromkeys(found) if each]

    @cached_property
    def flights(self) -> list[tuple[str, str]]:
        """The flight numbers and dates among the arguments."""
        wanted = self.entries("flights")
        return [(text_of(each.get("flight_number")), text_of(each.get("date"))) for each in wanted]

    @cached_property
    def flights_kept(self) -> dict[tuple[str, str], int]:
        """The flights of the reservation before the call, each with its price."""
        before = self.reservation.flights if self.reservation else ()
        return {(each.flight_number, each.date): each.price for each in before}

    def status_of(self, flight_number: str, date: str) -> str:
        """Return the status of a flight on a date; an empty text if there is no such flight."""
        flight = self.find_flight(flight_number)
        instance = flight.dates.get(date) if flight else None
        return instance.status if instance else ""

    def statuses(self, reservation: Reservation) -> dict[tuple[str, str], str]:
        """Return the status of each flight of a reservation."""
        flights = [(flight.flight_number, flight.date) for flight in reservation.flights]
        return {flight: self.status_of(*flight) for flight in flights}

    def find_flown(self, reservation: Reservation) -> str:
        """Return the first flight of a reservation that has left."""
        for (flight_number, date), status in self.statuses(reservation).items():
            if status in FLOWN:
                return f"{flight_number} on {date}"
        return ""

    def may_cancel(self, reservation: Reservation) -> bool:
        """Return True if a reservation may be cancelled whatever the reason is."""
        age = datetime.fromisoformat(NOW) - datetime.fromisoformat(reservation.created_at)
        if age <= A_DAY or reservation.cabin == "business":
            return True
        return "cancelled" in self.statuses(reservation).values()

    @cached_property
    def moved(self) -> float | None:
        """The amount the call charges, negative for a refund; None if the record does not say."""
        reservation = self.reservation
        if self.tool == BOOK:
            paid = [number_of(each.get("amount")) for each in self.entries("payment_methods")]
            return sum(each for each in paid if each is not None)
        if reservation is None:
            return None
        if self.tool == CANCEL:
            return -sum(payment.amount for payment in reservation.payment_history)
        if self.tool == BAGGAGES:
            charged = number_of(self.arguments.get("nonfree_baggages")) or 0
            return BAGGAGE_PRICE * max(0, charged - (number_of(reservation.nonfree_baggages) or 0))
        return self._difference(reservation) if self.tool == FLIGHTS else None

    def _difference(self, reservation: Reservation) -> float | None:
        """Return what other flights or another cabin cost more than the present ones."""
        same_cabin = self.arguments.get("cabin") == reservation.cabin
        after = 0
        for flight in self.flights:
            price = self.flights_kept.get(flight) if same_cabin else None
            price = self._fare(flight) if price is None else price
            if price is None:
                return None
            after += price
        return (after - sum(self.flights_kept.values())) * len(reservation.passengers)

    @cached_property
    def new_fares(self) -> list[int]:
        """The present prices of the flights that the call adds."""
        other = self.reservation and self.arguments.get("cabin") != self.reservation.cabin
        added = [flight for flight in self.flights if other or flight not in self.flights_kept]
        fares = map(self._fare, added)
        return [fare for fare in fares if fare is not None]

    def _fare(self, wanted: tuple[str, str]) -> int | None:
        flight = self.find_flight(wanted[0])
        instance = flight.dates.get(wanted[1]) if flight else None
        cabin = self.text("cabin")
        if isinstance(instance, AvailableFlight) and cabin in get_args(Cabin):
            return instance.prices.get(cast(Cabin, cabin))
        return None


airline = Policy("airline", AirlineCall)

ON_A_RESERVATION = tuple(tool for tool in CHANGES if tool != BOOK)

_FIRST = "Book flight, Modify flight, Cancel flight: 1st paragraph"


@airline.protocol("identity.user_id", _FIRST, *CHANGES, words=False)
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


@airline.flow("identity.own_record", _FIRST, *WRITES)
def own_record(call: AirlineCall) -> Iterator[Answer]:
    """The change is to a record of the user who gave their id."""
    owner, told = call.owner, call.user_words
    if owner is None or _gives(told, owner.user_id):
        return
    if others := _others(call, told, owner):
        text = f"the change is made for {owner.user_id}, and the user is {', '.join(others)}"
        yield Broken(text, {"user": others})


def _gives(told: str, user_id: str) -> bool:
    return user_id in told or phrases.NO_WORD.sub("", user_id) in phrases.NO_WORD.sub("", told)


def _others(call: AirlineCall, told: str, owner: User) -> list[str]:
    """Return the ids of other users that a text has."""
    found = sorted(set(phrases.USER_ID.findall(told)) - {owner.user_id})
    return [each for each in found if each in call.tools.db.users]


def known_to(call: AirlineCall) -> str:
    """Return in lower case all that was said by the user, answered by tools, or agreed to."""
    known, consent = call.talk.known_before(call.message_index).lower(), call.consent
    if consent is not None and consent.given:
        known += f"\n{consent.question.text.lower()}"
    return known


@airline.protocol("record.read", "Modify flight, Cancel flight", *ON_A_RESERVATION, words=False)
def reservation_was_read(call: AirlineCall) -> Iterator[Answer]:
    """The reservation is looked up before it is changed."""
    reservation = call.reservation
    if reservation is None:
        return
    name = reservation.reservation_id
    if not any(f'"reservation_id": "{name}"' in made.answer for made in call.calls_read):
        yield Broken(f"reservation {name} was never looked up")


@airline.state("transfer.denied", f"{TOP}, 6th paragraph", TRANSFER_TOOL, hears=True, manner=True)
def denied_is_not_transferred(call: AirlineCall) -> Iterator[Answer]:
    """A cancellation that the policy denies is refused, and not handed over."""
    summary = call.text("summary")
    if any(map(phrases.OTHER_REQUEST.search, (summary.lower(), call.user_words))):
        return
    if not phrases.CANCEL.search(summary.lower()):
        # A summary may leave out what was asked for and refused.
        asked_for = phrases.CANCEL.search(call.user_words)
        if not asked_for or not any(refusal(said.text) for said in call.agent_texts):
            return
    read = [each.call["arguments"].get("reservation_id") for each in call.calls_read]
    named = set(phrases.ID.findall(summary)) or set(map(str, read))
    found = [call.find_reservation(each) for each in named & set(map(str, read)) or read]
    asked = [each for each in found if each is not None]
    if not asked or call.wishes_for_a_human:
        return
    # What has flown, only a human can help with.
    if not any(
        call.find_flown(each)
        or each.status == "cancelled"
        or each.insurance == "yes"
        or call.may_cancel(each)
        for each in asked
    ):
        names_read = ", ".join(sorted({each.reservation_id for each in asked}))
        text = f"the policy denies to cancel {names_read}, and the user is transferred for it"
        yield Broken(text)


@airline.talk("told.flight", f"{TOP}, 4th paragraph")
def flights_told_are_known(talk: Talk) -> Iterator[Answer]:
    """The agent speaks of no flight that no tool has shown and the user has not named."""
    seen: set[str] = set()
    for said in talk.agent:
        found = phrases.OWN_FLIGHT.findall(said.text) if "HAT" in said.text else ()
        for flight in sorted(set(found) - seen):
            seen.add(flight)
            at = said.message_index
            if talk.is_known_before(flight, at):
                continue
            if not any(flight in str(made.call["arguments"]) for made in talk.calls_before(at)):
                yield Broken(f"no tool has shown flight {flight}", {}, at)


@airline.talk("told.fee", "Book flight, Checked bag allowance")
def bag_fee_is_told_right(talk: Talk) -> Iterator[Answer]:
    """The price of a bag that the agent tells is that of the policy."""
    for said, sentence in talk.agent_sentences("bag", "luggage", "suitcase"):
        for found in phrases.BAG_FEE.findall(sentence) if "$" in sentence else ():
            fee = next(filter(None, found))
            if float(fee) not in (BAGGAGE_PRICE, 0):
                text = f"a bag costs {BAGGAGE_PRICE} dollars, and the user was told ${fee}"
                yield Broken(text, {}, said.message_index)


@airline.talk("told.within_a_day", "Cancel flight, 1st condition", kind=Kind.DATA_FLOW)
def age_is_told_right(talk: Talk) -> Iterator[Answer]:
    """A reservation that is said to be made within the last day was."""
    for said, sentence in talk.agent_sentences("24 hours", "24-hour", "24 hour"):
        if not phrases.WITHIN_A_DAY.search(sentence) or phrases.LISTS_A_DAY.search(sentence):
            continue
        answers = [made.answer for made in talk.calls_before(said.message_index)]
        parts = ((phrases.RESERVATION.search(e), phrases.MADE_AT.search(e)) for e in answers)
        made_at = {one[1]: when[1] for one, when in parts if one and when}
        named = [each for each in made_at if each in said.text] or list(made_at)[-1:]
        newest = max(named, key=lambda each: made_at[each], default="")
        age = datetime.fromisoformat(NOW) - datetime.fromisoformat(made_at.get(newest, NOW))
        if age > A_DAY:
            hours, values = age // timedelta(hours=1), {"said": said.quote(sentence)}
            text = f"{newest} was made {hours} hours ago, and called made within 24"
            yield Broken(text, values, said.message_index)
            return


@airline.flow("record.known", _FIRST, *ON_A_RESERVATION)
def reservation_known(call: AirlineCall) -> Iterator[Answer]:
    """The id of the reservation was said by the user, agreed to, or found with a tool."""
    reservation_id = call.text("reservation_id")
    if call.talk.is_known_before(reservation_id, call.message_index):
        return
    if reservation_id.lower() not in known_to(call):
        yield Broken(f"nobody has named reservation {reservation_id}, and no tool has shown it")


@airline.flow("flights.known", f"{TOP}, 4th paragraph", BOOK, FLIGHTS)
def flights_known(call: AirlineCall) -> Iterator[Answer]:
    """The flights were found with a tool, which alone shows prices and free seats."""
    read = [made for made in call.calls_read if not made.failed]
    shown = [f"{made.call['arguments']} {made.answer}" for made in read]
    unknown = [one for one, day in call.flights if not any(one in e and day in e for e in shown)]
    if unknown:
        yield Broken(f"no tool has shown {', '.join(unknown)}")


_OF_PASSENGERS = "Book flight, Passengers, 2nd bullet; Modify flight, Change passengers"


@airline.spoken_flow("passengers.known", _OF_PASSENGERS, BOOK, PASSENGERS)
def passengers_known(call: AirlineCall) -> Iterator[Answer]:
    """The names and birthdays of passengers were said, agreed to, or found with a tool."""
    for passenger in call.passengers:
        keys = ("first_name", "last_name", "dob")
        *name, born = (text_of(passenger.get(key)) for key in keys)
        if all(call.talk.is_known_before(each, call.message_index) for each in (*name, born)):
            continue
        known = known_to(call)
        if any(each.lower() not in known for each in name):
            yield Broken(f"nobody has named a passenger {' '.join(name)}")
        if born and not any(names(known, each) for each in spell_date(born)):
            text = f"nobody has said that {' '.join(name)} was born on {born}"
            yield missing(text, spoken(known))


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


@airline.protocol("cancel.reason_obtained", "Cancel flight, 2nd paragraph", CANCEL, manner=True)
def reason_obtained(call: AirlineCall) -> Iterator[Answer]:
    """The agent learns why the user cancels before it cancels."""
    for said in call.user_texts:
        if phrases.REASON.search(said.lower) or phrases.COVERED.search(said.lower):
            return
    if any(phrases.ASKS_WHY.search(said.lower) for said in call.agent_texts):
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
