import copy
import json

import pytest

from maseval import ScriptedModelAdapter
from maseval.interface import extras
from maseval.interface.agents.smolagents import SmolAgentAdapter, SmolAgentLLMUser, as_tools
from maseval.interface.agents.smolagents_tools import Inputs
from maseval.interface.agents.tools import described


def book(seat: str, extras: list[dict[str, int]], note: str | None = None) -> str:
    """Book a seat."""
    return seat


def inputs() -> Inputs:
    (tool,) = described([book])
    return Inputs(tool.inlined_parameters)


def test_no_argument_is_refused():
    checked = inputs()

    assert "seat" in checked and "anything" in checked
    assert checked["seat"] == checked["anything"]
    assert all(schema["nullable"] for schema in checked.values())


def test_a_copy_survives_being_gone_through_and_is_the_true_schema():
    properties = copy.deepcopy(inputs())
    required = [name for name, schema in properties.items() if not schema["nullable"]]
    for schema in properties.values():
        assert schema.get("nullable") is None

    assert required == ["seat", "extras"]
    assert json.loads(json.dumps(properties)) == inputs().properties
    assert "anyOf" in properties["note"]


def test_changes_to_a_copy_do_not_come_back():
    changed, before = inputs(), inputs().properties
    for _ in range(2):
        copied = copy.deepcopy(changed)
        for _, schema in copied.items():
            schema.clear()
        copied["note"].clear()

    assert changed.properties == before


def test_without_the_library_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda module: False)
    way_out = r"smolagents is not installed.*pip install 'maseval\[smolagents\]'"

    with pytest.raises(extras.MissingExtraError, match=way_out):
        as_tools([book])
    with pytest.raises(extras.MissingExtraError, match=way_out):
        SmolAgentAdapter(object(), "clerk").run("Hi")
    with pytest.raises(extras.MissingExtraError, match=way_out):
        SmolAgentLLMUser("ada", ScriptedModelAdapter([]), "A reader", "").get_tool()
