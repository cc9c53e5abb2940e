import pytest

from maseval.core.shapes import entries, excerpt, mapping, number, text, visible


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


def test_what_acts_on_a_terminal_is_spelled_out():
    assert visible("a\x1b[2J\u202eb\tc\n") == "a\\u{1B}[2J\\u{202E}b\tc\n"


def test_an_excerpt_is_one_short_line():
    assert excerpt("one\n\n  two") == "one two"
    assert excerpt("x" * 10**7) == "x" * 200 + " …"
    assert excerpt(b"\xff\x00ok", 20) == "\ufffd\\u{0}ok"
    assert excerpt(["a", 1]) == "['a', 1]"
