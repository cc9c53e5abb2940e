"""The details of each change that the airline's user must hear of before the yes."""

import re
from collections.abc import Iterator, Mapping

from maseval.benchmark.tau2.domains.airline.models import Flight
from maseval.benchmark.tau2.domains.airline.routes import AIRPORTS
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.airline.journeys import (
    amount_moved,
    entries,
    find_flight,
    flights_wanted,
    number_of,
    owner_of,
    payments_of,
    reservation_of,
    text_of,
)
from maseval.benchmark.tau2.review.policy.airline.terms import CABINS, kind_words
from maseval.benchmark.tau2.review.policy.confirming import (
    Detail,
    Details,
    spell_amount,
    spell_date,
    spell_payment,
)
from maseval.benchmark.tau2.review.talk import CallMoment

_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _reservation_details(moment: CallMoment) -> Iterator[Detail]:
    reservation = reservation_of(moment)
    if reservation is not None:
        places = [re.escape(each) for each in _places(reservation.origin, reservation.destination)]
        route = re.compile("|".join(places)) if places else None
        yield Detail(
            "the reservation", reservation.reservation_id, [reservation.reservation_id], route
        )


def _places(*codes: object) -> list[str]:
    """Return airports by code and by city, in lower case."""
    found = [text_of(code) for code in codes]
    return [each.lower() for code in found if code for each in (code, AIRPORTS.get(code, code))]


def _payment_details(moment: CallMoment) -> Iterator[Detail]:
    user = owner_of(moment)
    for payment_id in payments_of(moment.arguments):
        method = user.payment_methods.get(payment_id) if user else None
        if method is None or user is None:
            continue
        forms = spell_payment(method, payment_id)
        alike = [each for each in user.payment_methods.values() if each.source == method.source]
        if len(alike) == 1:
            forms += kind_words(method)
        yield Detail("the payment method", payment_id, forms, phrases.CARD_ON_FILE)


def _flight_details(moment: CallMoment) -> Iterator[Detail]:
    reservation = reservation_of(moment)
    kept = {(f.flight_number, f.date) for f in reservation.flights} if reservation else set()
    for flight_number, date in flights_wanted(moment.arguments):
        if (flight_number, date) in kept:
            continue
        flight = find_flight(moment.tools, flight_number)
        if flight is not None:
            yield Detail("the flight", flight_number, [flight_number], _departure(flight))
            yield Detail("the date", date, spell_date(date), _same_day(date))


def _departure(flight: Flight) -> re.Pattern[str]:
    """Return a pattern for the time at which a flight leaves, on a clock of 24 or of 12 hours."""
    hours, minutes = flight.scheduled_departure_time_est.split(":")[:2]
    noon, hour = "ap"[int(hours) >= 12], (int(hours) - 1) % 12 + 1
    full = rf"\b{hours}:{minutes}\b|\b{hour}(?::{minutes})? ?{noon}\.?m"
    return re.compile(full)


def _same_day(date: str) -> re.Pattern[str]:
    day = date.rpartition("-")[2].lstrip("0")
    return re.compile(rf"same (?:day|date)|tomorrow|next day|\b{re.escape(day)}(?:st|nd|rd|th)?\b")


def _bag_details(moment: CallMoment) -> Iterator[Detail]:
    reservation = reservation_of(moment)
    total = number_of(moment.arguments.get("total_baggages"))
    before = number_of(reservation.total_baggages) or 0 if reservation else 0
    if total is None or total == before:
        return
    counts = {int(total), int(total - before)}
    forms = [form for each in counts for form in _spell_count(each)]
    yield Detail("the number of bags", int(total), forms, phrases.BAG)


def _spell_count(count: int) -> list[str]:
    if count == 1:
        return ["1", "one", "a bag", "a checked bag", "bag"]
    word = [_NUMBER_WORDS[count]] if 0 <= count < len(_NUMBER_WORDS) else []
    return [str(count), *word]


def _passenger_details(moment: CallMoment) -> Iterator[Detail]:
    for passenger in entries(moment.arguments, "passengers"):
        first, last = (text_of(passenger.get(key)) for key in ("first_name", "last_name"))
        if first:
            yield Detail("the passenger", f"{first} {last}", [first, last], phrases.PEOPLE)


def _booking_details(moment: CallMoment) -> Iterator[Detail]:
    yield from _flight_details(moment)
    yield from _passenger_details(moment)
    yield from _payment_details(moment)
    yield from _cabin_details(moment)
    yield from _bag_details(moment)
    total = amount_moved(moment)
    for payment in entries(moment.arguments, "payment_methods") if total else ():
        # The parts are as good as their sum.
        forms = [*spell_amount(total or 0), *spell_amount(number_of(payment.get("amount")) or 0)]
        yield Detail("the price", total, forms, phrases.ANY_PRICE)


def _cabin_details(moment: CallMoment) -> Iterator[Detail]:
    cabin = text_of(moment.arguments.get("cabin"))
    reservation = reservation_of(moment)
    if cabin in CABINS and (reservation is None or reservation.cabin != cabin):
        yield Detail("the cabin", cabin, [CABINS[cabin]])


def _change_details(moment: CallMoment) -> Iterator[Detail]:
    yield from _reservation_details(moment)
    yield from _flight_details(moment)
    yield from _cabin_details(moment)
    if amount_moved(moment):
        yield from _payment_details(moment)


def _bags_change_details(moment: CallMoment) -> Iterator[Detail]:
    yield from _reservation_details(moment)
    yield from _bag_details(moment)
    if amount_moved(moment):
        yield from _payment_details(moment)


def _new_passenger_details(moment: CallMoment) -> Iterator[Detail]:
    yield from _reservation_details(moment)
    yield from _passenger_details(moment)


DETAILS: Mapping[str, Details] = {
    "book_reservation": _booking_details,
    "cancel_reservation": _reservation_details,
    "update_reservation_flights": _change_details,
    "update_reservation_baggages": _bags_change_details,
    "update_reservation_passengers": _new_passenger_details,
}
