import copy
import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import pytest

import maseval
from maseval.core.exceptions import (
    AgentError,
    MASEvalError,
    OutputExistsError,
    TaskTimeoutError,
    validate_argument_type,
    validate_arguments_from_schema,
)

OUTSIDE_THE_TREE = {
    "maseval.interface.agents.camel_library.Escape": "CAMEL would catch any Exception",
}


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(maseval.__path__, "maseval."):
        if not found.name.endswith("__main__"):
            try:
                yield importlib.import_module(found.name)
            except ImportError as error:  # of a framework that is not installed
                if (error.name or "").startswith("maseval"):
                    raise


def test_every_error_of_the_package_is_a_maseval_error():
    errors = {
        f"{value.__module__}.{value.__qualname__}": value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseException)
        if value.__module__.startswith("maseval.") and not issubclass(value, Warning)
    }

    outside = {name for name, error in errors.items() if not issubclass(error, MASEvalError)}

    assert len(errors) > 50
    assert outside <= set(OUTSIDE_THE_TREE)


@pytest.mark.parametrize("duplicate", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
@pytest.mark.parametrize(
    "error",
    [
        AgentError("a", component="c", details={"k": 1}, suggestion="s"),
        TaskTimeoutError("t", elapsed=1.0, timeout=0.5, partial_traces={"x": 1}),
        OutputExistsError("there", component="logger"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_copying_and_pickling(error, duplicate):
    twin = duplicate(error)
    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert vars(twin) == vars(error)


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "note": {}},
    "required": ["city"],
}


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


def test_an_empty_schema_accepts_everything_unless_strict():
    validate_arguments_from_schema({"a": 1}, {})
    with pytest.raises(AgentError, match="Leave out a; send no arguments"):
        validate_arguments_from_schema({"a": 1}, {}, strict=True)
