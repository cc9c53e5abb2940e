from maseval.core.words import excerpt, text, visible


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
