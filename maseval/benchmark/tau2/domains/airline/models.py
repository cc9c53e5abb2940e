"""Records of the airline: flights with their dates, customers, reservations; airports and routes.

The order of the fields is the order in which a tool's answer shows them.

A search for journeys with one stop asks for the flights of some twenty routes. The answer depends
on the loaded table alone, since no tool adds a flight or moves one; so an index is made once.

After tau2-bench v0.2.0, src/tau2/domains/airline/data_model.py (MIT, Sierra Research).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from maseval.benchmark.tau2.domains.base import DB
from maseval.benchmark.tau2.world.state.records import Record, SharedTable, Table

Cabin = Literal["business", "economy", "basic_economy"]
TripType = Literal["round_trip", "one_way"]
Insurance = Literal["yes", "no"]
Membership = Literal["gold", "silver", "regular"]


class AvailableFlight(Record):
    """A date on which seats can still be bought."""

    status: Literal["available"]
    available_seats: dict[Cabin, int]
    prices: dict[Cabin, int]


class LandedFlight(Record):
    """A date on which the flight is over."""

    status: Literal["landed"]
    actual_departure_time_est: str
    actual_arrival_time_est: str


class CancelledFlight(Record):
    status: Literal["cancelled"]


class DelayedFlight(Record):
    """A date on which the flight leaves later than planned."""

    status: Literal["delayed"]
    estimated_departure_time_est: str
    estimated_arrival_time_est: str


class FlyingFlight(Record):
    """A date on which the flight is in the air."""

    status: Literal["flying"]
    actual_departure_time_est: str
    estimated_arrival_time_est: str


class OnTimeFlight(Record):
    """A date on which the flight is about to leave as planned."""

    status: Literal["on time"]
    estimated_departure_time_est: str
    estimated_arrival_time_est: str


FlightDate = Annotated[
    AvailableFlight | LandedFlight | CancelledFlight | DelayedFlight | FlyingFlight | OnTimeFlight,
    Field(discriminator="status"),
]


class Flight(Record):
    """A flight number: one route at one time of day, on many dates.

    The route is fixed, because the index of routes is made once for all environments.
    """

    flight_number: str
    origin: str = Field(frozen=True)
    destination: str = Field(frozen=True)
    scheduled_departure_time_est: str
    scheduled_arrival_time_est: str
    dates: dict[str, FlightDate]


class DirectFlight(BaseModel):
    """A search result: a flight with the seats and prices of one date."""

    flight_number: str
    origin: str
    destination: str
    status: Literal["available"] = "available"
    scheduled_departure_time_est: str
    scheduled_arrival_time_est: str
    date: str | None = None
    available_seats: dict[Cabin, int]
    prices: dict[Cabin, int]


class AirportCode(BaseModel):
    iata: str
    city: str


class Name(Record):
    first_name: str
    last_name: str


class Address(Record):
    address1: str
    address2: str | None = None
    city: str
    country: str
    state: str
    zip: str


class CreditCard(Record):
    """Pays any amount."""

    source: Literal["credit_card"]
    id: str
    brand: str
    last_four: str


class GiftCard(Record):
    """Pays up to its balance, and keeps the rest."""

    source: Literal["gift_card"]
    id: str
    amount: float


class Certificate(Record):
    """Pays once, up to its amount; the rest is lost."""

    source: Literal["certificate"]
    id: str
    amount: float


PaymentMethod = Annotated[CreditCard | GiftCard | Certificate, Field(discriminator="source")]


class Passenger(Record):
    """A person who flies."""

    first_name: str = Field(description="The given name.")
    last_name: str = Field(description="The family name.")
    dob: str = Field(description="The date of birth, as YYYY-MM-DD.")


class Payment(Record):
    """An amount charged to a payment method, or given back to it when negative."""

    payment_id: str = Field(description="The id of a payment method in the user's profile.")
    amount: int = Field(description="The amount in dollars.")


class User(Record):
    user_id: str
    name: Name
    address: Address
    email: str
    dob: str
    payment_methods: dict[str, PaymentMethod]
    saved_passengers: list[Passenger]
    membership: Membership
    reservations: list[str]


class FlightInfo(Record):
    """One flight on one date, as a tool is asked for it."""

    flight_number: str = Field(description="The flight number, such as 'HAT001'.")
    date: str = Field(description="The date of departure, as YYYY-MM-DD.")


class ReservedFlight(Record):
    """One flight of a reservation, with the price per passenger at which it was bought."""

    flight_number: str
    origin: str
    destination: str
    date: str
    price: int


class Reservation(Record):
    """A journey that was bought."""

    reservation_id: str
    user_id: str
    origin: str
    destination: str
    flight_type: TripType
    cabin: Cabin
    flights: list[ReservedFlight]
    passengers: list[Passenger]
    payment_history: list[Payment]
    created_at: str
    total_baggages: int
    nonfree_baggages: int
    insurance: Insurance
    status: Literal["cancelled"] | None = None


class AirlineDB(DB):
    flights: Table[Flight]
    users: Table[User]
    reservations: Table[Reservation]

    def get_statistics(self) -> dict[str, int]:
        return {
            "num_flights": len(self.flights),
            "num_flights_instances": self.flights.count_in("dates"),
            "num_users": len(self.users),
            "num_reservations": len(self.reservations),
        }


AIRPORTS = {
    "SFO": "San Francisco",
    "JFK": "New York",
    "LAX": "Los Angeles",
    "ORD": "Chicago",
    "DFW": "Dallas",
    "DEN": "Denver",
    "SEA": "Seattle",
    "ATL": "Atlanta",
    "MIA": "Miami",
    "BOS": "Boston",
    "PHX": "Phoenix",
    "IAH": "Houston",
    "LAS": "Las Vegas",
    "MCO": "Orlando",
    "EWR": "Newark",
    "CLT": "Charlotte",
    "MSP": "Minneapolis",
    "DTW": "Detroit",
    "PHL": "Philadelphia",
    "LGA": "LaGuardia",
}

Index = Mapping[tuple[str | None, str | None], Sequence[str]]


def flights_between(
    flights: Table[Flight], origin: object, destination: object
) -> Iterator[Flight]:
    """The flights of a route, for reading only, in the table's order; None is any airport."""
    shared = flights.shared
    for number in _numbers(_index(shared), origin, destination):
        if number in flights:
            yield flights.view(number)
    # No tool adds flights, but a task's initial data may.
    for number in flights.added_keys():
        flight = flights.view(number)
        if origin in (None, flight.origin) and destination in (None, flight.destination):
            yield flight


@lru_cache(maxsize=32)
def _index(flights: SharedTable[Flight]) -> Index:
    index = defaultdict(list)
    for number, flight in flights.raw.items():
        # Each flight is listed under four keys, because a search may leave either end open.
        for route in product((flight["origin"], None), (flight["destination"], None)):
            index[route].append(number)
    return dict(index)


def _numbers(index: Index, origin: object, destination: object) -> Sequence[str]:
    # A model may ask for anything; what is no text, and perhaps not hashable, is no airport.
    if not (isinstance(origin, str | None) and isinstance(destination, str | None)):
        return ()
    return index.get((origin, destination), ())
