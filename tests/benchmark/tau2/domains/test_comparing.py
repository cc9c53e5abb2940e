"""Two values are called equal or different only if the texts that enter a hash are."""

import datetime as dt
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, field_serializer

from maseval.benchmark.tau2.domains.base import DB, same_text
from maseval.benchmark.tau2.domains.records import Record, Table, canonical_json


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Lamp(Record):
    colour: Any = None
    parts: list[Any] = Field(default_factory=list)


class Secretive(Record):
    secret: str = Field("", exclude=True)


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


@pytest.mark.parametrize(
    ("one", "other"), [(Secretive(secret="a"), Secretive(secret="b")), *[(1, True), (1, 1.0)]]
)
def test_what_only_the_texts_can_tell_is_left_to_them(one, other):
    assert same_text(one, other) is None


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
