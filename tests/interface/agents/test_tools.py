"""Functions as tools: what a framework gets to know about them."""

from typing import Literal

import pytest
from pydantic import BaseModel

from maseval.benchmark.tau2 import Tau2Environment
from maseval.core.exceptions import ConfigurationError
from maseval.core.tool import inline_references
from maseval.interface.agents.framework import describe_tools


class Seat(BaseModel):
    row: int
    window: bool = False


class Booking(BaseModel):
    seats: list[Seat]
    meal: Literal["fish", "nut cutlet"]


def book(booking: Booking, note: str | None = None) -> str:
    """Book seats.

    Args:
        booking: What to book.
        note: For the crew.
    """
    return "booked"


def test_tools_may_be_given_by_name_or_as_functions():
    by_name = describe_tools({"reserve": book})
    as_functions = describe_tools([book])

    assert [tool.name for tool in by_name + as_functions] == ["reserve", "book"]
    assert {tool.description for tool in by_name + as_functions} == {"Book seats."}
    assert by_name[0].function is book


def test_references_are_replaced_by_what_they_mean():
    (tool,) = describe_tools([book])

    inlined = inline_references(tool.parameters)

    assert "$defs" not in inlined and "$ref" not in str(inlined)
    booking = inlined["properties"]["booking"]
    assert booking["description"] == "What to book."
    assert booking["properties"]["meal"]["enum"] == ["fish", "nut cutlet"]
    assert booking["properties"]["seats"]["items"]["properties"]["row"]["type"] == "integer"
    assert "$defs" in tool.parameters, "the schema itself stays as it was"


class Folder(BaseModel):
    inside: list["Folder"] = []


def test_a_parameter_that_contains_itself_cannot_be_written_out():
    def tidy(folder: Folder) -> str: ...

    (tool,) = describe_tools([tidy])

    with pytest.raises(ConfigurationError, match="'Folder' contains itself"):
        inline_references(tool.parameters)


@pytest.mark.data
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom", "library"])
def test_a_recorded_tool_is_described_like_the_toolkit_describes_it(domain, tau2_data):
    environment = Tau2Environment({"domain": domain})

    functions = [tool["function"] for tool in environment.toolkit.definitions()]

    assert [(t.name, t.description, t.parameters) for t in describe_tools(environment.tools)] == [
        (each["name"], each["description"], each["parameters"]) for each in functions
    ]
