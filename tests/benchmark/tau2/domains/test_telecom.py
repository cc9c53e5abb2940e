"""The telecom company and its customer's phone, on a small company of one customer."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.domains.telecom import SYNC_AFTER, TELECOM, sync
from maseval.benchmark.tau2.domains.telecom.models import (
    Address,
    Bill,
    Customer,
    Line,
    NetworkStatus,
    Plan,
    TelecomDB,
    TelecomUserDB,
)
from maseval.benchmark.tau2.domains.telecom.tools import TelecomTools
from maseval.benchmark.tau2.domains.telecom.user_tools import TelecomUserTools
from maseval.benchmark.tau2.world.world import World

NUMBER = "555-0001"


def line(line_id: str = "L1", **fields: Any) -> Line:
    return Line.model_validate(
        {"line_id": line_id, "phone_number": NUMBER, "plan_id": "P1", "status": "Active", **fields}
    )


def bill(bill_id: str = "B1", **fields: Any) -> Bill:
    dates = {
        "period_start": "2025-01-01",
        "period_end": "2025-01-31",
        "issue_date": "2025-01-05",
        "due_date": "2025-01-19",
    }
    return Bill.model_validate(
        {"bill_id": bill_id, "customer_id": "C1", "total_due": 40.0, **dates, **fields}
    )


def database(*records: Line | Bill) -> TelecomDB:
    lines = [each for each in records if isinstance(each, Line)] or [line()]
    bills = [each for each in records if isinstance(each, Bill)]
    plan = Plan(
        plan_id="P1",
        name="Basic",
        data_limit_gb=5.0,
        price_per_month=40.0,
        data_refueling_price_per_gb=2.0,
    )
    customer = Customer(
        customer_id="C1",
        full_name="Ada Byron",
        date_of_birth="1815-12-10",
        email="ada@example.com",
        phone_number="555-0000",
        address=Address(street="1 Way", city="Town", state="CA", zip_code="90210"),
        line_ids=[each.line_id for each in lines],
        bill_ids=[each.bill_id for each in bills],
        created_at="2025-01-15T10:30:00",
    )
    return TelecomDB(plans=[plan], customers=[customer], lines=lines, bills=bills)


def company(*records: Line | Bill) -> TelecomTools:
    return TelecomTools(database(*records))


def new_phone() -> TelecomUserTools:
    return TelecomUserTools(TelecomUserDB())


def phone_of(tools: TelecomTools) -> TelecomUserTools:
    """The phone of the customer, in step with the company."""
    phone = new_phone()
    phone.set_user_info("Ada Byron", NUMBER)
    sync(tools, phone)
    return phone


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("telecom")
    db = database(line(), bill("B1"), bill("B2", status="Issued"))
    (folder / "db.json").write_text(db.model_dump_json())
    user_db = {"surroundings": {"name": "Ada Byron", "phone_number": NUMBER}}
    (folder / "user_db.json").write_text(json.dumps(user_db))
    return folder


SMALL = dataclasses.replace(TELECOM, db_file="db.json", user_db_file="user_db.json")


def call(world: World, requestor: str, name: str, **arguments: Any) -> str:
    message = {"id": "1", "name": name, "arguments": arguments, "requestor": requestor}
    content = world.respond(message)["content"]
    assert content is not None
    return content


def hashes(world: World) -> tuple[str, str | None]:
    return world.get_db_hash(), world.get_user_db_hash()


APP = {"app_name": "messaging", "permission": "network"}
PRESSED = {
    "grant_app_permission": APP,
    "set_network_mode_preference": {"mode": "2g_only"},
    "set_apn_settings": {"apn_settings": {"apn_name": "broken"}},
}


def written_by(kit: type[TelecomTools] | type[TelecomUserTools]) -> set[str]:
    return {name for name in kit._tool_types if kit.tool_type(name) is ToolType.WRITE}


@pytest.mark.parametrize("pressed", sorted(written_by(TelecomUserTools) - SYNC_AFTER))
def test_what_a_customer_does_but_pay_leaves_the_sides_in_step(folder, pressed):
    world = World(SMALL, folder)
    call(world, "assistant", "send_payment_request", customer_id="C1", bill_id="B2")
    call(world, "assistant", "enable_roaming", customer_id="C1", line_id="L1")

    before = hashes(world)
    answer = call(world, "user", pressed, **PRESSED.get(pressed, {}))
    after = hashes(world)
    world.sync()

    assert not answer.startswith("Error") and hashes(world) == after
    assert after != before or "No active VPN" in answer


def test_all_that_the_company_writes_reaches_the_phone():
    assert written_by(TelecomTools) | {"make_payment"} == SYNC_AFTER


def test_a_check_of_the_outcome_changes_nothing_and_synchronises_nothing(folder):
    synced = []
    world = World(dataclasses.replace(SMALL, sync=lambda *sides: synced.append(sides)), folder)
    before, arguments = hashes(world), {"expected_status": "connected"}
    synced.clear()

    function = {"env_type": "user", "func_name": "assert_service_status", "arguments": arguments}
    assert world.check(function)
    assert (synced, hashes(world)) == ([], before)
    world.run_function({"env_type": "user", "func_name": "turn_data_off", "arguments": {}})
    assert len(synced) == 1


def test_coupling_replaces_what_is_merely_equal():
    tools = company(line(roaming_enabled=False))
    phone = phone_of(tools)
    coupled = phone.get_db_hash()
    surroundings = phone.db.surroundings
    surroundings.line_active, surroundings.roaming_allowed = 1, 0
    surroundings.mobile_data_usage_exceeded = 0.0

    sync(tools, phone)

    assert phone.get_db_hash() == coupled


def test_a_phone_without_a_number_is_not_coupled():
    tools, phone = company(line(status="Suspended")), new_phone()

    sync(tools, phone)

    assert phone.db.surroundings.line_active


@pytest.mark.parametrize(
    ("app_name", "permission", "text"),
    [
        (["messaging"], 5, "Error: unhashable type: 'list'"),
        ({}, None, "Error: unhashable type: 'dict'"),
        (5, 5, "Error: 'int' object has no attribute 'lower'"),
        ("messaging", ["sms"], "Error: 'list' object has no attribute 'lower'"),
        (["messaging"], "sms", "Error: unhashable type: 'list'"),
    ],
)
def test_an_app_is_looked_up_before_the_permission_is_read(folder, app_name, permission, text):
    world = World(SMALL, folder)

    answer = call(world, "user", "grant_app_permission", app_name=app_name, permission=permission)

    assert answer == text


def test_settings_that_are_no_settings_are_kept_and_fail_later(folder):
    world = World(SMALL, folder)

    assert call(world, "user", "set_apn_settings", apn_settings="internet") == (
        "Error: 'str' object has no attribute 'apn_name'"
    )
    assert call(world, "user", "toggle_data") == "Error: 'str' object has no attribute 'apn_name'"
    assert world.user_tools.db.device.data_enabled is False
    assert call(world, "user", "set_apn_settings", apn_settings={}).startswith("APN settings set")


def test_of_two_bills_with_one_id_the_first_counts():
    tools = company(bill("B1", status="Paid"))

    tools.suspend_line_for_overdue_bill("C1", "L1", "B1", contract_ended=False)

    assert tools.assert_no_overdue_bill("B1")


def test_a_line_suspended_for_a_bill_has_service_again_only_after_a_search():
    tools = company()
    phone = phone_of(tools)
    tools.suspend_line_for_overdue_bill("C1", "L1", "B9", contract_ended=True)
    sync(tools, phone)
    phone.simulate_network_search()
    assert phone.assert_service_status("no_service")

    tools.resume_line("C1", "L1")
    sync(tools, phone)
    assert phone.assert_service_status("no_service")
    phone.reboot_device()

    assert phone.assert_service_status("connected")


@pytest.mark.parametrize("mode", ["PIN", None, ["pin"]])
def test_an_unknown_lock_locks_nothing_but_makes_the_phone_search(mode):
    phone = new_phone()
    phone.db.device.network_connection_status = NetworkStatus.NO_SERVICE

    assert phone.lock_sim_card(mode) == f"SIM card locked successfully in {mode} mode."

    assert phone.check_sim_status() == "Your SIM card is active and working."
    assert phone.assert_service_status("connected")


def test_turning_a_switch_off_that_is_off_toggles_twice():
    phone = new_phone()
    phone.db.device.network_connection_status = NetworkStatus.NO_SERVICE

    phone.turn_roaming_off()

    assert phone.assert_mobile_roaming_status(False)
    assert phone.assert_service_status("connected")


def test_a_task_file_cannot_reach_what_is_not_meant_for_it(folder):
    world = World(SMALL, folder)

    with pytest.raises(AttributeError, match="'TelecomTools' object has no attribute 'bills_of'"):
        world.run_function({"env_type": "assistant", "func_name": "bills_of", "arguments": {}})
