"""A call of the airline's agent with its records, and the rules about who asks and what is known.

A model may write anything into a call: what is missing, of another type or not in the database is
answered with None, or with an empty text or list.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from maseval.benchmark.tau2.domains.airline.models import (
    AirlineDB,
    Flight,
    Reservation,
    User,
)
from maseval.benchmark.tau2.domains.airline.tools import NOW
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, Policy
from maseval.benchmark.tau2.review.talk import CallMoment, Talk
from maseval.benchmark.tau2.review.values import has_date, has_spoken_numbers, is_said
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
    return value if isinstance(value, str) else ""


# A model may write a number as a text, and tools keep what they are given.
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

    def entries(self, name: str) -> list[Mapping[str, Any]]:
        value = self.arguments.get(name)
        listed = value if isinstance(value, list) else []
        return [each for each in listed if isinstance(each, Mapping)]

    def find_reservation(self, reservation_id: object) -> Reservation | None:
        return _find(self.db.reservations, reservation_id)

    def find_flight(self, flight_number: object) -> Flight | None:
        return _find(self.db.flights, flight_number)

    @cached_property
    def reservation(self) -> Reservation | None:
        return self.find_reservation(self.arguments.get("reservation_id"))

    @cached_property
    def owner(self) -> User | None:
        """The user whom the call names, or whose reservation it names."""
        owner = self.reservation.user_id if self.reservation else self.arguments.get("user_id")
        return _find(self.db.users, owner)

    @property
    def passengers(self) -> list[Mapping[str, Any]]:
        return self.entries("passengers")

    @property
    def people(self) -> int:
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
        several = [each.get("payment_id") for each in self.entries("payment_methods")]
        found = map(text_of, [self.arguments.get("payment_id"), *several])
        return [each for each in dict.fromkeys(found) if each]

    @cached_property
    def flights(self) -> list[tuple[str, str]]:
        wanted = self.entries("flights")
        return [(text_of(each.get("flight_number")), text_of(each.get("date"))) for each in wanted]

    @cached_property
    def flights_kept(self) -> dict[tuple[str, str], int]:
        before = self.reservation.flights if self.reservation else ()
        return {(each.flight_number, each.date): each.price for each in before}

    def status_of(self, flight_number: str, date: str) -> str:
        """Return the status of a flight on a date; an empty text if there is no such flight."""
        flight = self.find_flight(flight_number)
        instance = flight.dates.get(date) if flight else None
        return instance.status if instance else ""

    def statuses(self, reservation: Reservation) -> dict[tuple[str, str], str]:
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


airline = Policy("airline", AirlineCall)

ON_A_RESERVATION = tuple(tool for tool in CHANGES if tool != BOOK)

_FIRST = "Book flight, Modify flight, Cancel flight: 1st paragraph"
_USER_ID = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")
_FLIGHT = re.compile(r"\bHAT\d{3}\b")


@airline.protocol("identity.user_id", _FIRST, *CHANGES)
def user_gives_id(call: AirlineCall) -> Iterator[Answer]:
    """The user says who they are, by their user id, before anything is changed."""
    owner, told = call.owner, call.user_said.lower()
    # Giving somebody else's id breaks the next rule, which reports it.
    if owner is None or is_said(owner.user_id, told) or _others(call, told, owner):
        return
    if any(owner.user_id in each.text for each in call.agent_texts):
        yield CannotTell("the agent named the user id, and the user did not")
    elif has_spoken_numbers(told):
        yield CannotTell("the user id may have been read out")
    else:
        yield Broken("the user has not given a user id")


@airline.flow("identity.own_record", _FIRST, *WRITES)
def own_record(call: AirlineCall) -> Iterator[Answer]:
    """The change is to a record of the user who gave their id."""
    owner, told = call.owner, call.user_said.lower()
    if owner is None or is_said(owner.user_id, told):
        return
    if others := _others(call, told, owner):
        yield Broken(
            f"the change is made for {owner.user_id}, and the user is {', '.join(others)}",
            {"user": others},
        )


def _others(call: AirlineCall, told: str, owner: User) -> list[str]:
    found = sorted(set(_USER_ID.findall(told)) - {owner.user_id})
    return [each for each in found if each in call.db.users]


@airline.protocol("record.read", "Modify flight, Cancel flight", *ON_A_RESERVATION)
def reservation_was_read(call: AirlineCall) -> Iterator[Answer]:
    """The reservation is looked up before it is changed."""
    reservation = call.reservation
    if reservation is None:
        return
    name = reservation.reservation_id
    if not any(f'"reservation_id": "{name}"' in made.answer for made in call.calls_read):
        yield Broken(f"reservation {name} was never looked up")


@airline.talk("told.flight", f"{TOP}, 4th paragraph")
def flights_told_are_known(talk: Talk) -> Iterator[Answer]:
    """The agent speaks of no flight that no tool has shown and the user has not named."""
    seen: set[str] = set()
    for said in talk.agent:
        found = _FLIGHT.findall(said.text) if "HAT" in said.text else ()
        for flight in sorted(set(found) - seen):
            seen.add(flight)
            at = said.message_index
            if talk.is_known_before(flight, at):
                continue
            if not any(flight in str(made.call["arguments"]) for made in talk.calls_before(at)):
                yield Broken(f"no tool has shown flight {flight}", {}, at)


# What the agent said counts once the user has answered it.
def _is_known(call: AirlineCall, value: str) -> bool:
    if call.talk.is_known_before(value, call.message_index):
        return True
    texts = (*call.user_texts, *call.answered_texts)
    said = "\n".join(each.lower for each in texts)
    answers = call.talk.known_before(call.message_index).lower()
    return is_said(value.lower(), said) or value.lower() in answers


@airline.flow("record.known", _FIRST, *ON_A_RESERVATION)
def reservation_known(call: AirlineCall) -> Iterator[Answer]:
    """The id of the reservation was said in the conversation, or found with a tool."""
    reservation_id = call.text("reservation_id")
    if not _is_known(call, reservation_id):
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


@airline.flow("passengers.known", _OF_PASSENGERS, BOOK, PASSENGERS)
def passengers_known(call: AirlineCall) -> Iterator[Answer]:
    """The names and birthdays of passengers were said, or found with a tool."""
    for passenger in call.passengers:
        keys = ("first_name", "last_name", "dob")
        *name, born = (text_of(passenger.get(key)) for key in keys)
        if not all(_is_known(call, each) for each in name):
            yield Broken(f"nobody has named a passenger {' '.join(name)}")
        said = "\n".join(each.lower for each in (*call.user_texts, *call.answered_texts))
        if born and not (_is_known(call, born) or has_date(said, born)):
            if has_spoken_numbers(said):
                yield CannotTell(f"the birthday of {' '.join(name)} may have been read out")
            else:
                yield Broken(f"nobody has said that {' '.join(name)} was born on {born}")
