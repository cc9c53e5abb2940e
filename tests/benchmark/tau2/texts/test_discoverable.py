import ast

import pytest

from maseval.benchmark.tau2.texts.shapes import Scope
from maseval.benchmark.tau2.texts.tools import discoverable_tool
from maseval.data.python_source import SourceShapeError


def found(docstring):
    tree = ast.parse(f"def polish():\n    {docstring!r}\n")
    return discoverable_tool(Scope("shop", tree).function("polish"), "polish")


def test_parameters_are_read_off_the_docstring_one_line_each():
    tool = found(
        "Polish.\n\n    Well.\n\n    Args:\n"
        "        lens (string): The lens: a number\n            and more\n"
        "        cloth (Number, Optional): The cloth\n        soap (optional): Any\n"
        "        plain: Bare\n\n    Returns:\n        It shines.\n        Dropped.\n"
    )
    assert tool.description == "Polish.\n\nWell."
    assert tool.success_message == "It shines."
    assert {name: tuple(text.model_dump().values()) for name, text in tool.parameters.items()} == {
        "lens": ("string", "The lens: a number", True),
        "cloth": ("Number", "The cloth", True),
        "soap": ("string", "Any", False),
        "plain": ("string", "Bare", True),
    }


def test_without_parameters_the_results_stay_in_the_description():
    tool = found("Count.\n\n    Returns:\n        A number.\n    ")
    assert tool.description == "Count.\n\nReturns:\n    A number."
    assert tool.parameters == {}
    assert tool.success_message == "Action completed successfully."


@pytest.mark.parametrize(
    ("docstring", "complaint"),
    [("", "without a docstring"), ("x" * 10_001, "more than 10,000 characters")],
)
def test_a_tool_that_says_nothing_or_far_too_much_is_refused(docstring, complaint):
    with pytest.raises(SourceShapeError, match=f"^shop: polish: .*{complaint}"):
        found(docstring)


def test_blank_lines_by_the_thousand_are_read_in_reasonable_time():
    assert found("Polish.\n\nArgs:\n" + "\n" * 9_000 + "x").parameters == {}
