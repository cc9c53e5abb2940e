"""The calculator, against what Python itself makes of the same text."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.benchmark.tau2.domains.arithmetic import calculate

MEGABYTE = 1_000_000


def evaluated(expression: str) -> str:
    """The original's formula, on texts that are known to be small and made of safe characters."""
    with warnings.catch_warnings(action="ignore"):
        return str(round(float(eval(expression, {"__builtins__": None}, {})), 2))


NOT_TEXT = "eval() arg 1 must be a string, bytes or code object"
NOT_FOUND_IN_TEXT = "'in <string>' requires string as left operand, not"


def outcome(function: Callable[..., Any], expression: str) -> str | tuple[type[Any], str]:
    try:
        return function(expression)
    except Exception as error:
        return type(error), str(error)


literals = st.sampled_from(
    ["0", "1", "2", "3", "10", "007", "12.25", ".5", "7.", "0.0", "0.001", "()", "...", "-8"]
)
operators = st.sampled_from(["+", "-", "*", "/", "//", "**", " ", " - ", "+-"])
expressions = st.recursive(
    literals,
    lambda inner: st.one_of(
        st.tuples(inner, operators, inner).map("".join),
        inner.map("({})".format),
        inner.map("-{}".format),
        st.tuples(inner, st.sampled_from(["(", "(*", "(**"]), inner).map(
            lambda t: f"{''.join(t)})"
        ),
    ),
    max_leaves=6,
)


def has_small_powers(expression: str) -> bool:
    """Python would be busy for ever with the others."""
    return expression.count("**") < 2


@given(expressions.filter(has_small_powers))
def test_an_expression_has_the_value_or_the_error_that_python_gives_it(expression):
    assert outcome(calculate, expression) == outcome(evaluated, expression)


@given(st.text("01.5+-*/() ", max_size=8).filter(has_small_powers))
def test_any_allowed_text_has_the_value_or_the_error_that_python_gives_it(expression):
    assert outcome(calculate, expression) == outcome(evaluated, expression)


@pytest.mark.parametrize(
    "expression",
    [
        *("0.5**-99999", "(-8)**0.5", "0**-1", ".", "...", "()", "5(*3)", "5(*())", "5(**1)", "*1"),
        *("", "   ", "(1+2", "1)", "1.2.3", "1 000", "007"),
        *("1" * 4301, "(" * 201, "---" * 2000 + "1"),
    ],
)
def test_the_odd_ones_get_pythons_own_words(expression):
    assert outcome(calculate, expression) == outcome(evaluated, expression)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("2.675", "2.67"),
        ("1/3", "0.33"),
        ("0.0 * -1", "-0.0"),
        ("  7 // 2.0 ", "3.0"),
        ("12345678901234567890", "1.2345678901234567e+19"),
        ("2**1000", "1.0715086071862673e+301"),
        ("10**5000 // 10**4999", "10.0"),
        ("----1", "1.0"),
        ("1" + "0" * 400 + ".0", "inf"),
    ],
)
def test_results_are_floats_rounded_to_two_places(expression, result):
    assert calculate(expression) == result


