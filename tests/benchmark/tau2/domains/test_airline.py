import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from maseval.benchmark.tau2.domains.airline import AIRLINE
from maseval.benchmark.tau2.domains.airline.models import AirlineDB, Flight
from maseval.benchmark.tau2.domains.airline.routes import flights_between
from maseval.benchmark.tau2.domains.airline.tools import AirlineTools
from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.world.state.records import SharedRecordError, is_shared
from maseval.benchmark.tau2.world.world import World
from tests.benchmark.tau2.domains.small_airline import (
    ANN,
    BEN,
    CONTENT,
    airline,
    available,
    booking,
    flight,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("airline")
    (folder / "db.json").write_text(json.dumps(CONTENT))
    return folder


def respond(world, name, arguments):
    return world.respond(
        {"id": "1", "name": name, "arguments": arguments, "requestor": "assistant"}
    )


def test_there_are_three_ids_for_new_reservations_and_three_for_certificates():
    tools = airline()
    free = booking(flights=[], payment_methods=[], nonfree_baggages=0, insurance="no")

    ids = [tools.book_reservation(**free).reservation_id for _ in range(3)]
    for _ in range(3):
        tools.send_certificate("ann", 100)

    assert ids == ["HATHAT", "HATHAU", "HATHAV"]
    with pytest.raises(ValueError, match="Too many reservations"):
        tools.book_reservation(**free)
    with pytest.raises(ValueError, match="Too many certificates"):
        tools.send_certificate("ann", 100)


def test_a_certificate_listed_twice_is_gone_before_the_booking_fails():
    tools = airline()
    payments = [{"payment_id": "voucher", "amount": 55}, {"payment_id": "card", "amount": 400}]

    with pytest.raises(KeyError, match="voucher"):
        tools.book_reservation(**booking(payment_methods=[*payments, payments[0]]))

    assert "voucher" not in tools.get_user_details("ann").payment_methods
    assert "HATHAT" not in tools.db.reservations


def test_a_fractional_charge_fails_after_the_gift_card_has_paid():
    tools = airline()

    with pytest.raises(ValueError, match="validation error for Payment"):
        tools.update_reservation_baggages("R1", 3, 0.25, "gift")

    assert tools.get_user_details("ann").payment_methods["gift"].amount == 287.5
    assert tools.get_reservation_details("R1").total_baggages == 1


def test_what_is_stored_unchecked_is_answered_and_hashed_as_it_came(folder):
    world = World(AIRLINE, folder)
    bags = {"reservation_id": "R1", "payment_id": "card", "nonfree_baggages": 0}

    stored = respond(world, "update_reservation_baggages", {**bags, "total_baggages": ["many"]})
    respond(world, "update_reservation_passengers", {"reservation_id": "R1", "passengers": "A"})

    details = respond(world, "get_reservation_details", {"reservation_id": "R1"})
    assert not stored["error"]
    assert json.loads(details["content"])["total_baggages"] == ["many"]
    assert json.loads(details["content"])["passengers"] == "A"
    assert world.get_db_hash() != World(AIRLINE, folder).get_db_hash()


def nested(depth):
    return [nested(depth - 1)] if depth else "Ann"


@pytest.mark.parametrize("passenger", ["\ud800", nested(330)], ids=["half a character", "deep"])
def test_a_reservation_that_is_no_json_is_not_cancelled(folder, passenger):
    world = World(AIRLINE, folder)
    stored = {"reservation_id": "R1", "passengers": [passenger]}
    assert not respond(world, "update_reservation_passengers", stored)["error"]
    before = world.get_db_hash()

    answer = respond(world, "cancel_reservation", {"reservation_id": "R1"})

    assert answer["error"]
    assert answer["content"].startswith("Error: Error serializing to JSON: ")
    assert world.get_db_hash() == before


@pytest.mark.parametrize(
    ("origin", "destination", "numbers"),
    [
        ("JFK", "SFO", ["HAT1", "HAT4"]),
        ("JFK", None, ["HAT1", "HAT4"]),
        (None, "LAX", ["HAT2", "HAT3"]),
        (None, None, ["HAT1", "HAT2", "HAT3", "HAT4"]),
        ("LAX", "JFK", []),
        (["JFK"], {"to": "SFO"}, []),
        (1, 2.5, []),
    ],
)
def test_routes_are_the_same_in_a_loaded_database_and_in_one_of_its_own(
    folder, origin, destination, numbers
):
    for db in (airline().db, AirlineDB.load(folder / "db.json")):
        found = flights_between(db.flights, origin, destination)
        assert [flight.flight_number for flight in found] == numbers


def test_flights_added_to_or_taken_from_a_loaded_database_are_noticed(folder):
    flights = AirlineDB.load(folder / "db.json").flights
    flights["HAT9"] = Flight.model_validate(flight("HAT9", d20=available()))
    del flights["HAT4"]

    found = flights_between(flights, "JFK", "SFO")

    assert [flight.flight_number for flight in found] == ["HAT1", "HAT9"]


def test_a_booking_copies_the_one_date_it_changes(folder):
    tools = World(AIRLINE, folder).tools

    tools.book_reservation(**booking())

    dates = tools.db.flights["HAT1"].dates
    assert {date: is_shared(status) for date, status in dates.items()} == {
        "2024-05-10": True,
        "2024-05-20": False,
        "2024-05-21": True,
    }


@pytest.mark.parametrize("users", [None, [], "ann", {"ann": None}, {"ann": {"email": 5}}])
def test_what_is_no_table_of_records_is_refused_by_validation(folder, tmp_path, users):
    world = World(AIRLINE, folder)
    before = world.get_db_hash()
    broken = tmp_path / "db.json"
    broken.write_text(json.dumps({**CONTENT, "users": users}))

    with pytest.raises(ValidationError, match="for AirlineDB\nusers"):
        world.set_state({"agent_data": {"users": users}}, None, [])
    assert world.get_db_hash() == before
    if not isinstance(users, dict):  # of a mapping, each record is validated when it is needed
        with pytest.raises(ValidationError, match="users\n  Input should be a valid dictionary"):
            AirlineDB.load(broken)


WRITES = {
    "book_reservation": booking(),
    "cancel_reservation": {"reservation_id": "R1"},
    "send_certificate": {"user_id": "ann", "amount": 50},
    "update_reservation_baggages": {
        "reservation_id": "R1",
        "total_baggages": 2,
        "nonfree_baggages": 1,
        "payment_id": "gift",
    },
    "update_reservation_flights": {
        "reservation_id": "R1",
        "cabin": "basic_economy",
        "flights": [{"flight_number": "HAT1", "date": "2024-05-21"}],
        "payment_id": "gift",
    },
    "update_reservation_passengers": {"reservation_id": "R1", "passengers": [BEN]},
}


@pytest.mark.parametrize("name", WRITES)
def test_what_one_environment_writes_no_other_sees(folder, name):
    writer, bystander = World(AIRLINE, folder), World(AIRLINE, folder)
    untouched = bystander.get_db_hash()

    answers = [respond(writer, name, WRITES[name]) for _ in range(2)]

    assert not answers[0]["error"], answers[0]["content"]
    assert writer.get_db_hash() != untouched
    assert bystander.get_db_hash() == untouched
    assert World(AIRLINE, folder).get_db_hash() == untouched
    assert not writer.same_state(bystander)


def test_the_writing_tools_are_those_tested_above():
    names = AirlineTools.get_tool_descriptions()

    assert WRITES.keys() == {
        name for name in names if AirlineTools.tool_type(name) == ToolType.WRITE
    }


def test_what_a_reading_tool_hands_out_cannot_be_changed(folder):
    tools = World(AIRLINE, folder).tools

    with pytest.raises(SharedRecordError):
        tools.get_user_details("ann").membership = "silver"
    with pytest.raises(SharedRecordError):
        tools.get_reservation_details("R1").passengers.clear()


def test_every_tool_and_every_argument_is_explained():
    for definition in AirlineTools.definitions():
        function = definition["function"]
        assert function["description"]
        assert "\n\n\n" not in function["description"]
        for name, schema in function["parameters"]["properties"].items():
            assert schema.get("description"), f"{function['name']}: {name}"


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
places = st.sampled_from(["JFK", "SFO", "LAX", "HAT1", "HAT4", "2024-05-20", "2024-05-10"])
ids = st.sampled_from(["ann", "R1", "HATHAT", "card", "gift", "voucher"])
words = places | ids | st.sampled_from(["economy", "business", "one_way", "yes", "no", "1+1", "2"])
mappings = st.sampled_from([ANN, BEN]) | st.fixed_dictionaries(
    {},
    optional={
        "flight_number": words | anything,
        "date": words | anything,
        "payment_id": words | anything,
        "amount": st.integers(-500, 500) | anything,
        "dob": words | anything,
    },
)
values = st.one_of(words, st.integers(-2, 5), st.lists(mappings, max_size=3), mappings, anything)
PARAMETERS = {
    definition["function"]["name"]: list(definition["function"]["parameters"]["properties"])
    for definition in AirlineTools.definitions()
}


@st.composite
def calls(draw):
    """A call of any tool: close to one that works, or with anything as its arguments."""
    name = draw(st.sampled_from(sorted(PARAMETERS)))
    arguments = dict(WRITES.get(name, {})) if draw(st.booleans()) else {}
    wild = st.sampled_from([*PARAMETERS[name], "extra", "self", "requestor"])
    for parameter in PARAMETERS[name]:
        if parameter not in arguments and draw(st.integers(0, 9)):
            arguments[parameter] = draw(values)
    for parameter in draw(st.lists(wild, max_size=2)):
        arguments[parameter] = draw(values)
    return name, arguments


def charges_before_it_fails(name, content):
    """The cases in which v0.2.0, too, leaves a change behind."""
    return {
        "book_reservation": content.startswith(("Error: 'voucher'", "Error: int too large")),
        "update_reservation_baggages": "for Payment" in content,
    }.get(name, False)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conversation=st.lists(calls(), min_size=1, max_size=4))
def test_every_call_is_answered_and_a_failed_one_changes_nothing(folder, conversation):
    world = World(AIRLINE, folder)
    untouched = World(AIRLINE, folder).get_db_hash()
    for name, arguments in conversation:
        before = world.get_db_hash()

        answer = respond(world, name, arguments)

        assert isinstance(answer["content"], str)
        may_change = AirlineTools.tool_type(name) == ToolType.WRITE and (
            not answer["error"] or charges_before_it_fails(name, answer["content"])
        )
        assert may_change or world.get_db_hash() == before
    assert World(AIRLINE, folder).get_db_hash() == untouched
