import docstring_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.benchmark.tau2.texts.tools import read_docstring
from maseval.data.python_source import SourceShapeError

WHOLE = """Count shells.
    The second line.

    Note:
        Still about the tool.

    Args:
        beach (str, optional): The beach: a long one.
        kind:Which kind,
            as a list:
              - of items
        empty:

    Note:
        Dropped.

    Returns:
        Dropped.
    """


def test_the_head_describes_the_tool_and_the_entries_its_parameters():
    description, parameters = read_docstring(WHOLE, "shop")
    assert description == "Count shells.\n\nThe second line.\n\nNote:\n    Still about the tool."
    assert parameters == {
        "beach": "The beach: a long one.",
        "kind": "Which kind,\nas a list:\n- of items",
        "empty": "",
    }


def test_one_line_is_the_whole_description():
    assert read_docstring("Count.", "shop") == ("Count.", {})


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ("", "without a description"),
        ("   \n  ", "without a description"),
        ("\n    Args:\n        a: b", "without a description"),
        ("Count.\n\nArgs:\n", "empty section"),
        ("Count.\n\nArgs:\n    no colon", "no colon in the parameter entry 'no colon'"),
        ("Count.\n\nArgs:\n    a: b\n    a: c", "described twice"),
        ("Count.\n\nExample:\n    count()", "section of examples"),
        ("x" * 10_001, "more than 10,000 characters"),
    ],
)
def test_what_would_have_to_be_guessed_is_refused_with_its_place(raw, complaint):
    with pytest.raises(SourceShapeError, match=f"^shop: .*{complaint}"):
        read_docstring(raw, "shop")


WORDS = st.text("ab,()'é -", min_size=1, max_size=12).map(str.strip).filter(bool)
LINES = st.lists(WORDS, min_size=1, max_size=3)


@given(LINES, st.dictionaries(st.sampled_from(["beach", "kind", "x1"]), LINES, max_size=3))
def test_the_library_that_the_original_uses_agrees(head, parameters):
    raw = "Count " + "\n    ".join(head)
    if parameters:
        entries = (f"        {name}: " + "\n            ".join(d) for name, d in parameters.items())
        raw += "\n\n    Args:\n" + "\n".join(entries) + "\n\n    Returns:\n        It.\n    "
    theirs = docstring_parser.parse(raw)
    long = theirs.long_description
    description, found = read_docstring(raw, "shop")
    assert description == f"{theirs.short_description}" + (f"\n\n{long}" if long else "")
    assert found == {param.arg_name: param.description for param in theirs.params}
