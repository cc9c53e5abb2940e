"""Tools as a model is told about them, in OpenAI's form."""

from collections.abc import Sequence
from typing import Any, Required, TypeAlias, TypedDict

JsonSchema: TypeAlias = dict[str, Any]
"""A JSON schema, as it is sent to a model."""


class FunctionDefinition(TypedDict, total=False):
    """A function, and the schema of its arguments."""

    name: Required[str]
    description: str
    parameters: JsonSchema


class ToolDefinition(TypedDict):
    """A tool; ``type`` is always ``function``."""

    type: str
    function: FunctionDefinition


ToolDefinitions = Sequence[ToolDefinition]

ToolChoice = str | dict[str, Any]
"""Which tool to call: ``auto``, ``none``, ``required``, or one of them by its name."""

NO_PARAMETERS: JsonSchema = {"type": "object", "properties": {}}