@pytest.mark.parametrize(
    ("expression", "error", "text"),
    [
        ("1+a", ValueError, "Invalid characters in expression"),
        ("1\n", ValueError, "Invalid characters in expression"),
        ("１+1", ValueError, "Invalid characters in expression"),  # noqa: RUF001
        (["x"], ValueError, "Invalid characters in expression"),
        ({"a": 1}, ValueError, "Invalid characters in expression"),
        (["12", "x"], ValueError, "Invalid characters in expression"),
        (["13"], ValueError, "Invalid characters in expression"),
        (["x", 1], ValueError, "Invalid characters in expression"),
        (["2", "+", "2"], TypeError, NOT_TEXT),
        (["12", "+-*/", "", "). "], TypeError, NOT_TEXT),
        ({"12": 1, "3": []}, TypeError, NOT_TEXT),
        ([], TypeError, NOT_TEXT),
        ({}, TypeError, NOT_TEXT),
        ([12, 3], TypeError, f"{NOT_FOUND_IN_TEXT} int"),
        (["2", "+", 2], TypeError, f"{NOT_FOUND_IN_TEXT} int"),
        ([1.5, "x"], TypeError, f"{NOT_FOUND_IN_TEXT} float"),
        ([None], TypeError, f"{NOT_FOUND_IN_TEXT} NoneType"),
        ([True], TypeError, f"{NOT_FOUND_IN_TEXT} bool"),
        ([["2"]], TypeError, f"{NOT_FOUND_IN_TEXT} list"),
        ([{"2": 2}], TypeError, f"{NOT_FOUND_IN_TEXT} dict"),
        (None, TypeError, "'NoneType' object is not iterable"),
        (12, TypeError, "'int' object is not iterable"),
        (1.5, TypeError, "'float' object is not iterable"),
        (True, TypeError, "'bool' object is not iterable"),
        ("1/0", ZeroDivisionError, "division by zero"),
        ("10**400", OverflowError, "int too large to convert to float"),
        ("9**9**9", OverflowError, "int too large to convert to float"),
        ("9**999999", OverflowError, "int too large to convert to float"),
    ],
)
def test_errors_have_the_texts_of_the_original(expression, error, text):
    with pytest.raises(error) as caught:
        calculate(expression)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("9**9**9", id="a tower of powers"),
        pytest.param("-9**9**9", id="a negative tower of powers"),
        pytest.param("9**999999", id="a power"),
        pytest.param("1**9**99999", id="a power of one"),
        pytest.param("9**20000*" * 1000 + "1", id="many large powers"),
        pytest.param("//".join(["(9**20000)"] * 1000), id="many large divisions"),
        pytest.param("(" * 10_000 + "1" + ")" * 10_000, id="parentheses"),
        pytest.param("(" * MEGABYTE, id="a megabyte of parentheses"),
        pytest.param("-" * MEGABYTE + "1", id="a megabyte of signs"),
        pytest.param("1" * MEGABYTE, id="a megabyte of digits"),
        pytest.param("1." + "1" * MEGABYTE, id="a megabyte of places"),
        pytest.param("1+" * (MEGABYTE // 2) + "1", id="a megabyte of sums"),
        pytest.param("1**" * (MEGABYTE // 3) + "1", id="a megabyte of powers"),
        pytest.param("1" + "()" * (MEGABYTE // 2), id="a megabyte of calls"),
        pytest.param("(1)+" * (MEGABYTE // 4) + "1", id="a megabyte of groups"),
        pytest.param("1 " * (MEGABYTE // 2), id="a megabyte of numbers"),
        pytest.param(" " * MEGABYTE + "1", id="a megabyte of blanks"),
        pytest.param("+".join(["(" + "1+" * 40 + "1)"] * 100), id="a wide sum"),
        pytest.param("x" * MEGABYTE, id="a megabyte of letters"),
    ],
)
def test_whatever_a_model_sends_is_answered_instead_of_worked_on_for_ever(expression):
    result = outcome(calculate, expression)

    refusals = (ArithmeticError, SyntaxError, RecursionError, MemoryError, TypeError, ValueError)
    assert isinstance(result, str) or issubclass(result[0], refusals)


@pytest.mark.parametrize("length", [2_000, 10_000, 100_000])
def test_a_long_sum_is_added_up_or_refused_as_too_deep(length):
    result = outcome(calculate, "1+" * length + "1")
    too_deep = (RecursionError, "maximum recursion depth exceeded during compilation")
    assert result == ("2001.0" if length == 2_000 else too_deep)


def test_calling_a_number_warns_nobody(recwarn):
    with pytest.raises(TypeError, match="'int' object is not callable"):
        calculate("5(3)")
    assert not recwarn.list
