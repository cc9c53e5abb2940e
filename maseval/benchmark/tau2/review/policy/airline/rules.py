"""The airline's policy as rules: what the database says about each change an agent makes.

The details of each change must have been heard by the user before the yes. Rules about what was
said are in ``terms`` and ``conduct``.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from maseval.benchmark.tau2.domains.airline.models import (
    AIRPORTS,
    Certificate,
    CreditCard,
    Flight,
    GiftCard,
    PaymentMethod,
)
from maseval.benchmark.tau2.review.plain_text import NUMBERS
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.absence import missing, spoken
from maseval.benchmark.tau2.review.policy.airline import conduct, terms
from maseval.benchmark.tau2.review.policy.airline.conduct import (
    BAGGAGES,
    BOOK,
    CANCEL,
    CHANGES,
    FLIGHTS,
    PASSENGERS,
    TOP,
    WRITES,
    AirlineCall,
    airline,
    number_of,
    text_of,
)
from maseval.benchmark.tau2.review.policy.airline.terms import CABINS
from maseval.benchmark.tau2.review.policy.claims import AIRLINE_CLAIMS, only_done_is_claimed
from maseval.benchmark.tau2.review.policy.confirming import (
    explicit_yes,
    names,
    no_text_beside_a_call,
    nothing_after_a_transfer,
    one_call_at_a_time,
    spell_date,
    transfer_is_announced,
    transfer_is_wanted,
)
from maseval.benchmark.tau2.review.policy.payments import methods_named
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, rules_in
from maseval.benchmark.tau2.review.policy.told import Offer, Offers, claims_are_true


class Detail(NamedTuple):
    """A part of an action that the user must hear of before the yes.

    ``is_named`` finds it in a text in lower case, ``paraphrase`` words that may stand for it.
    """

    name: str
    value: object
    is_named: Callable[[str], bool]
    paraphrase: str | re.Pattern[str] = "$^"


def _spelled(*forms: str | re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: any(names(text, form) for form in forms)


def _details(call: AirlineCall) -> Iterator[Detail]:
    """Yield what an action is about, by the arguments that it has."""
    reservation, moved, cabin = call.reservation, call.moved, call.text("cabin")
    if reservation is not None:
        codes = (reservation.origin, reservation.destination)
        places = [place.lower() for code in codes for place in (code, AIRPORTS.get(code, code))]
        name = reservation.reservation_id
        yield Detail("the reservation", name, _spelled(name), "|".join(map(re.escape, places)))
    for flight_number, date in call.flights:
        flight = call.find_flight(flight_number)
        if flight is not None and (flight_number, date) not in call.flights_kept:
            yield Detail("the flight", flight_number, _spelled(flight_number), _departure(flight))
            day = re.escape(date.rpartition("-")[2].lstrip("0"))
            same = rf"same (?:day|date)|tomorrow|next day|\b{day}(?:st|nd|rd|th)?\b"
            yield Detail("the date", date, _spelled(*spell_date(date)), same)
    for passenger in call.passengers:
        first, last = (text_of(passenger.get(key)) for key in ("first_name", "last_name"))
        if first:
            yield Detail("the passenger", f"{first} {last}", _spelled(first, last), phrases.PEOPLE)
    methods = call.owner.payment_methods if call.owner and moved else {}
    for payment_id in call.payments:
        if payment_id in methods:
            is_named = partial(_names_method, payment_id, methods)
            yield Detail("the payment method", payment_id, is_named, phrases.CARD_ON_FILE)
    if cabin in CABINS and (reservation is None or reservation.cabin != cabin):
        yield Detail("the cabin", cabin, _spelled(CABINS[cabin]))
    total, before = call.bags, call.bags_before
    if total is not None and total != before:
        counts = {int(total), int(total - before)}
        forms = [form for each in counts for form in _spell_count(each)]
        yield Detail("the number of bags", int(total), _spelled(*forms), phrases.BAG)
    for payment in call.entries("payment_methods") if moved else ():
        # The parts are as good as their sum.
        amounts = (moved or 0, number_of(payment.get("amount")) or 0)
        forms = [form for each in amounts for form in (f"{each:.2f}", f"{each:g}")]
        yield Detail("the price", moved, _spelled(*forms), phrases.AMOUNT)


def _names_method(payment_id: str, methods: Mapping[str, PaymentMethod], text: str) -> bool:
    return payment_id in methods_named(text, methods)


def _departure(flight: Flight) -> str:
    """Return a pattern for the time at which a flight leaves, on a clock of 24 or of 12 hours."""
    hours, minutes = flight.scheduled_departure_time_est.split(":")[:2]
    noon, hour = "ap"[int(hours) >= 12], (int(hours) - 1) % 12 + 1
    return rf"\b{hours}:{minutes}\b|\b{hour}(?::{minutes})? ?{noon}\.?m"


def _spell_count(count: int) -> list[str]:
    if count == 1:
        return ["1", "one", "a bag", "a checked bag", "bag"]
    return [str(count), *(word for word, number in NUMBERS.items() if number == count)]


MANY_DETAILS = 4


@airline.protocol("confirm.details", f"{TOP}, 3rd paragraph", *CHANGES, manner=True)
def details_are_told(call: AirlineCall) -> Iterator[Answer]:
    """The details of the action are named to the user before the yes, or by the user."""
    consent = call.consent
    if consent is None:
        return
    # Most details stand in the question, which is short.
    absent = [part for part in _details(call) if not part.is_named(consent.question.lower)]
    heard = (*call.talk.agent_before(consent.reply.message_index), *call.user_texts)
    absent = [p for p in absent if not any(p.is_named(each.lower) for each in heard)]
    said = "\n".join(each.lower for each in heard) if absent else ""
    unsaid = [part for part in absent if not re.search(part.paraphrase, said)]
    if unsaid:
        values = {part.name: part.value for part in unsaid}
        text = f"the user was not told {', '.join(values)} before the yes"
        few = len(values) < MANY_DETAILS  # what was read out would be all of them
        yield missing(text, spoken(consent.question.lower) if few else "", values)
    elif absent:
        named = ", ".join(dict.fromkeys(part.name for part in absent))
        yield CannotTell(f"{named} may have been said in other words")


MOST_PASSENGERS = 5
_FREE_BAGS = {"basic_economy": 0, "economy": 1, "business": 2}
_EXTRA_FREE_BAGS = {"regular": 0, "silver": 1, "gold": 2}
_MOST_OF_A_KIND = {
    "certificates": (Certificate, 1),
    "credit cards": (CreditCard, 1),
    "gift cards": (GiftCard, 3),
}


@airline.state("book.passengers", "Book flight, Passengers, 1st bullet", BOOK)
def few_passengers(call: AirlineCall) -> Iterator[Answer]:
    """A reservation has at most five passengers."""
    passengers = len(call.passengers)
    if passengers > MOST_PASSENGERS:
        yield Broken(f"{passengers} passengers are booked, but only {MOST_PASSENGERS} are allowed")


@airline.state("book.payment_kinds", "Book flight, Payment, 1st bullet", BOOK)
def few_payments(call: AirlineCall) -> Iterator[Answer]:
    """A booking is paid with at most one certificate, one credit card and three gift cards."""
    user = call.owner
    if user is None:
        return
    methods = [user.payment_methods.get(each) for each in call.payments]
    for name, (kind, most) in _MOST_OF_A_KIND.items():
        used = sum(isinstance(method, kind) for method in methods)
        if used > most:
            yield Broken(f"{used} {name} pay for one booking, but only {most} may be used")


@airline.state(
    "payment.in_profile", "Book flight, Payment, 3rd bullet; Modify flight, Payment", *terms.PAID
)
def payment_in_profile(call: AirlineCall) -> Iterator[Answer]:
    """Every payment method is one of the user's profile."""
    user = call.owner
    for payment_id in call.payments:
        if user is not None and payment_id not in user.payment_methods:
            yield Broken(f"{payment_id} is not a payment method of {user.user_id}")


