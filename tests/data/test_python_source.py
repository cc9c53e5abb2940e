import ast
import threading
import warnings

import pytest

from maseval.data.python_source import SourceShapeError, parse_source

HOSTILE = {
    "megabytes": b"x = 1\n" * 200_000,
    "null bytes": b"x = 1\n\0",
    "another encoding": "# café\nx = 1\n".encode("latin-1"),
    "an encoding it claims": b"# -*- coding: utf-7 -*-\nx = '+AGE-'\n\xff",
    "two bytes a character": "x = 1\n".encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf\xef\xbb\xbfx = 1\n",
    "not Python": b"<html><body>404</body></html>",
    "a syntax error": b"class X(:\n    pass\n",
    "cut off in a text": b'x = """never closed\n',
    "cut off in brackets": b"x = (1,\n",
    "brackets": b"x = " + b"(" * 150 + b")" * 150 + b"\n",
    "very many brackets": b"x = " + b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "indentation": b"".join(b" " * n + b"if 1:\n" for n in range(60)) + b" " * 60 + b"x = 1\n",
    "signs": b"x = " + b"- " * 100_000 + b"1\n",
    "negations": b"x = " + b"not " * 15_000 + b"1\n",
    "powers": b"x = " + b"2 ** " * 8_000 + b"1\n",
    "sums": b"x = " + b"1 + " * 9_000 + b"1\n",
    "attributes": b"x = a" + b".a" * 9_000 + b"\n",
    "calls": b"x = a" + b"()" * 9_000 + b"\n",
    "functions": b"x = " + b"lambda: " * 6_000 + b"1\n",
    "conditions": b"x = " + b"1 if 1 else " * 4_000 + b"1\n",
    "branches": b"if 1:\n x\n" + b"elif 1:\n x\n" * 20_000,
    "digits": b"x = " + b"9" * 100_000 + b"\n",
    "odd characters": "x = 1 \u200b\u202e\n".encode(),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_is_refused_by_name(content):
    with pytest.raises(SourceShapeError, match=r"^src/shop\.py "):
        parse_source("src/shop.py", content)


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_does_no_harm_where_the_stack_is_small(content):
    refused = []

    def read():
        with pytest.raises(SourceShapeError):
            parse_source("src/shop.py", content)
        refused.append(True)

    before = threading.stack_size(2 * 1024 * 1024)
    try:
        thread = threading.Thread(target=read)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert refused == [True]


def test_nothing_in_a_file_is_executed():
    tree = parse_source("src/shop.py", b"raise SystemExit\n")
    assert isinstance(tree.body[0], ast.Raise)


def test_escapes_that_python_warns_about_are_read_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_source("src/shop.py", b"x = '\\d'\n")
