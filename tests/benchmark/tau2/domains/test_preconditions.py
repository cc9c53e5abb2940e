"""What the policies forbid, as far as a database decides it."""

import pytest

from maseval.benchmark.tau2.domains.airline.preconditions import PRECONDITIONS as AIRLINE
from maseval.benchmark.tau2.domains.airline.preconditions import SPOKEN_CONDITIONS
from maseval.benchmark.tau2.domains.retail.preconditions import PRECONDITIONS as RETAIL
from maseval.benchmark.tau2.domains.telecom.models import TelecomDB
from maseval.benchmark.tau2.domains.telecom.preconditions import PRECONDITIONS as TELECOM
from maseval.benchmark.tau2.domains.telecom.tools import TelecomTools
from tests.benchmark.tau2.domains.small_airline import ANN, SEGMENT, airline, booking, flight


def broken(tools, tool, arguments):
    return list(AIRLINE[tool](tools, arguments))


@pytest.mark.parametrize(("passengers", "allowed"), [(4, True), (5, True), (6, False)])
def test_at_most_five_passengers_travel_on_one_reservation(passengers, allowed):
    bags = {"total_baggages": 0, "nonfree_baggages": 0}

    found = broken(airline(), "book_reservation", booking(passengers=[ANN] * passengers, **bags))

    assert (found == []) is allowed
    assert allowed or found == ["6 passengers, where 5 are allowed"]


@pytest.mark.parametrize(
    ("method", "times", "allowed"),
    [
        ("card", 1, True),
        ("card", 2, False),
        ("voucher", 1, True),
        ("voucher", 2, False),
        ("gift", 3, True),
        ("gift", 4, False),
    ],
)
def test_few_payment_methods_of_a_kind_may_be_used(method, times, allowed):
    paid = [{"payment_id": method, "amount": 1}] * times

    found = broken(
        airline(),
        "book_reservation",
        booking(payment_methods=paid, total_baggages=0, nonfree_baggages=0),
    )

    assert (found == []) is allowed


@pytest.mark.parametrize(
    ("membership", "cabin", "bags", "paid", "right"),
    [
        ("regular", "basic_economy", 2, 2, True),
        ("regular", "economy", 3, 1, True),
        ("silver", "business", 6, 0, True),
        ("gold", "economy", 7, 1, True),
        ("gold", "economy", 7, 0, False),
        ("gold", "economy", 2, 1, False),
    ],
)
def test_bags_beyond_the_allowance_of_all_passengers_are_paid_for(
    membership, cabin, bags, paid, right
):
    arguments = booking(cabin=cabin, total_baggages=bags, nonfree_baggages=paid)

    found = broken(airline(user={"membership": membership}), "book_reservation", arguments)

    assert (found == []) is right


OF_THE_TENTH = {"flights": [{**SEGMENT, "date": "2024-05-10", "price": 150}]}


@pytest.mark.parametrize(
    ("reservation", "allowed"),
    [
        ({}, False),
        ({"created_at": "2024-05-14T15:00:00"}, True),
        ({"created_at": "2024-05-14T14:59:59"}, False),
        ({"insurance": "yes"}, True),
        ({"cabin": "business"}, True),
        (OF_THE_TENTH, True),  # the airline itself has cancelled this flight
    ],
)
def test_a_cancellation_needs_a_reason(reservation, allowed):
    found = broken(airline(reservation), "cancel_reservation", {"reservation_id": "R1"})

    assert (found == []) is allowed


def landed(**changes):
    """The airline after its customer's flight has landed."""
    status = {
        "status": "landed",
        "actual_departure_time_est": "2024-05-10T10:00:00",
        "actual_arrival_time_est": "2024-05-10T12:00:00",
    }
    return airline({**OF_THE_TENTH, **changes}, flights={"HAT1": flight("HAT1", d10=status)})


def test_what_was_flown_is_not_cancelled():
    found = broken(landed(insurance="yes"), "cancel_reservation", {"reservation_id": "R1"})

    assert found == ["a part of the journey has already been flown"]