@airline.state("flights.payment_kind", "Modify flight, Payment", FLIGHTS, BAGGAGES)
def change_paid_by_card(call: AirlineCall) -> Iterator[Answer]:
    """A change is paid for, or refunded to, a gift card or a credit card."""
    user = call.owner
    for payment_id in call.payments:
        if user and isinstance(user.payment_methods.get(payment_id), Certificate):
            yield Broken(f"the change is settled with the certificate {payment_id}")


def _bags_paid(call: AirlineCall) -> Iterator[Answer]:
    """Bags beyond the allowance of cabin and membership are paid for, and no others."""
    user, reservation, total = call.owner, call.reservation, call.bags
    cabin = reservation.cabin if reservation else call.text("cabin")
    charged, free = number_of(call.arguments.get("nonfree_baggages")), _FREE_BAGS.get(cabin)
    if user is None or total is None or charged is None or free is None:
        return
    due = max(0, total - (free + _EXTRA_FREE_BAGS[user.membership]) * call.people)
    # What was paid for before stays paid for, whatever it should have been.
    paid = number_of(reservation.nonfree_baggages) or 0 if reservation else 0
    if charged not in (due, max(due, paid)):
        yield Broken(
            f"{charged:g} of {total:g} bags are charged, where a {user.membership} member in "
            f"{cabin} with {call.people} passengers pays for {due:g}"
        )


