from maseval.core.shapes import excerpt, visible


def test_what_acts_on_a_terminal_is_spelled_out():
    assert visible("a\x1b[2J\u202eb\tc\n") == "a\\u{1B}[2J\\u{202E}b\tc\n"


def test_an_excerpt_is_one_short_line():
    assert excerpt("one\n\n  two") == "one two"
    assert excerpt("x" * 10**7) == "x" * 200 + " …"
    assert excerpt(b"\xff\x00ok", 20) == "\ufffd\\u{0}ok"
    assert excerpt(["a", 1]) == "['a', 1]"
