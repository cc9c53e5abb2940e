"""The records that a call of the airline's agent is about, looked up for the rules of the policy.

A model may write anything into a call. What is missing, of another type or not in the database
is answered with None, or with an empty text or list.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast, get_args

from maseval.benchmark.tau2.domains.airline.models import (
    AvailableFlight,
    Cabin,
    Flight,
    Reservation,
    User,
)
from maseval.benchmark.tau2.domains.airline.tools import BAGGAGE_PRICE, NOW, AirlineTools
from maseval.benchmark.tau2.review.policy.rules import policy_of
from maseval.benchmark.tau2.review.talk import CallMoment
from maseval.benchmark.tau2.world.state.records import RecordT, Table

airline = policy_of("airline")
TOP = "Airline Agent Policy"
BOOK, CANCEL = "book_reservation", "cancel_reservation"
FLIGHTS, BAGGAGES = "update_reservation_flights", "update_reservation_baggages"
PASSENGERS = "update_reservation_passengers"
CHANGES = (BOOK, CANCEL, BAGGAGES, FLIGHTS, PASSENGERS)
WRITES = (*CHANGES, "send_certificate")
FLOWN = ("landed", "flying")
A_DAY = timedelta(hours=24)


class Route(NamedTuple):
    """The journey of a reservation."""

    origin: str
    destination: str
    returns: bool

    @classmethod
    def of(cls, reservation: Reservation) -> "Route":
        returns = reservation.flight_type == "round_trip"
        return cls(reservation.origin, reservation.destination, returns)

    @property
    def end(self) -> str:
        return self.origin if self.returns else self.destination

    @property
    def text(self) -> str:
        back = f" and back to {self.origin}" if self.returns else ""
        return f"{self.origin} to {self.destination}{back}"


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


def entries(arguments: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the mappings in a list among the arguments."""
    value = arguments.get(key)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def payments_of(arguments: Mapping[str, Any]) -> list[str]:
    """Return the ids of the payment methods that a call uses."""
    several = [each.get("payment_id") for each in entries(arguments, "payment_methods")]
    found = map(text_of, [arguments.get("payment_id"), *several])
    return [each for each in dict.fromkeys(found) if each]


def flights_wanted(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the flight numbers and dates among the arguments."""
    wanted = entries(arguments, "flights")
    return [(text_of(each.get("flight_number")), text_of(each.get("date"))) for each in wanted]


def find_user(tools: AirlineTools, user_id: object) -> User | None:
    return _find(tools.db.users, user_id)


def find_reservation(tools: AirlineTools, reservation_id: object) -> Reservation | None:
    return _find(tools.db.reservations, reservation_id)


def find_flight(tools: AirlineTools, flight_number: object) -> Flight | None:
    return _find(tools.db.flights, flight_number)


def _find(table: Table[RecordT], key: object) -> RecordT | None:
    try:
        return table.view(key) if isinstance(key, str) else None
    except KeyError:
        return None


def reservation_of(moment: CallMoment) -> Reservation | None:
    """Return the reservation that a call names."""
    return find_reservation(moment.tools, moment.arguments.get("reservation_id"))


def owner_of(moment: CallMoment) -> User | None:
    """Return the user whom a call names, or whose reservation it names."""
    reservation = reservation_of(moment)
    owner = reservation.user_id if reservation else moment.arguments.get("user_id")
    return find_user(moment.tools, owner)


def status_of(tools: AirlineTools, flight_number: str, date: str) -> str:
    """Return the status of a flight on a date; an empty text if there is no such flight."""
    flight = find_flight(tools, flight_number)
    instance = flight.dates.get(date) if flight else None
    return instance.status if instance else ""


def statuses(moment: CallMoment, reservation: Reservation) -> dict[tuple[str, str], str]:
    """Return the status of each flight of a reservation."""
    flights = [(flight.flight_number, flight.date) for flight in reservation.flights]
    return {flight: status_of(moment.tools, *flight) for flight in flights}


def find_flown(moment: CallMoment, reservation: Reservation) -> str:
    """Return the first flight of a reservation that has left."""
    for (flight_number, date), status in statuses(moment, reservation).items():
        if status in FLOWN:
            return f"{flight_number} on {date}"
    return ""


def free_to_cancel(moment: CallMoment, reservation: Reservation) -> bool:
    """Return True if a reservation may be cancelled whatever the reason is."""
    age = datetime.fromisoformat(NOW) - datetime.fromisoformat(reservation.created_at)
    if age <= A_DAY or reservation.cabin == "business":
        return True
    return "cancelled" in statuses(moment, reservation).values()


def amount_moved(moment: CallMoment) -> float | None:
    """Return what a call charges, negative for a refund; None if the record does not say."""
    reservation, arguments = reservation_of(moment), moment.arguments
    match moment.call["name"]:
        case "book_reservation":
            paid = [number_of(each.get("amount")) for each in entries(arguments, "payment_methods")]
            return sum(each for each in paid if each is not None)
        case "cancel_reservation" if reservation:
            return -sum(payment.amount for payment in reservation.payment_history)
        case "update_reservation_baggages" if reservation:
            charged = number_of(arguments.get("nonfree_baggages")) or 0
            return BAGGAGE_PRICE * max(0, charged - (number_of(reservation.nonfree_baggages) or 0))
        case "update_reservation_flights" if reservation:
            return _difference(moment, reservation)
    return None


def _difference(moment: CallMoment, reservation: Reservation) -> float | None:
    """Return what other flights or another cabin cost more than the present ones."""
    kept = {(f.flight_number, f.date): f.price for f in reservation.flights}
    same_cabin = moment.arguments.get("cabin") == reservation.cabin
    after = 0
    for flight in flights_wanted(moment.arguments):
        price = kept[flight] if same_cabin and flight in kept else _fare(moment, flight)
        if price is None:
            return None
        after += price
    before = sum(flight.price for flight in reservation.flights)
    return (after - before) * len(reservation.passengers)


def new_fares(moment: CallMoment) -> list[int]:
    """Return the present prices of the flights that a call adds."""
    reservation = reservation_of(moment)
    kept = [(f.flight_number, f.date) for f in reservation.flights] if reservation else []
    if reservation and moment.arguments.get("cabin") != reservation.cabin:
        kept = []
    added = [flight for flight in flights_wanted(moment.arguments) if flight not in kept]
    fares = [_fare(moment, flight) for flight in added]
    return [fare for fare in fares if fare is not None]


def _fare(moment: CallMoment, wanted: tuple[str, str]) -> int | None:
    flight = find_flight(moment.tools, wanted[0])
    instance = flight.dates.get(wanted[1]) if flight else None
    cabin = text_of(moment.arguments.get("cabin"))
    if isinstance(instance, AvailableFlight) and cabin in get_args(Cabin):
        return instance.prices.get(cast(Cabin, cabin))
    return None