_BOOKED_BAGS = airline.state("book.bags", "Book flight, Checked bag allowance", BOOK)(_bags_paid)
_ADDED_BAGS = airline.state(
    "bags.paid", "Book flight, Checked bag allowance; Modify flight, Change baggage", BAGGAGES
)(_bags_paid)


@airline.state("bags.removed", "Modify flight, Change baggage and insurance, 1st bullet", BAGGAGES)
def no_bag_removed(call: AirlineCall) -> Iterator[Answer]:
    """Bags may be added to a reservation, and not removed."""
    before, after = call.bags_before, call.bags
    if call.reservation is not None and after is not None and after < before:
        yield Broken(f"the bags go from {before:g} to {after:g}, and none may be removed")


@airline.state("flights.bookable", "Domain Basic, Flight", BOOK, FLIGHTS)
def flights_can_be_booked(call: AirlineCall) -> Iterator[Answer]:
    """A flight is taken on a date on which it is available."""
    for wanted in call.flights:
        status = call.status_of(*wanted)
        if wanted not in call.flights_kept and status != "available":
            text = f"flight {wanted[0]} on {wanted[1]} is taken, which is {status or 'unknown'}"
            yield Broken(text)


@airline.state("book.journey", "Book flight, 2nd paragraph", BOOK)
def booked_journey(call: AirlineCall) -> Iterator[Answer]:
    """The flights of a booking lead from origin to destination, and back on a round trip."""
    yield from _other_journey(call, *map(call.text, ("origin", "destination", "flight_type")))


@airline.state("flights.journey", "Modify flight, Change flights, 2nd bullet", FLIGHTS)
def same_journey(call: AirlineCall) -> Iterator[Answer]:
    """A changed reservation keeps its origin, its destination and its type of trip."""
    kept = call.reservation
    if kept is not None:
        yield from _other_journey(call, kept.origin, kept.destination, kept.flight_type)


def _other_journey(
    call: AirlineCall, origin: str, destination: str, flight_type: str
) -> Iterator[Answer]:
    """Say in which way flights are not the journey that is wanted."""
    flights = [call.find_flight(flight_number) for flight_number, _ in call.flights]
    legs = [(each.origin, each.destination) for each in flights if each is not None]
    if len(legs) < len(flights):
        return  # the tool refuses it
    returns = flight_type == "round_trip"
    wanted = f"{origin} to {destination}{f' and back to {origin}' if returns else ''}"
    broken = [reached for (_, reached), (left, _) in pairwise(legs) if reached != left]
    if not legs:
        yield Broken(f"no flight is left of the journey {wanted}")
    elif (legs[0][0], legs[-1][1]) != (origin, origin if returns else destination):
        text = f"the flights go from {legs[0][0]} to {legs[-1][1]}, but the journey is {wanted}"
        yield Broken(text)
    elif destination not in [reached for _, reached in legs]:
        yield Broken(f"the flights do not go to {destination}")
    elif broken:
        yield Broken(f"a flight arrives at {broken[0]}, from where the next one does not leave")


