"""The benchmark's schemas in standard form.

The files say ``data_type`` where JSON schema says ``type``, and give every scalar an empty list of
required properties. Frameworks and models get the standard.
"""

from collections.abc import Mapping

from maseval.benchmark.macs.data.forms import ActionSchema, ActionSpec
from maseval.core.exceptions import ConfigurationError
from maseval.core.shapes import entries, mapping
from maseval.core.tracing import JsonObject

_KEPT = ("description", "enum", "default", "format")


def type_of(schema: ActionSchema) -> object:
    """The type under either name; None if there is none."""
    return schema.get("data_type") or schema.get("type")


def standard_schema(schema: ActionSchema) -> JsonObject:
    """A schema with ``type`` in place of ``data_type``, all the way down."""
    standard: JsonObject = {"type": type_of(schema)} if type_of(schema) else {}
    standard |= {key: schema[key] for key in _KEPT if key in schema}
    if isinstance(schema.get("items"), Mapping):
        standard["items"] = standard_schema(mapping(schema, "items"))
    if isinstance(schema.get("properties"), Mapping):
        properties = mapping(schema, "properties")
        standard["properties"] = {
            name: standard_schema(mapping(properties, name)) for name in properties
        }
        if required := entries(schema.get("required")):
            standard["required"] = required
    return standard


def parameters_of(action: ActionSpec) -> JsonObject:
    """The arguments of an action as the schema of an object."""
    schema = standard_schema(action.get("input_schema") or {})
    return {"type": "object", "properties": {}, **schema}


def inputs_of(action: ActionSpec) -> dict[str, JsonObject]:
    """Type and description of each argument, in the order of the file."""
    properties = mapping(action.get("input_schema"), "properties")
    return {name: _input(name, mapping(properties, name)) for name in properties}


def _input(name: str, schema: ActionSchema) -> JsonObject:
    kind = type_of(schema) or "string"
    described: JsonObject = {
        "type": "string" if isinstance(kind, list) else kind,
        "description": schema.get("description") or "",
    }
    if kind == "array":
        item = type_of(mapping(schema, "items"))
        if not item:
            raise ConfigurationError(
                f"argument {name!r} is an array whose items have no type; give it "
                '"items": {"data_type": …}'
            )
        described["items"] = {"type": item}
    return described
