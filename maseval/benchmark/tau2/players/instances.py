"""Values that a JSON schema allows, for a scripted model that is asked for structured output."""

import re
from collections.abc import Mapping
from typing import Any

# A yes to these would stop a conversation; a yes to any other question lets it go on.
_STOPPING = re.compile(
    "off|block|violat|trip|jailbreak|inject|unsafe|harm|abus|spam|reject|den(y|ied)|escalat|"
    "suspicious|refus|needs_|missing|unclear"
)
_FORMATS = {
    "date": "2024-05-15",
    "date-time": "2024-05-15T15:00:00Z",
    "time": "15:00:00Z",
    "email": "customer@example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.com",
}


def instance_of(schema: Mapping[str, Any], text: str) -> Any:
    """Return a value that the schema allows, with ``text`` wherever a free text may stand."""
    definitions = {**(schema.get("definitions") or {}), **(schema.get("$defs") or {})}
    return _instance(schema, text, definitions, "", 0)


_DEEPEST = 20


def _instance(
    schema: Mapping[str, Any], text: str, definitions: Mapping[str, Any], name: str, depth: int
) -> Any:
    if (reference := schema.get("$ref")) is not None:
        schema = definitions.get(str(reference).rpartition("/")[2], {})
    for key in ("allOf", "anyOf", "oneOf"):
        parts = [each for each in schema.get(key) or () if each.get("type") != "null"]
        if parts:
            schema = {**parts[0], **{name: part for name, part in schema.items() if name != key}}
            return _instance(schema, text, definitions, name, depth)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    kind = (
        next((each for each in kinds if each != "null"), "null")
        if isinstance(kinds, list)
        else kinds
    )
    if depth > _DEEPEST:
        return None
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
