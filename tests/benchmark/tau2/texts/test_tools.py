import ast
from typing import Any

import docstring_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.benchmark.tau2.texts.extraction import discoverable_tool, read_docstring
from maseval.data.files import SourceShapeError

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
    description, parameters = read_docstring(WHOLE)
    assert description == "Count shells.\n\nThe second line.\n\nNote:\n    Still about the tool."
    assert parameters == {
        "beach": "The beach: a long one.",
        "kind": "Which kind,\nas a list:\n- of items",
        "empty": "",
    }


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ("", "without a description"),
        ("   \n  ", "without a description"),
        ("\n    Args:\n        a: b", "without a description"),
        ("Count.\n\nArgs:\n", "empty section"),
        ("Count.\n\nArgs:\n    no colon", "no colon in the parameter entry 'no colon'"),
        ("Count.\n\nExample:\n    count()", "section of examples"),
    ],
)
def test_what_would_have_to_be_guessed_is_refused(raw, complaint):
    with pytest.raises(SourceShapeError, match=complaint):
        read_docstring(raw)


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
    description, found = read_docstring(raw)
    assert description == f"{theirs.short_description}" + (f"\n\n{long}" if long else "")
    assert found == {param.arg_name: param.description for param in theirs.params}


def found(docstring: str) -> dict[str, Any]:
    tree = ast.parse(f"def polish():\n    {docstring!r}\n")
    return discoverable_tool(tree.body[0])


def test_parameters_are_read_off_the_docstring_one_line_each():
    tool = found(
        "Polish.\n\n    Well.\n\n    Args:\n"
        "        lens (string): The lens: a number\n            and more\n"
        "        cloth (Number, Optional): The cloth\n        soap (optional): Any\n"
        "        plain: Bare\n\n    Returns:\n        It shines.\n        Dropped.\n"
    )
    assert tool["description"] == "Polish.\n\nWell."
    assert tool["success_message"] == "It shines."
    assert {name: tuple(each.values()) for name, each in tool["parameters"].items()} == {
        "lens": ("string", "The lens: a number", True),
        "cloth": ("Number", "The cloth", True),
        "soap": ("string", "Any", False),
        "plain": ("string", "Bare", True),
    }


def test_without_parameters_the_results_stay_in_the_description():
    tool = found("Count.\n\n    Returns:\n        A number.\n    ")
    assert tool["description"] == "Count.\n\nReturns:\n    A number."
    assert tool["parameters"] == {}
    assert tool["success_message"] == "Action completed successfully."


def test_a_tool_that_says_nothing_is_refused():
    with pytest.raises(SourceShapeError, match="polish is a discoverable tool without a docstring"):
        found("")
