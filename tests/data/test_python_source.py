import ast
import warnings

import pytest

from maseval.data.files import SourceShapeError, parse_source

UNREADABLE = {
    "null bytes": b"x = 1\n\0",
    "not Python": b"<html><body>404</body></html>",
    "cut off in a text": b'x = """never closed\n',
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_file_that_is_not_python_is_refused_by_name(content):
    with pytest.raises(SourceShapeError, match=r"^src/shop\.py "):
        parse_source("src/shop.py", content)


def test_nothing_in_a_file_is_executed():
    tree = parse_source("src/shop.py", b"raise SystemExit\n")
    assert isinstance(tree.body[0], ast.Raise)


def test_escapes_that_python_warns_about_are_read_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_source("src/shop.py", b"x = '\\d'\n")
