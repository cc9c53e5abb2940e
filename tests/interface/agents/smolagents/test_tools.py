import copy
import json

from maseval.interface.agents.framework import describe_tools
from maseval.interface.agents.smolagents_tools import Inputs


def book(seat: str, extras: list[dict[str, int]], note: str | None = None) -> str:
    """Book a seat."""
    return seat


def inputs() -> Inputs:
    (tool,) = describe_tools([book])
    return Inputs(tool.inlined_parameters)


def test_a_copy_survives_being_gone_through_and_is_the_true_schema():
    properties = copy.deepcopy(inputs())
    required = [name for name, schema in properties.items() if not schema["nullable"]]
    for schema in properties.values():
        assert schema.get("nullable") is None

    assert required == ["seat", "extras"]
    assert json.loads(json.dumps(properties)) == inputs().properties
    assert "anyOf" in properties["note"]