@pytest.mark.parametrize(("cabin", "allowed"), [("economy", True), ("business", False)])
def test_what_was_flown_keeps_its_cabin(cabin, allowed):
    flights = [{"flight_number": "HAT1", "date": "2024-05-10"}]
    arguments = {"reservation_id": "R1", "cabin": cabin, "flights": flights}

    assert (broken(landed(), "update_reservation_flights", arguments) == []) is allowed


@pytest.mark.parametrize(
    ("reservation", "flights", "expected"),
    [
        ({}, [("HAT1", "2024-05-21")], None),
        ({}, [("HAT4", "2024-05-20")], None),
        ({"cabin": "basic_economy"}, [("HAT1", "2024-05-20")], None),
        ({"cabin": "basic_economy"}, [("HAT1", "2024-05-21")], "basic economy"),
        ({}, [("HAT1", "2024-05-20"), ("HAT2", "2024-05-20")], "JFK to LAX"),
        ({}, [("HAT2", "2024-05-20")], "SFO to LAX"),
        ({"flight_type": "round_trip"}, [("HAT1", "2024-05-20")], "JFK to SFO"),
    ],
)
def test_a_change_of_flights_keeps_the_journey(reservation, flights, expected):
    wanted = [{"flight_number": number, "date": day} for number, day in flights]
    arguments = {"reservation_id": "R1", "cabin": "economy", "flights": wanted}
    arguments["cabin"] = reservation.get("cabin", "economy")

    found = broken(airline(reservation), "update_reservation_flights", arguments)

    assert bool(found) is bool(expected)
    assert not expected or expected in found[0]


@pytest.mark.parametrize(("bags", "allowed"), [(0, False), (1, True), (3, True)])
def test_bags_may_be_added_and_not_removed(bags, allowed):
    arguments = {"reservation_id": "R1", "total_baggages": bags, "nonfree_baggages": 0}

    found = broken(airline(), "update_reservation_baggages", arguments)

    assert (found == []) is allowed


CANCELLED = {"status": "cancelled"}
CHANGED = {"payment_history": [{"payment_id": "card", "amount": n} for n in (150, 20)]}


@pytest.mark.parametrize(
    ("membership", "journey", "amount", "expected"),
    [
        ("gold", CANCELLED, 50, None),
        ("gold", CHANGED, 50, None),
        ("gold", {}, 50, "no reservation was changed"),
        ("gold", OF_THE_TENTH, 100, None),
        ("gold", {}, 100, "the airline cancelled no flight"),
        ("gold", {}, 150, "150 is 50 or 100 dollars"),
        ("regular", CANCELLED, 50, "a regular member"),
        ("regular", {**CANCELLED, "insurance": "yes"}, 50, None),
    ],
)
def test_compensation_needs_a_member_or_insurance_and_a_ground(
    membership, journey, amount, expected
):
    tools = airline(journey, {"membership": membership})

    found = broken(tools, "send_certificate", {"user_id": "ann", "amount": amount})

    assert bool(found) is bool(expected)
    assert not expected or expected in found[0]


@pytest.mark.parametrize(
    ("reservation", "told", "allowed"),
    [
        ({"insurance": "yes"}, "You have other plans.", False),
        ({"insurance": "yes"}, "You are sick.", True),
        ({"insurance": "yes", "cabin": "business"}, "You have other plans.", True),
        ({"insurance": "no"}, "You have other plans.", True),  # forbidden whatever is said
    ],
)
def test_insurance_asks_for_a_reason_that_the_task_must_give(reservation, told, allowed):
    arguments = {"reservation_id": "R1"}

    found = list(SPOKEN_CONDITIONS["cancel_reservation"](airline(reservation), arguments, told))

    assert (found == []) is allowed


def test_an_item_is_not_exchanged_for_itself():
    def found(new):
        return list(RETAIL["exchange_delivered_order_items"](None, {"item_ids": ["1", "2"]} | new))

    assert found({"new_item_ids": ["3", "4"]}) == []
    assert found({"new_item_ids": ["3", "2"]}) == ["item 2 is exchanged for itself"]


@pytest.mark.parametrize(("amount", "allowed"), [(2.0, True), (2.1, False)])
def test_at_most_two_gigabytes_are_added(amount, allowed):
    tools = TelecomTools(TelecomDB())

    assert (list(TELECOM["refuel_data"](tools, {"gb_amount": amount})) == []) is allowed
