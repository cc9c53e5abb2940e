import functools
import gc
import weakref
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Literal

import docstring_parser
import pytest
from pydantic import BaseModel

from maseval.core.exceptions import ConfigurationError
from maseval.core.tool import describe_as, tool_definition


class FlightInfo(BaseModel):
    flight_number: str
    date: str


class Mode(StrEnum):
    FAST = "fast"
    SLOW = "slow"


class Desk:
    def change_flights(
        self,
        reservation_id: str,
        cabin: Literal["business", "economy"],
        flights: list[FlightInfo | str],
        limit: int = 12,
    ) -> str:
        """Change the flights of a reservation.

        The whole list of flights is needed,
        even of those that stay.

        Args:
            reservation_id: Such as 'ABC123'.
            flights: All flights
                of the reservation.
            limit: How many at most.

        Returns:
            The reservation.
        """
        return reservation_id


def parameters(fn: Callable[..., Any]) -> dict[str, Any]:
    return tool_definition(fn)["function"]["parameters"]


def test_a_definition_has_the_form_pydantic_gives_to_a_model_of_the_arguments():
    definition = tool_definition(Desk.change_flights)

    assert definition == {
        "type": "function",
        "function": {
            "name": "change_flights",
            "description": "Change the flights of a reservation.\n\n"
            "The whole list of flights is needed,\neven of those that stay.",
            "parameters": {
                "$defs": {
                    "FlightInfo": {
                        "properties": {
                            "flight_number": {"title": "Flight Number", "type": "string"},
                            "date": {"title": "Date", "type": "string"},
                        },
                        "required": ["flight_number", "date"],
                        "title": "FlightInfo",
                        "type": "object",
                    }
                },
                "properties": {
                    "reservation_id": {
                        "description": "Such as 'ABC123'.",
                        "title": "Reservation Id",
                        "type": "string",
                    },
                    "cabin": {
                        "enum": ["business", "economy"],
                        "title": "Cabin",
                        "type": "string",
                    },
                    "flights": {
                        "description": "All flights\nof the reservation.",
                        "items": {
                            "anyOf": [
                                {"$ref": "#/$defs/FlightInfo"},
                                {"type": "string"},
                            ]
                        },
                        "title": "Flights",
                        "type": "array",
                    },
                    "limit": {
                        "default": 12,
                        "description": "How many at most.",
                        "title": "Limit",
                        "type": "integer",
                    },
                },
                "required": ["reservation_id", "cabin", "flights"],
                "title": "parameters",
                "type": "object",
            },
        },
    }


def test_a_function_without_docstring_and_arguments_is_described_too():
    def ping():
        return "pong"

    assert tool_definition(ping)["function"] == {
        "name": "ping",
        "description": "",
        "parameters": {"properties": {}, "title": "parameters", "type": "object"},
    }


def test_enums_unions_and_annotations_in_quotes_are_understood():
    def set_mode(mode: "Mode | str", note: "str | None" = None, anything=None) -> None: ...

    schema = parameters(set_mode)

    assert schema["$defs"]["Mode"]["enum"] == ["fast", "slow"]
    assert schema["properties"]["mode"] == {
        "anyOf": [{"$ref": "#/$defs/Mode"}, {"type": "string"}],
        "title": "Mode",
    }
    assert schema["properties"]["note"] == {
        "anyOf": [{"type": "string"}, {"type": "null"}],
        "default": None,
        "title": "Note",
    }
    assert schema["properties"]["anything"] == {"default": None, "title": "Anything"}
    assert schema["required"] == ["mode"]


def test_arguments_may_bear_names_that_a_model_class_keeps_for_itself():
    def odd(copy: str, model_config: int, _id: str, schema: str = "x") -> None: ...

    assert list(parameters(odd)["properties"]) == ["copy", "model_config", "_id", "schema"]


def test_open_keyword_arguments_are_allowed_and_said_so():
    def search(query: str, *rest: str, **filters: str) -> None: ...

    schema = parameters(search)

    assert list(schema["properties"]) == ["query"]
    assert schema["additionalProperties"] is True


def test_a_bound_method_and_a_wrapped_function_look_like_the_plain_one():
    @functools.wraps(Desk.change_flights)
    def traced(*args, **kwargs):
        return Desk.change_flights(*args, **kwargs)

    plain = tool_definition(Desk.change_flights)
    assert tool_definition(Desk().change_flights) == tool_definition(traced) == plain


def test_a_described_closure_can_be_forgotten():
    def tool_of(environment):
        def look() -> str:
            """Look around."""
            return repr(environment)

        return look

    look = tool_of(Desk())
    tool_definition(look)
    remains = weakref.ref(look)
    del look
    gc.collect()

    assert remains() is None


def positional(value: int, /) -> None: ...
def opaque(value: weakref.ref) -> None: ...
def missing(value: "NowhereDefined") -> None: ...  # noqa: F821


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (positional, "'positional' takes 'value' by position only"),
        (opaque, "'opaque' cannot be described to a model"),
        (missing, "'missing' cannot be read: name 'NowhereDefined'"),
    ],
)
def test_a_function_that_no_model_could_call_is_refused(fn, message):
    with pytest.raises(ConfigurationError, match=message):
        tool_definition(fn)


def test_a_function_can_be_shown_in_other_words():
    def look(at: str, twice: bool = False) -> str:
        """Look.

        Args:
            at: Where.
        """
        return at

    definition = tool_definition(look)
    definition["function"]["description"] = "Regard.\n\nWith care."
    definition["function"]["parameters"]["properties"]["at"]["description"] = "The\nplace."
    describe_as(look, definition)

    shown = tool_definition(look)
    assert shown == definition and shown is not definition
    parsed = docstring_parser.parse(look.__doc__)
    assert (parsed.short_description, parsed.long_description) == ("Regard.", "With care.")
    assert {each.arg_name: each.description for each in parsed.params} == {"at": "The\nplace."}


class Weather:
    """Knows the weather."""

    def __call__(self, city: str) -> str:
        """Tell the weather of today.

        Args:
            city: Where.
        """
        return f"rain in {city}"


class Almanac:
    """Knows the climate."""

    def __call__(self, city: str) -> str:
        return f"mild in {city}"


@pytest.mark.parametrize(
    ("called", "description", "city"),
    [
        (Weather(), "Tell the weather of today.", {"description": "Where."}),
        (functools.partial(Weather().__call__), "Tell the weather of today.", {}),
        (Almanac(), "Knows the climate.", {}),
    ],
)
def test_a_callable_object_is_described_by_how_it_is_called_or_what_it_is(
    called, description, city
):
    described = tool_definition(called, name="get_weather")["function"]

    assert (described["name"], described["description"]) == ("get_weather", description)
    told = described["parameters"]["properties"]["city"]
    assert told.items() >= {"title": "City", "type": "string", **city}.items()


def test_an_object_that_describes_itself_is_shown_as_it_says():
    class Generic:
        @property
        def definition(self):
            schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
            function = {"name": "own", "description": "What it does.", "parameters": schema}
            return {"type": "function", "function": function}

        def __call__(self, **arguments):
            return arguments

    tool = Generic()
    assert tool_definition(tool) == tool.definition
    assert tool_definition(tool, name="other")["function"]["name"] == "other"
