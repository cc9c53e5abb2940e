"""The records that a call of the airline's agent is about, looked up for the rules of the policy.

A model may write anything into a call. What is missing, of another type or not in the database
is answered with None, or with an empty text or list.
"""

from collections.abc import Mapping
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
from maseval.benchmark.tau2.review.policy.confirming import Consent, find_consent
from maseval.benchmark.tau2.review.policy.rules import policy_of
from maseval.benchmark.tau2.review.talk import CallMoment
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


airline = policy_of("airline", AirlineCall)
