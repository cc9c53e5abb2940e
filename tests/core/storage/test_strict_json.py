import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.exceptions import NestedTooDeeplyError
from maseval.core.storage import strict_json


def strictly(text: str) -> object:
    def refuse(word: str) -> object:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


class Sulking:
    def __str__(self) -> str:
        raise RuntimeError("no")


class Busy(dict[str, object]):
    def items(self) -> object:
        raise RuntimeError("changed size during iteration")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@given(json_values)
def test_what_json_can_say_comes_back_unchanged(value):
    assert strictly(strict_json.dumps(value)) == value


@given(json_values)
def test_one_bad_number_beside_a_value_does_not_change_the_value(value):
    assert strictly(strict_json.dumps([value, math.nan])) == [value, "NaN"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        ({"reward": math.nan, "n": 1}, {"reward": "NaN", "n": 1}),
        ({math.inf: [1, (2.5, math.nan)]}, {"Infinity": [1, [2.5, "NaN"]]}),
        ({("a", 1): True}, {"('a', 1)": True}),
        ({1: None, None: math.nan}, {"1": None, "null": "NaN"}),
        (
            {"arguments": {"n": math.nan, "of": [1, math.inf]}},
            {"arguments": {"n": None, "of": [1, None]}},
        ),
        (ValueError("odd"), "odd"),
        ([10**5000], [hex(10**5000)]),
        (Sulking(), "<Sulking that cannot be shown: RuntimeError>"),
        ("\ud800 lone", "\ud800 lone"),
        ([Busy(a=1), 2], ["<Busy that cannot be shown: RuntimeError>", 2]),
    ],
)
def test_what_json_has_no_word_for_becomes_text(value, written):
    assert strictly(strict_json.dumps(value)) == written


def test_a_value_that_contains_itself_twice_is_cut_at_once():
    knot: list[object] = []
    knot += [knot, knot, {"again": knot}]

    assert strictly(strict_json.dumps(knot)) == [
        "<contains itself>",
        "<contains itself>",
        {"again": "<contains itself>"},
    ]


def test_nesting_without_end_is_cut():
    deep: object = "bottom"
    for _ in range(100_000):
        deep = [deep]

    assert "<nested too deeply>" in strict_json.dumps(deep)


@pytest.mark.parametrize("line", [b"[1]", b"7", b"null", b"{", b"\xff", b"\0\0\0\0"])
def test_only_an_object_is_taken_for_one(line):
    with pytest.raises(ValueError):
        strict_json.loads_object(line)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[" * 900 + "]" * 900, '{"a":' * 101 + "1" + "}" * 101]
)
def test_what_is_nested_too_deeply_is_refused_by_name(text):
    with pytest.raises(NestedTooDeeplyError, match="more than 100 levels"):
        strict_json.loads(text)


def test_what_is_nested_as_deep_as_allowed_is_read():
    assert strict_json.is_shallow(strict_json.loads("[" * 100 + "]" * 100), 100)
    assert strict_json.loads('"text"') == "text"
    assert not strict_json.is_shallow([[]], 1)
