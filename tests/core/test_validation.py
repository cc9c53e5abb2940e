import pytest

from maseval.core.exceptions import (
    AgentError,
    validate_argument_type,
    validate_arguments_from_schema,
    validate_no_extra_arguments,
    validate_required_arguments,
)

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "note": {}},
    "required": ["city"],
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x", "string"),
        (3, "integer"),
        (3, "number"),
        (3.5, "number"),
        (True, "number"),
        (True, "boolean"),
        ([1], "array"),
        ({"a": 1}, "object"),
        (object(), "a type we do not know"),
    ],
)
def test_a_value_of_the_expected_type_passes(value, expected):
    validate_argument_type(value, expected, "arg")


@pytest.mark.parametrize(
    ("value", "expected", "actual"),
    [
        (3, "string", "int"),
        (3.5, "integer", "float"),
        (True, "integer", "boolean"),
        ("3", "number", "str"),
        (1, "boolean", "int"),
        ((1,), "array", "tuple"),
        (None, "object", "NoneType"),
    ],
)
def test_a_value_of_another_type_is_the_agents_error(value, expected, actual):
    with pytest.raises(AgentError) as caught:
        validate_argument_type(value, expected, "days", component="trip")

    assert caught.value.message == f"Argument 'days' expected {expected}, got {actual}"
    assert caught.value.component == "trip"
    assert caught.value.details == {"argument": "days", "expected": expected, "actual": actual}
    assert expected in caught.value.suggestion


def test_missing_arguments_are_named_together():
    with pytest.raises(AgentError, match=r"Missing required argument\(s\): a, b") as caught:
        validate_required_arguments({"c": 1}, ["a", "b", "c"])
    assert caught.value.details == {"missing": ["a", "b"], "required": ["a", "b", "c"]}


def test_unexpected_arguments_are_named_together():
    with pytest.raises(AgentError, match=r"Unexpected argument\(s\): x, y") as caught:
        validate_no_extra_arguments({"x": 1, "a": 2, "y": 3}, ["a"])
    assert caught.value.details == {"unexpected": ["x", "y"], "allowed": ["a"]}


def test_complete_arguments_pass():
    validate_required_arguments({"a": None}, ["a"])
    validate_no_extra_arguments({"a": None}, ["a", "b"])


@pytest.mark.parametrize("arguments", [{"city": "Oslo"}, {"city": "Oslo", "days": 2, "note": 1}])
def test_arguments_that_fit_the_schema_pass(arguments):
    validate_arguments_from_schema(arguments, SCHEMA, strict=True)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"days": "two", "sun": 1}, "Missing required"),
        ({"city": "Oslo", "days": "two", "sun": 1}, "Unexpected"),
        ({"city": "Oslo", "days": "two"}, "expected integer"),
    ],
)
def test_a_strict_schema_complains_of_absence_then_excess_then_type(arguments, complaint):
    with pytest.raises(AgentError, match=complaint):
        validate_arguments_from_schema(arguments, SCHEMA, "trip", strict=True)


def test_a_lenient_schema_lets_undeclared_arguments_pass():
    validate_arguments_from_schema({"city": "Oslo", "sun": 1}, SCHEMA)


def test_an_empty_schema_accepts_everything_unless_strict():
    validate_arguments_from_schema({"a": 1}, {})
    with pytest.raises(AgentError, match="Send no arguments"):
        validate_arguments_from_schema({"a": 1}, {}, strict=True)
