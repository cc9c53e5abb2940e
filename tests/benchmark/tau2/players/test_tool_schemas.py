"""Schemas that say the same are equal, however a framework writes them; others are named."""

import copy
from typing import Any

import pytest
from pydantic import BaseModel

from maseval.benchmark.tau2.players.schemas import differences, instance_of, match_names

GIVEN = {
    "name": "book",
    "description": "Book a flight.",
    "parameters": {
        "type": "object",
        "properties": {
            "cabin": {"enum": ["economy", "first"], "type": "string", "description": "The cabin."},
            "bags": {"type": "integer", "default": 0, "title": "Bags"},
            "guests": {"type": "array", "items": {"$ref": "#/$defs/Guest"}},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["cabin", "guests"],
        "$defs": {
            "Guest": {
                "type": "object",
                "properties": {"name": {"type": "string", "description": "Full name"}},
                "required": ["name"],
            }
        },
    },
}


def changed(**changes: Any) -> dict[str, Any]:
    function = copy.deepcopy(GIVEN)
    for path, value in changes.items():
        *folders, name = path.split("__")
        place = function
        for folder in folders:
            place = place[folder]
        if value is None:
            del place[name]
        else:
            place[name] = value
    return function


CABIN = "parameters__properties__cabin__"


@pytest.mark.parametrize(
    "offered",
    [
        GIVEN,
        changed(description="<summary>Book a flight.</summary>\n<returns>A booking</returns>"),
        changed(description="[crm] Book a flight.\n\nArgs:\n    cabin: The cabin."),
        changed(**{f"{CABIN}description": None, "description": "Book a flight. cabin: The cabin."}),
        changed(parameters__properties__note={"type": ["string", "null"]}),
        changed(parameters__properties__note={"type": "string", "nullable": True}),
        changed(parameters__additionalProperties=False, strict=True),
        changed(parameters__required=["cabin", "bags", "guests", "note"]),
        changed(parameters__properties__bags__title=None),
        changed(
            parameters__properties__guests__items=GIVEN["parameters"]["$defs"]["Guest"],
            **{"parameters__$defs": None},
        ),
        changed(parameters__properties__bags={"allOf": [{"type": "integer"}]}),
    ],
)
def test_what_says_the_same_is_equal(offered):
    assert list(differences(GIVEN, offered)) == []


@pytest.mark.parametrize(
    ("offered", "words"),
    [
        (changed(description=None), "description is missing"),
        (changed(description="Book a"), "description cut after 2 of 3 words"),
        (changed(**{f"{CABIN}enum": ["economy"]}), "cabin: options"),
        (changed(**{f"{CABIN}description": None}), "cabin: description is missing"),
        (changed(parameters__properties__bags={"type": "string"}), "bags: type string, not int"),
        (changed(parameters__properties__guests__items={"type": "string"}), "guests[].name is mis"),
        (changed(parameters__required=["guests"]), "cabin: no longer required"),
        (changed(parameters__required=["cabin", "guests", "bags"]), "bags: became required"),
        (changed(parameters__properties__seat={"type": "string"}), "seat is added"),
        (changed(parameters__properties={}), "parameter cabin is missing"),
    ],
)
def test_what_a_model_can_no_longer_know_is_named(offered, words):
    assert any(words in each for each in differences(GIVEN, offered)), [
        *differences(GIVEN, offered)
    ]


def test_a_record_within_itself_ends():
    class Node(BaseModel):
        children: list["Node"] = []

    function = {"name": "f", "parameters": Node.model_json_schema()}

    assert list(differences(function, function)) == []
    assert instance_of(Node.model_json_schema(), "x") == {"children": []}


@pytest.mark.parametrize(
    ("offered", "found"),
    [
        (["get_order", "x"], {"get_order": "get_order"}),
        (["crm__get_order"], {"get_order": "crm__get_order"}),
        (["crm.get_order", "shop/order"], {"get_order": "crm.get_order", "order": "shop/order"}),
        (["forget_order"], {"order": "forget_order"}),
        (["get_orders"], {}),
        (["get_order", "save_get_order"], {"get_order": "get_order"}),
    ],
)
def test_tools_are_known_after_a_prefix(offered, found):
    assert match_names(["get_order", "order"], offered) == found


def test_an_instance_fits_its_schema():
    jsonschema = pytest.importorskip("jsonschema")
    schema = {
        "type": "object",
        "properties": {
            "route": {"enum": ["a", "b"]},
            "sure": {"type": "number", "minimum": 0, "maximum": 1},
            "is_off_topic": {"type": "boolean"},
            "day": {"type": "string", "format": "date"},
            "short": {"type": "string", "maxLength": 3},
            "list": {"type": "array", "items": {"type": "integer"}, "minItems": 2},
            "maybe": {"anyOf": [{"type": "null"}, {"const": 7}]},
        },
    }
    found = instance_of(schema, "a long text")

    jsonschema.validate(found, schema)
    assert found["route"] == "a" and not found["is_off_topic"] and found["short"] == "a l"
