import pytest

from maseval.core.shapes import entries, mapping, number, text


@pytest.mark.parametrize("value", [None, [], "text", {"a": None}, {"a": "b"}, {"a": {"b": 3}}])
def test_a_missing_mapping_is_an_empty_one(value):
    assert mapping(value, "a", "b") == {}


def test_what_is_no_list_has_no_entries():
    assert entries("abc") == []
    assert entries((1, 2)) == [1, 2]


def test_truth_is_no_number():
    assert number(True) is None
    assert number(2) == 2


def test_anything_becomes_text_that_can_be_read():
    assert text("é") == "é"
    assert text({"name": "é", "of": float("nan")}) == '{"name": "é", "of": "NaN"}'
