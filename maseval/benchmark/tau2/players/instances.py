"""Values that a JSON schema allows, for a scripted model that is asked for structured output."""

import re
from typing import Any

from maseval.benchmark.tau2.players.tool_schemas import (
    Schema,
    definitions_of,
    resolve,
    variants_of,
)

# A yes to these would stop a conversation; a yes to any other question lets it go on.
_STOPPING = re.compile(
    "off|block|violat|trip|jailbreak|inject|unsafe|harm|abus|spam|reject|den(y|ied)|escalat|"
    "suspicious|refus|needs_|missing|unclear"
)
_VARIANTS = ("anyOf", "oneOf")
_FORMATS = {
    "date": "2024-05-15",
    "date-time": "2024-05-15T15:00:00Z",
    "time": "15:00:00Z",
    "email": "customer@example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.com",
}


def instance_of(schema: Schema, text: str) -> Any:
    """Return a value that the schema allows, with ``text`` wherever a free text may stand."""
    return _instance(schema, text, definitions_of(schema), "", 0)


# A schema that contains itself would otherwise go on without end.
_DEEPEST = 20


def _instance(schema: Schema, text: str, definitions: Schema, name: str, depth: int) -> Any:
    schema = resolve(schema, definitions)
    for variant in variants_of(schema):
        if variant.get("type") != "null":
            rest = {key: part for key, part in schema.items() if key not in _VARIANTS}
            return _instance({**variant, **rest}, text, definitions, name, depth)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    return None if depth > _DEEPEST else _typed_value(schema, text, definitions, name, depth)


def _typed_value(schema: Schema, text: str, definitions: Schema, name: str, depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    match kind:
        case "object":
            return {
                key: _instance(each, text, definitions, key, depth + 1)
                for key, each in (schema.get("properties") or {}).items()
            }
        case "array":
            item = schema.get("items") or {}
            count = int(schema.get("minItems") or 0)
            return [_instance(item, text, definitions, name, depth + 1) for _ in range(count)]
        case "boolean":
            return not _STOPPING.search(name.lower())
        case "integer" | "number":
            return schema.get("maximum", max(1, schema.get("minimum", 1)))
        case "null":
            return None
    return _FORMATS.get(str(schema.get("format")), text[: schema.get("maxLength")])
