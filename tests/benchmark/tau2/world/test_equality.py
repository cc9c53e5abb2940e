"""Two values are called equal or different only if the texts that enter a hash are."""

import datetime as dt
from enum import StrEnum
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, field_serializer

from maseval.benchmark.tau2.domains.base import DB
from maseval.benchmark.tau2.world.state import hashing
from maseval.benchmark.tau2.world.state.hashing import same_text
from maseval.benchmark.tau2.world.state.records import Record, SharedTable, Table, canonical_json


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Lamp(Record):
    colour: Any = None
    parts: list[Any] = Field(default_factory=list)


class Blurred(Record):
    name: str

    @field_serializer("name")
    def _blur(self, name: str) -> str:
        return name.lower()


class House(DB):
    lamp: Any = None
    lamps: Table[Lamp] = Field(default_factory=lambda: Table.of(Lamp, {}))


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, -0.0, 1.0, float("nan"), 1e20]),
    st.sampled_from(["red", "1", "", "true"]),
    st.sampled_from(Colour),
    st.just(dt.date(2024, 5, 15)),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
        st.builds(lambda colour, parts: Lamp(colour=colour, parts=parts), inner, st.lists(inner)),
    ),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_what_is_said_of_two_values_holds_for_their_texts(one, other):
    texts = (House(lamp=value).state()["lamp"] for value in (one, other))

    assert same_text(one, other) in (None, len(set(texts)) == 1)


@given(VALUES, VALUES)
def test_databases_are_in_the_same_state_if_their_hashes_are_equal(one, other):
    left, right = House(lamp=one), House(lamp=other)

    assert left.same_state(right) == (left.get_hash() == right.get_hash())


def test_records_with_a_text_of_their_own_making_are_compared_by_it():
    loud, quiet = House(lamp=Blurred(name="HALL")), House(lamp=Blurred(name="hall"))

    assert same_text(loud.lamp, quiet.lamp) is None
    assert loud.same_state(quiet)


def test_tables_are_compared_by_what_was_changed():
    one = House(lamps=Table.of(Lamp, {"a": Lamp(colour="red")}))
    other = House(lamps=Table.of(Lamp, {"a": Lamp(colour="red")}))
    assert one.same_state(other)

    other.lamps["a"].colour = "blue"
    assert not one.same_state(other)
    assert canonical_json(one.model_dump()) != canonical_json(other.model_dump())


RAW = {"a": {"colour": "red", "parts": [1, {"x": [0.0]}]}, "b": {"colour": None, "parts": []}}
TOUCHES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["read", "remove", "add", "set"]), VALUES),
    max_size=4,
)


def touched(shared: SharedTable[Lamp], touches: list[tuple[str, str, Any]]) -> House:
    table = Table(shared)
    for key, way, value in touches:
        if way == "add":
            table[key] = Lamp(colour=value)
        elif key in table:
            if way == "set":
                table[key].parts = [1, {"x": [value]}]
            elif way == "remove":
                del table[key]
            else:
                table[key]
    return House(lamps=table)


@given(TOUCHES, TOUCHES)
def test_tables_over_the_same_records_are_compared_as_their_hashes_are(one, other):
    shared = SharedTable(Lamp, RAW)
    left, right = touched(shared, one), touched(shared, other)

    assert left.same_state(right) == (left.get_hash() == right.get_hash())


def test_a_record_that_was_only_taken_is_the_shared_one_without_any_text(monkeypatch):
    shared = SharedTable(Lamp, RAW)
    left, right = House(lamps=Table(shared)), House(lamps=Table(shared))
    left.lamps["a"], right.lamps.view("a")
    monkeypatch.setattr(hashing, "canonical_record", None)

    assert left.same_state(right)


def test_lists_that_a_model_made_deep_are_compared_to_the_bottom():
    def nested(depth, inside):
        return [nested(depth - 1, inside)] if depth else inside

    assert same_text(nested(350, "Ann"), nested(350, "Ann"))
    assert same_text(nested(350, "Ann"), nested(350, "Ben")) is False
