"""A shop small enough to see at a glance, and what its assistant can do to it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.domains.retail import RETAIL, RetailDB, RetailTools
from maseval.benchmark.tau2.domains.retail.release_tools import LenientRetailTools
from maseval.benchmark.tau2.world.world import World

ADDRESS = {
    "address1": "1 Elm Street",
    "address2": "",
    "city": "Austin",
    "country": "USA",
    "state": "TX",
    "zip": "78701",
}
MOVE = {**ADDRESS, "city": "Dallas", "zip": "75201"}


def variant(item_id: str, price: float, *, available: bool = True) -> dict[str, Any]:
    options = {"size": item_id}
    return {"item_id": item_id, "options": options, "available": available, "price": price}


def product(product_id: str, name: str, *variants: dict[str, Any]) -> dict[str, Any]:
    by_id = {one["item_id"]: one for one in variants}
    return {"name": name, "product_id": product_id, "variants": by_id}


def order(order_id: str, *items: dict[str, Any], status: str = "pending", paid_by: str = "card"):
    total = round(sum(item["price"] for item in items), 2)
    payment = {"transaction_type": "payment", "amount": total, "payment_method_id": paid_by}
    return {
        "order_id": order_id,
        "user_id": "ann",
        "address": ADDRESS,
        "items": list(items),
        "status": status,
        "fulfillments": [],
        "payment_history": [payment],
    }


def item(item_id: str, price: float) -> dict[str, Any]:
    product_id = {"s": "shirt", "m": "mug"}[item_id[0]]
    return {
        "name": product_id.title(),
        "product_id": product_id,
        "item_id": item_id,
        "price": price,
        "options": {"size": item_id},
    }


def content(*orders: dict[str, Any], gift: float = 50) -> dict[str, Any]:
    methods = {
        "card": {"source": "credit_card", "id": "card", "brand": "visa", "last_four": "1234"},
        "gift": {"source": "gift_card", "id": "gift", "balance": gift},
        "paypal": {"source": "paypal", "id": "paypal"},
    }
    ann = {
        "user_id": "ann",
        "name": {"first_name": "Ann", "last_name": "Lee"},
        "address": ADDRESS,
        "email": "Ann@example.com",
        "payment_methods": methods,
        "orders": [one["order_id"] for one in orders],
    }
    sold_out = variant("s9", 10, available=False)
    shirts = product("shirt", "Shirt", variant("s1", 10), variant("s2", 12.5), sold_out)
    mugs = product("mug", "Mug", variant("m1", 5), variant("m2", 7.25))
    return {
        "products": {"shirt": shirts, "mug": mugs},
        "users": {"ann": ann},
        "orders": {one["order_id"]: one for one in orders},
    }


def shop_with(*orders: dict[str, Any], gift: float = 50) -> RetailTools:
    return RetailTools(RetailDB.model_validate(content(*orders, gift=gift)))


def balance(shop: RetailTools) -> float:
    return shop.get_user_details("ann").payment_methods["gift"].balance


@pytest.mark.parametrize(
    ("update", "places"),
    [
        ({"orders": {"#1": {"status": "lost"}}}, ["orders.#1.status"]),
        ({"orders": {"#1": {"status": 5}, "#2": 5}}, ["orders.#1.status", "orders.#2"]),
        ({"orders": 5}, ["orders"]),
    ],
)
def test_an_update_that_does_not_fit_is_refused_with_the_records_key(update, places):
    shop = shop_with(order("#1", item("s1", 10.1)))

    with pytest.raises(ValidationError) as caught:
        shop.update_db(update)

    lines = str(caught.value).splitlines()
    assert lines[0].endswith("for RetailDB")
    assert [line for line in lines if line.startswith("orders")] == places


def test_an_exchange_of_nothing_has_a_whole_number_as_its_difference():
    shop = shop_with(order("#1", item("s1", 10), status="delivered"))
    difference = shop.exchange_delivered_order_items("#1", [], [], "card").exchange_price_difference
    assert repr(difference) == "0"


def test_an_order_id_needs_its_sign_unless_leniency_is_asked_for():
    shop = shop_with(order("#1", item("s1", 10)))
    with pytest.raises(ValueError, match="Order not found"):
        shop.get_order_details("1")

    lenient = LenientRetailTools(shop.db)

    assert lenient.get_order_details("1") is lenient.get_order_details("#1")
    assert lenient.cancel_pending_order("1", "no longer needed").status == "cancelled"
    assert lenient.definitions() == shop.definitions()


ORDERS = (
    order("#1", item("s1", 10), item("m1", 5), paid_by="gift"),
    order("#2", item("s1", 10), item("m1", 5), status="delivered"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("retail")
    (folder / "db.json").write_text(json.dumps(content(*ORDERS)), encoding="utf-8")
    return folder


def ask(world: World, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call = {"id": "1", "name": name, "arguments": arguments, "requestor": "assistant"}
    return dict(world.respond(call))


WRITES = {
    "cancel_pending_order": {"order_id": "#1", "reason": "no longer needed"},
    "exchange_delivered_order_items": {
        "order_id": "#2",
        "item_ids": ["s1"],
        "new_item_ids": ["s2"],
        "payment_method_id": "gift",
    },
    "modify_pending_order_address": {"order_id": "#1", **MOVE},
    "modify_pending_order_items": {
        "order_id": "#1",
        "item_ids": ["s1"],
        "new_item_ids": ["s2"],
        "payment_method_id": "gift",
    },
    "modify_pending_order_payment": {"order_id": "#1", "payment_method_id": "card"},
    "modify_user_address": {"user_id": "ann", **MOVE},
    "return_delivered_order_items": {
        "order_id": "#2",
        "item_ids": ["s1"],
        "payment_method_id": "gift",
    },
}
READS = {
    "calculate": {"expression": "2 * (3 + 4)"},
    "find_user_id_by_name_zip": {"first_name": "Ann", "last_name": "Lee", "zip": "78701"},
    "find_user_id_by_email": {"email": "ann@example.com"},
    "get_order_details": {"order_id": "#1"},
    "get_product_details": {"product_id": "mug"},
    "get_user_details": {"user_id": "ann"},
    "list_all_product_types": {},
    "transfer_to_human_agents": {"summary": "wants to speak to someone"},
}


def test_the_calls_above_are_one_of_each():
    kinds = RetailTools._tool_types
    assert {name for name, kind in kinds.items() if kind is ToolType.WRITE} == set(WRITES)
    assert set(kinds) == {*WRITES, *READS}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_seen_in_its_own_world_only(folder, name):
    world, other = World(RETAIL, folder), World(RETAIL, folder)
    before = other.get_db_hash()

    answer = ask(world, name, WRITES[name])

    assert not answer["error"], answer
    assert world.get_db_hash() != before
    assert other.get_db_hash() == World(RETAIL, folder).get_db_hash() == before


@pytest.mark.parametrize("zip_code", ["78701", "75201", 78701, ["78701"], None])
@pytest.mark.parametrize("last", ["lee", "LEE", "", 5, None])
@pytest.mark.parametrize("first", ["ann", "Ann Lee", "bob", 5, None])
def test_a_customer_is_looked_up_as_a_scan_finds_them(folder, first, last, zip_code):
    from_files = World(RETAIL, folder)
    scanned = World(RETAIL, folder)
    scanned.tools.update_db({"users": {"ann": {}}})  # all its records are its own now
    by_name = {"first_name": first, "last_name": last, "zip": zip_code}

    for move in (False, True):
        if move:
            for world in (from_files, scanned):
                ask(world, "modify_user_address", WRITES["modify_user_address"])
        for name, arguments in (
            ("find_user_id_by_name_zip", by_name),
            ("find_user_id_by_email", {"email": last}),
            ("list_all_product_types", {}),
        ):
            assert ask(from_files, name, arguments) == ask(scanned, name, arguments)


strange = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.just(10**400),
        st.floats(),
        st.text(st.characters(exclude_categories=()), max_size=5),
        st.text("0123456789+-*/(). ", max_size=9),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
known = st.sampled_from(
    [
        *("#1", "#2", "ann", "shirt", "gift", "card", "paypal", "Ann", "Lee", "78701", "s1"),
        *(["s1"], ["s2"], ["m1", "s1"], ["m2", "s2"], ["s1", "s1"], [], "no longer needed"),
    ]
)
invented = st.sampled_from(["self", "requestor", "tool_name", "surprise"])


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tool with arguments that would do, a few of them replaced, missing or invented."""
    name = draw(st.sampled_from([*RetailTools._tool_types, "no_such_tool", "_order", ""]))
    arguments = dict(WRITES.get(name) or READS.get(name) or {})
    if arguments:
        own = st.sampled_from(list(arguments))
        arguments |= draw(st.dictionaries(own, known | strange, max_size=3))
        for missing in draw(st.sets(own, max_size=1)):
            del arguments[missing]
    return name, arguments | draw(st.just({}) | st.dictionaries(invented, strange, max_size=1))


@settings(max_examples=300)
@given(conversation=st.lists(calls(), min_size=1, max_size=4))
def test_any_call_is_answered_and_an_error_changes_nothing(folder, conversation):
    world = World(RETAIL, folder)
    for name, arguments in conversation:
        before = world.get_db_hash()
        answer = ask(world, name, arguments)
        assert isinstance(answer["content"], str)
        if answer["error"]:
            assert answer["content"].startswith("Error: ")
            assert world.get_db_hash() == before
    assert World(RETAIL, folder).get_db_hash() == shop_with(*ORDERS).get_db_hash()