@airline.state("flights.basic_economy", "Modify flight, Change flights, 1st bullet", FLIGHTS)
def basic_economy_stays(call: AirlineCall) -> Iterator[Answer]:
    """The flights of a basic economy reservation are not changed."""
    reservation = call.reservation
    if reservation is None or reservation.cabin != "basic_economy":
        return
    before = [(flight.flight_number, flight.date) for flight in reservation.flights]
    after = call.flights
    if sorted(before) != sorted(after):
        text = f"the flights of the basic economy reservation {reservation.reservation_id} change"
        yield Broken(text)


@airline.state("cabin.flown", "Modify flight, Change cabin, 1st bullet", FLIGHTS)
def cabin_before_departure(call: AirlineCall) -> Iterator[Answer]:
    """The cabin changes only while no flight of the reservation has been flown."""
    reservation, cabin = call.reservation, call.arguments.get("cabin")
    if reservation is None or cabin == reservation.cabin:
        return
    flight = call.find_flown(reservation)
    if flight:
        yield Broken(f"the cabin becomes {cabin} although flight {flight} has already been flown")


@airline.state("passengers.number", "Modify flight, Change passengers, 1st bullet", PASSENGERS)
def as_many_passengers(call: AirlineCall) -> Iterator[Answer]:
    """A change of passengers keeps their number."""
    before, after = call.people, len(call.passengers)
    if call.reservation is not None and after != before:
        yield Broken(f"the passengers go from {before} to {after}")


@airline.state("cancel.flown", "Cancel flight, 3rd paragraph", CANCEL)
def cancelled_before_departure(call: AirlineCall) -> Iterator[Answer]:
    """A reservation is not cancelled once a part of it has been flown."""
    reservation = call.reservation
    flight = call.find_flown(reservation) if reservation else ""
    if flight:
        yield Broken(f"flight {flight} has already been flown")


@airline.state("cancel.eligible", "Cancel flight, list of conditions", CANCEL)
def may_be_cancelled(call: AirlineCall) -> Iterator[Answer]:
    """Only what is a day old, business, insured or grounded by the airline is cancelled."""
    reservation = call.reservation
    if reservation is None or reservation.insurance == "yes":
        return
    if not call.may_cancel(reservation):
        yield Broken(
            f"reservation {reservation.reservation_id} was made at {reservation.created_at}, is "
            f"{reservation.cabin}, has no insurance and no flight that the airline cancelled"
        )


def flights_shown(answer: Any) -> Iterator[Offers]:
    """Yield the flights of a search, by cabin."""
    for cabin, name in CABINS.items():
        offers = (
            Offer(each["flight_number"], each["prices"][cabin], each["available_seats"][cabin] > 0)
            for each in answer
        )
        yield Offers(name, tuple(offers))


_CONFIRM, _ONE_CALL, _TRANSFER = (f"{TOP}, {each} paragraph" for each in ("3rd", "5th", "7th"))
RULES = (
    *rules_in(globals(), vars(terms), vars(conduct)),
    explicit_yes("airline", _CONFIRM, CHANGES),
    one_call_at_a_time("airline", _ONE_CALL),
    no_text_beside_a_call("airline", _ONE_CALL),
    transfer_is_announced("airline", _TRANSFER),
    nothing_after_a_transfer("airline", _TRANSFER, WRITES),
    transfer_is_wanted("airline", _TRANSFER),
    *claims_are_true(
        "airline", f"{TOP}, 4th paragraph", "search_direct_flight", flights_shown, r"hat\d{3}"
    ),
    only_done_is_claimed("airline", f"{TOP}, 4th paragraph", AIRLINE_CLAIMS, WRITES),
)
