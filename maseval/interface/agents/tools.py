"""Functions as tools of a framework: what every adapter needs to know about them."""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from maseval.core.exceptions import ConfigurationError
from maseval.core.tool import tool_definition
from maseval.interface.inference.definitions import FunctionDefinition, JsonSchema, ToolDefinition

Tools = Mapping[str, Callable[..., object]] | Iterable[Callable[..., object]]
"""Tools by name, such as ``environment.tools``, or functions that go by their own names."""


@dataclass(frozen=True)
class Tool:
    """A function and what a model is told about it; ``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: JsonSchema
    function: Callable[..., object]

    @property
    def definition(self) -> ToolDefinition:
        """The tool in OpenAI's form."""
        function: FunctionDefinition = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}

    @property
    def inlined_parameters(self) -> JsonSchema:
        """The schema without ``$defs``, for frameworks that do not follow references."""
        parameters = copy.deepcopy(self.parameters)
        definitions = parameters.pop("$defs", {})
        inlined: JsonSchema = _inlined(parameters, definitions)
        return inlined


def described(tools: Tools) -> list[Tool]:
    """Every function with its name, description and full schema."""
    if isinstance(tools, Mapping):
        return [_described(function, name) for name, function in tools.items()]
    return [_described(function, None) for function in tools]


def as_text(value: object) -> str:
    """What a model or a user reads: text as it is, any other value as JSON."""
    return value if isinstance(value, str) else to_json(value, fallback=str).decode()


def _described(function: Callable[..., object], name: str | None) -> Tool:
    definition = tool_definition(function, name=name)["function"]
    return Tool(definition["name"], definition["description"], definition["parameters"], function)


def _inlined(schema: Any, definitions: Mapping[str, object], within: tuple[str, ...] = ()) -> Any:
    match schema:
        case {"$ref": str(reference)}:
            name = reference.removeprefix("#/$defs/")
            if name in within:
                raise ConfigurationError(
                    f"a tool's parameter {name!r} contains itself, which cannot be inlined for a "
                    "framework that does not follow references; give the tool a flat parameter"
                )
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            return {**_inlined(definitions[name], definitions, (*within, name)), **beside}
        case dict():
            return {key: _inlined(value, definitions, within) for key, value in schema.items()}
        case list():
            return [_inlined(item, definitions, within) for item in schema]
        case _:
            return schema
