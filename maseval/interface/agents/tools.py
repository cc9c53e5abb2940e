"""Functions as tools: their names, descriptions and schemas, as every adapter needs them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pydantic_core import to_json

from maseval.core.tool import inline_references, tool_definition
from maseval.interface.inference.chat_completions import (
    FunctionDefinition,
    JsonSchema,
    ToolDefinition,
)

Tools = Mapping[str, Callable[..., object]] | Iterable[Callable[..., object]]
"""Tools by name, such as ``environment.tools``, or functions that go by their own names."""


@dataclass(frozen=True)
class Tool:
    """A function with the description that a model reads; ``parameters`` is a JSON schema."""

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
        return inline_references(self.parameters)


def describe_tools(tools: Tools) -> list[Tool]:
    """Return every function with its name, description and full schema."""
    if isinstance(tools, Mapping):
        return [_describe(function, name) for name, function in tools.items()]
    return [_describe(function, None) for function in tools]


def as_text(value: object) -> str:
    """Return a value as a model or a user reads it: text as it is, any other value as JSON."""
    return value if isinstance(value, str) else to_json(value, fallback=str).decode()


def _describe(function: Callable[..., object], name: str | None) -> Tool:
    definition = tool_definition(function, name=name)["function"]
    return Tool(definition["name"], definition["description"], definition["parameters"], function)
