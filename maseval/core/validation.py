"""Checks of the arguments an agent sends to a tool; violations are the agent's error."""

from collections.abc import Collection, Mapping
from typing import Any

from maseval.core.exceptions import AgentError

JSON_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def validate_argument_type(
    value: object, expected_type: str, arg_name: str, component: str | None = None
) -> None:
    """Check ``value`` against a JSON schema type name; unknown names accept anything."""
    # A bool is an int for Python, but not an integer for JSON schema.
    disguised = expected_type == "integer" and isinstance(value, bool)
    if not disguised and isinstance(value, JSON_TYPES.get(expected_type, object)):
        return
    actual = "boolean" if disguised else type(value).__name__
    raise AgentError(
        f"Argument '{arg_name}' expected {expected_type}, got {actual}",
        component=component,
        details={"argument": arg_name, "expected": expected_type, "actual": actual},
        suggestion=f"Give '{arg_name}' a value of type {expected_type}",
    )


def validate_required_arguments(
    kwargs: Mapping[str, object], required: Collection[str], component: str | None = None
) -> None:
    """Check that no required argument is missing."""
    _refuse(
        "Missing required argument(s)",
        {"missing": [name for name in required if name not in kwargs], "required": list(required)},
        suggestion=f"Supply all of: {', '.join(required)}",
        component=component,
    )


def validate_no_extra_arguments(
    kwargs: Mapping[str, object], allowed: Collection[str], component: str | None = None
) -> None:
    """Check that every argument is one that is allowed."""
    _refuse(
        "Unexpected argument(s)",
        {"unexpected": [name for name in kwargs if name not in allowed], "allowed": list(allowed)},
        suggestion=f"Use only: {', '.join(allowed)}" if allowed else "Send no arguments",
        component=component,
    )


def _refuse(
    complaint: str, names: Mapping[str, list[str]], *, suggestion: str, component: str | None
) -> None:
    """Raise if there is anything to complain about; the first list of ``names`` is at fault."""
    at_fault = next(iter(names.values()))
    if at_fault:
        raise AgentError(
            f"{complaint}: {', '.join(at_fault)}",
            component=component,
            details=names,
            suggestion=suggestion,
        )


def validate_arguments_from_schema(
    kwargs: Mapping[str, object],
    schema: Mapping[str, Any],
    component: str | None = None,
    *,
    strict: bool = False,
) -> None:
    """Check arguments against a JSON schema of type object; ``strict`` refuses undeclared ones."""
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    validate_required_arguments(kwargs, schema.get("required", []), component)
    if strict:
        validate_no_extra_arguments(kwargs, list(properties), component)
    for name, value in kwargs.items():
        expected = properties.get(name, {}).get("type")
        if expected is not None:
            validate_argument_type(value, expected, name, component)
