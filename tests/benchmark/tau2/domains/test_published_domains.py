"""The published domains: calls as a model may invent them, and what no recorded call shows."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.domains.airline.models import AirlineDB, Flight, flights_between
from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.domains.retail import LenientRetailTools
from maseval.benchmark.tau2.domains.telecom.models import APNSettings, NetworkModePreference
from maseval.benchmark.tau2.world.state.records import SharedRecordError, is_shared
from maseval.benchmark.tau2.world.world import World
from scripts.contract_sample import SAMPLE, read_sample

pytestmark = pytest.mark.data


def world_of(domain: str, data: Path) -> World:
    return World(DOMAINS[domain], DOMAINS[domain].data_dir or data / "domains" / domain)


def ask(world: World, name: str, requestor: str = "assistant", **arguments: Any) -> dict[str, Any]:
    call = {"id": "1", "name": name, "arguments": arguments, "requestor": requestor}
    return dict(world.respond(call))


@cache
def recorded_calls(domain: str) -> list[dict[str, Any]]:
    if domain == "library":  # of which nobody has recorded any
        gold = [each["evaluation_criteria"]["actions"] for each in load_raw_tasks(domain)]
        return [{**action, "tool": action["name"]} for actions in gold for action in actions]
    sequences = read_sample(SAMPLE / f"tool_calls_{domain}.jsonl.gz")
    return [step for sequence in sequences for step in sequence["steps"]]


strange = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.just(10**400), st.floats()),
        st.text(st.characters(exclude_categories=()), max_size=5),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
invented = st.sampled_from(["self", "requestor", "tool_name", "surprise", ""])


@cache
def calls_by_tool(domain: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for step in recorded_calls(domain):
        if not step.get("error"):
            found.setdefault(step["tool"], []).append(step)
    return found


@st.composite
def calls(draw: st.DrawFn, domain: str) -> dict[str, Any]:
    """A recorded call that worked, with a few of its arguments replaced, missing or invented."""
    by_tool = calls_by_tool(domain)
    step, other = (
        draw(st.sampled_from(by_tool[draw(st.sampled_from(list(by_tool)))])) for _ in range(2)
    )
    arguments = dict(step["arguments"])
    if arguments:
        own = st.sampled_from(list(arguments))
        known = st.sampled_from([*other["arguments"].values(), ""])
        arguments |= draw(st.dictionaries(own, known | strange, max_size=2))
    match draw(st.integers(0, 9)):
        case 0 if arguments:
            del arguments[draw(st.sampled_from(list(arguments)))]
        case 1:
            arguments |= draw(st.dictionaries(invented, strange, min_size=1, max_size=1))
    side = step["requestor"]
    return {"id": "1", "name": step["tool"], "arguments": arguments, "requestor": side}


def is_sound(world: World) -> bool:
    """A value that is no setting of the phone is stored before it fails, and fails again later."""
    if world.domain.name != "telecom":
        return True
    device = world.user_tools.db.device
    return isinstance(device.active_apn_settings, APNSettings) and isinstance(
        device.network_mode_preference, NetworkModePreference
    )


def charges_before_it_fails(call: dict[str, Any], content: str) -> bool:
    """Find the cases in which v0.2.0, too, leaves a change behind."""
    return {
        "book_reservation": content.startswith(("Error: 'certificate_", "Error: int too large")),
        "update_reservation_baggages": "for Payment" in content,
    }.get(call["name"], False)


@pytest.mark.parametrize("domain", ["airline", "retail", "telecom", "library"])
@settings(
    max_examples=250,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_call_is_answered_and_an_error_changes_nothing(
    domain: str, tau2_data: Path, data: Any
) -> None:
    world, bystander = world_of(domain, tau2_data), world_of(domain, tau2_data)
    untouched = bystander.state()
    for call in data.draw(st.lists(calls(domain), min_size=1, max_size=6)):
        was_sound, before = is_sound(world), world.state()

        answer = world.respond(call)

        content = answer["content"]
        assert isinstance(content, str)
        kit = world.tools if call["requestor"] == "assistant" else world.user_tools
        if kit and kit.has_tool(call["name"]) and kit.tool_type(call["name"]) == ToolType.READ:
            assert world.state() == before
        if answer["error"]:
            assert content.startswith("Error: ")
            if was_sound and is_sound(world) and not charges_before_it_fails(call, content):
                assert world.state() == before
    assert bystander.state() == world_of(domain, tau2_data).state() == untouched


@pytest.mark.parametrize("zip_code", ["19122", 19122, None])
@pytest.mark.parametrize(("first", "last"), [("yusuf", "ROSSI"), ("Yusuf Rossi", ""), (5, None)])
def test_a_customer_is_looked_up_as_a_scan_finds_them(tau2_data, first, last, zip_code):
    from_files, scanned = world_of("retail", tau2_data), world_of("retail", tau2_data)
    users = scanned.tools.db.users
    yusuf = users.view("yusuf_rossi_9620")
    users["nobody"] = yusuf.model_copy(
        update={"name": yusuf.name.model_copy(), "email": "nobody@example.com"}
    )
    users["nobody"].name.first_name = "nobody"  # a record of its own makes it look at all of them

    for name, arguments in (
        ("find_user_id_by_name_zip", {"first_name": first, "last_name": last, "zip": zip_code}),
        ("find_user_id_by_email", {"email": yusuf.email.upper() if last else last}),
    ):
        assert ask(from_files, name, **arguments) == ask(scanned, name, **arguments)


def test_retail_leaves_a_whole_number_whole_and_may_be_lenient_about_order_ids(tau2_data):
    shop = world_of("retail", tau2_data).tools
    exchanged = shop.exchange_delivered_order_items("#W2378156", [], [], "credit_card_9513926")
    assert repr(exchanged.exchange_price_difference) == "0"

    lenient = LenientRetailTools(shop.db)

    assert lenient.get_order_details("W2378156") is lenient.get_order_details("#W2378156")
    with pytest.raises(ValueError, match="Order not found"):
        shop.get_order_details("W2378156")


@pytest.mark.parametrize("users", [None, [], "ann", {"ann": None}, {"ann": {"email": 5}}])
def test_what_is_no_table_of_records_is_refused_by_validation(tau2_data, tmp_path, users):
    world = world_of("airline", tau2_data)
    before = world.state()
    with pytest.raises(ValidationError, match="for AirlineDB\nusers"):
        world.set_state({"agent_data": {"users": users}}, None, [])
    assert world.state() == before
    if not isinstance(users, dict):  # of a mapping, each record is validated when it is needed
        broken = tmp_path / "db.json"
        broken.write_text(json.dumps({"users": users, "flights": {}, "reservations": {}}))
        with pytest.raises(ValidationError, match="users\n  Input should be a valid dictionary"):
            AirlineDB.load(broken)


def test_routes_know_flights_that_were_added_or_removed_and_odd_questions(tau2_data):
    flights = world_of("airline", tau2_data).tools.db.flights
    loaded = [each.flight_number for each in flights_between(flights, "JFK", "SEA")]
    flights["HAT999"] = Flight.model_validate(
        {**flights.shared.raw[loaded[0]], "flight_number": "HAT999"}
    )
    del flights[loaded[0]]

    found = [each.flight_number for each in flights_between(flights, "JFK", "SEA")]

    assert found == [*loaded[1:], "HAT999"]
    assert len(list(flights_between(flights, None, None))) == len(flights)
    assert not [*flights_between(flights, ["JFK"], {"to": "SEA"}), *flights_between(flights, 1, 2)]


def test_there_are_three_ids_for_certificates_and_shared_records_refuse_changes(tau2_data):
    tools = world_of("airline", tau2_data).tools
    user = tools.get_user_details("mia_li_3668")
    with pytest.raises(SharedRecordError):
        user.membership = "silver"
    for _ in range(3):
        tools.send_certificate("mia_li_3668", 100)
    with pytest.raises(ValueError, match="Too many certificates"):
        tools.send_certificate("mia_li_3668", 100)


def test_a_booking_copies_the_one_date_it_changes(tau2_data):
    tools = world_of("airline", tau2_data).tools
    booked = next(
        each
        for each in recorded_calls("airline")
        if each["tool"] == "book_reservation" and not each["error"]
    )
    tools.book_reservation(**booked["arguments"])
    leg = booked["arguments"]["flights"][0]

    dates = tools.db.flights[leg["flight_number"]].dates

    assert [date for date, status in dates.items() if not is_shared(status)] == [leg["date"]]


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else "Ann"


@pytest.mark.parametrize("passenger", ["\ud800", nested(330)], ids=["half a character", "deep"])
def test_a_reservation_that_is_no_json_is_not_cancelled(tau2_data, passenger):
    world = world_of("airline", tau2_data)
    stored = {"reservation_id": "4WQ150", "passengers": [passenger] * 3}
    assert not ask(world, "update_reservation_passengers", **stored)["error"]
    before = world.get_db_hash()

    answer = ask(world, "cancel_reservation", reservation_id="4WQ150")

    assert answer["error"]
    assert answer["content"].startswith("Error: Error serializing to JSON: ")
    assert world.get_db_hash() == before
