"""Prohibitions of the airline's policy, as far as the database decides them."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from maseval.benchmark.tau2.domains.airline.models import (
    Certificate,
    CreditCard,
    GiftCard,
    Reservation,
    User,
)
from maseval.benchmark.tau2.domains.airline.tools import NOW, AirlineTools

MOST_PASSENGERS = 5
_FREE_BAGS = {"basic_economy": 0, "economy": 1, "business": 2}
_EXTRA_FREE_BAGS = {"regular": 0, "silver": 1, "gold": 2}
_MOST_OF_A_KIND = {Certificate: 1, CreditCard: 1, GiftCard: 3}
_FLOWN = ("landed", "flying")
_COVERED = re.compile(
    r"\b(?:sick|ill(?:ness)?|health|medical|doctor|hospital|surgery|injur|pregnan|unwell|covid"
    r"|weather|storm|hurricane|snow|flood)",
    re.IGNORECASE,
)


def booking(tools: AirlineTools, arguments: Mapping[str, Any]) -> Iterator[str]:
    """At most five passengers, few payment methods, bags paid for as the membership says."""
    user, passengers = tools.db.users.view(arguments["user_id"]), len(arguments["passengers"])
    if passengers > MOST_PASSENGERS:
        yield f"{passengers} passengers, where {MOST_PASSENGERS} are allowed"
    methods = [user.payment_methods.get(p["payment_id"]) for p in arguments["payment_methods"]]
    for kind, most in _MOST_OF_A_KIND.items():
        used = sum(isinstance(method, kind) for method in methods)
        if used > most:
            yield f"{used} payment methods of the kind {kind.__name__}, where {most} may be used"
    yield from _bags(user, arguments["cabin"], passengers, arguments)


def cancellation(tools: AirlineTools, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Not flown, and recent, cancelled by the airline, business, or insured."""
    reservation = tools.db.reservations.view(arguments["reservation_id"])
    statuses = [_status(tools, flight) for flight in reservation.flights]
    if any(status in _FLOWN for status in statuses):
        yield "a part of the journey has already been flown"
    if reservation.insurance != "yes" and not _free_to_cancel(reservation, statuses):
        yield (
            f"reservation {reservation.reservation_id} was made at {reservation.created_at}, is "
            f"{reservation.cabin}, has no insurance and no flight cancelled by the airline"
        )


def reason_to_cancel(tools: AirlineTools, arguments: Mapping[str, Any], told: str) -> Iterator[str]:
    """Require a reason that the insurance covers, if only the insurance allows the cancellation."""
    reservation = tools.db.reservations.view(arguments["reservation_id"])
    statuses = [_status(tools, flight) for flight in reservation.flights]
    insured_only = reservation.insurance == "yes" and not _free_to_cancel(reservation, statuses)
    if insured_only and not _COVERED.search(told):
        yield (
            f"reservation {reservation.reservation_id} may be cancelled only because of health or "
            "weather, and the task gives the user no such reason"
        )


def _free_to_cancel(reservation: Reservation, statuses: list[str]) -> bool:
    """Return True if it may be cancelled whatever the reason is."""
    age = datetime.fromisoformat(NOW) - datetime.fromisoformat(reservation.created_at)
    recent = age <= timedelta(hours=24)
    return recent or reservation.cabin == "business" or "cancelled" in statuses


def change_of_flights(tools: AirlineTools, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Basic economy keeps its flights, journeys keep their ends, flown ones their cabin."""
    reservation = tools.db.reservations.view(arguments["reservation_id"])
    before = [(flight.flight_number, flight.date) for flight in reservation.flights]
    after = [(flight["flight_number"], flight["date"]) for flight in arguments["flights"]]
    if reservation.cabin == "basic_economy" and before != after:
        yield "the flights of a basic economy reservation are changed"
    flown = any(_status(tools, flight) in _FLOWN for flight in reservation.flights)
    if flown and arguments["cabin"] != reservation.cabin:
        yield "the cabin is changed although a flight has already been flown"
    yield from _other_journey(tools, reservation, after)


def _other_journey(
    tools: AirlineTools, reservation: Reservation, after: list[tuple[str, str]]
) -> Iterator[str]:
    first, last = (tools.db.flights.view(after[at][0]) for at in (0, -1))
    end = reservation.destination
    if reservation.flight_type == "round_trip":
        end = reservation.origin
    if first.origin != reservation.origin or last.destination != end:
        yield (
            f"the journey becomes {first.origin} to {last.destination}, where it was "
            f"{reservation.origin} to {end}"
        )
    reached = [tools.db.flights.view(number).destination for number, _ in after]
    if reservation.destination not in reached:
        yield f"the journey no longer goes to {reservation.destination}"


def change_of_bags(tools: AirlineTools, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Bags may be added and not removed; those beyond the allowance are paid for."""
    reservation = tools.db.reservations.view(arguments["reservation_id"])
    if arguments["total_baggages"] < reservation.total_baggages:
        yield (
            f"{arguments['total_baggages']} bags, where there were {reservation.total_baggages} "
            "and none may be removed"
        )
    user = tools.db.users.view(reservation.user_id)
    yield from _bags(user, reservation.cabin, len(reservation.passengers), arguments)


def certificate(tools: AirlineTools, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Compensation needs a member, insurance or business, and a ground: see ``_grounds``."""
    user = tools.db.users.view(arguments["user_id"])
    journeys = [tools.db.reservations.view(each) for each in user.reservations]
    if user.membership == "regular" and not any(
        journey.insurance == "yes" or journey.cabin == "business" for journey in journeys
    ):
        yield "a regular member without insurance or a business flight is compensated"
    amounts = {rate * len(journey.passengers) for journey in journeys for rate in (50, 100)}
    if arguments["amount"] not in amounts:
        yield f"{arguments['amount']} is 50 or 100 dollars a passenger of no reservation"
    elif not any(_grounds(tools, journey, arguments["amount"]) for journey in journeys):
        yield (
            f"{arguments['amount']} is sent although the airline cancelled no flight, and no "
            "reservation was changed or cancelled because of a delay"
        )


def _grounds(tools: AirlineTools, journey: Reservation, amount: float) -> bool:
    """100 a passenger for a cancelled flight, 50 for a delay after which the journey is changed.

    A changed journey is told by what was paid or refunded after the booking.
    """
    people = len(journey.passengers)
    if amount == 100 * people:
        return any(_status(tools, flight) == "cancelled" for flight in journey.flights)
    changed = journey.status == "cancelled" or len(journey.payment_history) > 1
    return amount == 50 * people and changed


def _bags(user: User, cabin: str, passengers: int, arguments: Mapping[str, Any]) -> Iterator[str]:
    free = (_FREE_BAGS[cabin] + _EXTRA_FREE_BAGS[user.membership]) * passengers
    due = max(0, arguments["total_baggages"] - free)
    if arguments["nonfree_baggages"] != due:
        yield (
            f"{arguments['nonfree_baggages']} bags are paid for, where a {user.membership} member "
            f"in {cabin} with {passengers} passengers and {arguments['total_baggages']} bags "
            f"pays for {due}"
        )


def _status(tools: AirlineTools, flight: Any) -> str:
    status: str = tools.get_flight_status(flight.flight_number, flight.date)
    return status


PRECONDITIONS = {
    "book_reservation": booking,
    "cancel_reservation": cancellation,
    "update_reservation_flights": change_of_flights,
    "update_reservation_baggages": change_of_bags,
    "send_certificate": certificate,
}

SPOKEN_CONDITIONS = {"cancel_reservation": reason_to_cancel}
