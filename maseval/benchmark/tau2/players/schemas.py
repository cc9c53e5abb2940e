"""Tool schemas as they reach a model, compared with those that an agent was given, and values that
a schema allows, for a scripted model that is asked for structured output.

Frameworks write one schema in many ways: references are inlined, optional parameters become
nullable, strict mode requires all parameters, gateways put a prefix before names and text around
descriptions. What a model reads stays the same. A difference is what it can no longer know: a
parameter, a type, an option, a description.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

Schema = Mapping[str, Any]


def match_names(known: Collection[str], offered: Collection[str]) -> dict[str, str]:
    """Return the known tools that are offered: by the name in use, which may have a prefix."""
    found = {name: name for name in known if name in offered}
    for name in offered:
        ends = [each for each in known if name.endswith(each) and _has_prefix(name, each)]
        # Where ``order`` and ``get_order`` both fit, the longer name is meant.
        if ends and name not in found and (longest := max(ends, key=len)) not in found:
            found[longest] = name
    return found


def _has_prefix(name: str, ending: str) -> bool:
    before = name.removesuffix(ending)
    return bool(before) and not before[-1].isalnum()


class _Field(NamedTuple):
    """A parameter, or a part of one."""

    types: frozenset[str]
    options: frozenset[str]
    required: bool
    all_required: bool
    description: str


def differences(given: Schema, offered: Schema) -> Iterator[str]:
    """Yield in words what the function ``offered`` lacks of the function ``given``."""
    # A framework may leave what it says of parameters in the description of the function.
    text = str(offered.get("description") or "")
    if lacking := _lacking(given.get("description"), text):
        yield f"description {lacking}"
    wanted, found = (dict(_fields_of(each)) for each in (given, offered))
    for path, field in wanted.items():
        if path not in found:
            yield f"parameter {path} is missing"
        else:
            yield from (
                f"parameter {path}: {words}" for words in _changes(field, found[path], text)
            )
    yield from (f"parameter {path} is added" for path in found if path not in wanted)


def _changes(given: _Field, offered: _Field, text: str) -> Iterator[str]:
    if given.types != offered.types:
        yield f"type {_join_sorted(offered.types)}, not {_join_sorted(given.types)}"
    if given.options != offered.options:
        yield f"options {_join_sorted(offered.options)}, not {_join_sorted(given.options)}"
    if given.required and not offered.required:
        yield "no longer required"
    if offered.required and not given.required and not offered.all_required:
        yield "became required"
    if lacking := _lacking(given.description, f"{offered.description} {text}"):
        yield f"description {lacking}"


def _join_sorted(words: Collection[str]) -> str:
    return ", ".join(sorted(words)) or "none"


def _fields_of(function: Schema) -> Iterator[tuple[str, _Field]]:
    parameters = function.get("parameters") or {}
    every = _fields(parameters, definitions_of(parameters), "", True, True, ())
    return (each for each in every if each[0])


def _fields(
    schema: Schema,
    definitions: Schema,
    path: str,
    required: bool,
    all_required: bool,
    within: tuple[str, ...],
) -> Iterator[tuple[str, _Field]]:
    """Yield a schema and all below it, by path; a record within itself is entered once."""
    reference = schema.get("$ref")
    if reference in within:
        return
    schema, within = resolve(schema, definitions), (*within, *filter(None, [reference]))
    variants = [resolve(each, definitions) for each in variants_of(schema)]
    one = [each for each in variants if each.get("type") != "null"]
    # "Text or nothing" is a choice of two to some frameworks, and a nullable text to others.
    merged: dict[str, Any] = {**(one[0] if len(one) == 1 else {}), **schema}
    types = {name for each in [merged, *one] for name in _types(each)} - {"null"}
    options = frozenset(json.dumps(value) for value in _options(merged) if value is not None)
    description = str(merged.get("description") or "")
    yield path, _Field(frozenset(types), options, required, all_required, description)
    for each in one if len(one) > 1 else [merged]:
        properties = each.get("properties") or {}
        needed = set(each.get("required") or ())
        for name, value in properties.items():
            below = f"{path}.{name}" if path else name
            # Where all parameters are required, as strict mode wants it, that says nothing about
            # one of them.
            place = (name in needed, needed >= properties.keys(), within)
            yield from _fields(value, definitions, below, *place)
        if isinstance(each.get("items"), Mapping):
            yield from _fields(each["items"], definitions, f"{path}[]", True, True, within)


def definitions_of(schema: Schema) -> Schema:
    """Return the parts of a schema that references name."""
    return {**(schema.get("definitions") or {}), **(schema.get("$defs") or {})}


def resolve(schema: Schema, definitions: Schema) -> Schema:
    """Return a schema with the one that it refers to, and those that it must meet as well."""
    if (reference := schema.get("$ref")) is not None:
        target = definitions.get(str(reference).rpartition("/")[2], {})
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    for part in schema.get("allOf") or ():
        schema = {**resolve(part, definitions), **schema}
    return schema


def variants_of(schema: Schema) -> list[Schema]:
    """Return the schemas of which a value must meet one."""
    return [*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]


def _types(schema: Schema) -> list[str]:
    kind = schema.get("type")
    if kind is not None:
        return list(kind) if isinstance(kind, list) else [str(kind)]
    if options := _options(schema):
        return [_NAMES.get(type(value), "null") for value in options]
    return ["object"] if "properties" in schema else ["array"] if "items" in schema else []


_NAMES: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}


def _options(schema: Schema) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema.get("enum") or ())


def _lacking(given: object, offered: str) -> str:
    """Say what of a description does not arrive; nothing if its words are there in order."""
    wanted, there = _words(str(given or "")), f" {' '.join(_words(offered))} "
    if f" {' '.join(wanted)} " in there or not wanted:
        return ""
    kept = next((n for n in range(len(wanted) - 1, 0, -1) if _holds(there, wanted[:n])), 0)
    return f"cut after {kept} of {len(wanted)} words" if kept else "is missing"


def _holds(text: str, words: list[str]) -> bool:
    return f" {' '.join(words)} " in text


def _words(text: str) -> list[str]:
    # Markup and escapes that come with the text of another format are no words.
    plain = re.sub(r"</?\w+>|\\[nt]", " ", text)
    return re.findall(r"[^\W_]+", plain.lower())


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
