"""An airline with one customer, one reservation and four flights."""

from typing import Any

from maseval.benchmark.tau2.domains.airline.models import AirlineDB
from maseval.benchmark.tau2.domains.airline.tools import AirlineTools

ANN = {"first_name": "Ann", "last_name": "Lee", "dob": "1990-01-01"}
BEN = {"first_name": "Ben", "last_name": "Lee", "dob": "1991-01-01"}


def available(economy: int = 200, seats: int = 9) -> dict[str, Any]:
    return {
        "status": "available",
        "available_seats": {"business": 1, "economy": seats, "basic_economy": seats},
        "prices": {"business": 900, "economy": economy, "basic_economy": 50},
    }


def flight(
    number: str,
    origin: str = "JFK",
    destination: str = "SFO",
    departs: str = "10:00:00",
    arrives: str = "12:00:00",
    **dates: Any,
) -> dict[str, Any]:
    return {
        "flight_number": number,
        "origin": origin,
        "destination": destination,
        "scheduled_departure_time_est": departs,
        "scheduled_arrival_time_est": arrives,
        "dates": {f"2024-05-{day[1:]}": status for day, status in dates.items()},
    }


USER = {
    "user_id": "ann",
    "name": {"first_name": "Ann", "last_name": "Lee"},
    "address": {
        "address1": "1 Elm St",
        "city": "Rome",
        "country": "USA",
        "state": "NY",
        "zip": "13440",
    },
    "email": "ann@example.com",
    "dob": "1990-01-01",
    "payment_methods": {
        "card": {"source": "credit_card", "id": "card", "brand": "visa", "last_four": "1111"},
        "gift": {"source": "gift_card", "id": "gift", "amount": 300},
        "voucher": {"source": "certificate", "id": "voucher", "amount": 100},
    },
    "saved_passengers": [],
    "membership": "gold",
    "reservations": ["R1"],
}
SEGMENT = {"flight_number": "HAT1", "origin": "JFK", "destination": "SFO", "date": "2024-05-20"}
RESERVATION = {
    "reservation_id": "R1",
    "user_id": "ann",
    "origin": "JFK",
    "destination": "SFO",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [{**SEGMENT, "price": 150}],
    "passengers": [ANN],
    "payment_history": [{"payment_id": "card", "amount": 150}],
    "created_at": "2024-05-01T00:00:00",
    "total_baggages": 1,
    "nonfree_baggages": 0,
    "insurance": "no",
}
FLIGHTS = [
    flight("HAT1", d20=available(), d21=available(), d10={"status": "cancelled"}),
    flight("HAT2", "SFO", "LAX", "13:00:00", "14:00:00", d20=available()),
    flight("HAT3", "SFO", "LAX", "11:00:00", "12:00:00", d20=available(), d21=available()),
    flight("HAT4", "JFK", "SFO", "23:00:00", "01:00:00+1", d20=available()),
]


CONTENT = {
    "flights": {entry["flight_number"]: entry for entry in FLIGHTS},
    "users": {"ann": USER},
    "reservations": {"R1": RESERVATION},
}


def airline(
    reservation: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    flights: dict[str, Any] | None = None,
) -> AirlineTools:
    """The airline's tools, with these changes to its reservation, its customer, its flights."""
    changed = {
        "flights": {**CONTENT["flights"], **(flights or {})},
        "reservations": {"R1": {**RESERVATION, **(reservation or {})}},
        "users": {"ann": {**USER, **(user or {})}},
    }
    return AirlineTools(AirlineDB.model_validate({**CONTENT, **changed}))


def booking(**changes: Any) -> dict[str, Any]:
    return {
        "user_id": "ann",
        "origin": "JFK",
        "destination": "SFO",
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": [{"flight_number": "HAT1", "date": "2024-05-20"}],
        "passengers": [ANN, BEN],
        "payment_methods": [
            {"payment_id": "gift", "amount": 250},
            {"payment_id": "voucher", "amount": 60},
            {"payment_id": "card", "amount": 200},
        ],
        "total_baggages": 3,
        "nonfree_baggages": 1,
        "insurance": "yes",
        **changes,
    }
