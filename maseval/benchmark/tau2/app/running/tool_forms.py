"""Tools as forms: the parameters of a function schema as fields that a person fills in."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.storage import strict_json
from maseval.core.words import excerpt

Schema = Mapping[str, Any]
Kind = Literal["text", "integer", "number", "boolean", "choice", "list", "json"]


class _SchemaType(NamedTuple):
    """A type of a schema: its Python type, the kind of its field, and its name in errors."""

    python: type | tuple[type, ...]
    kind: Kind
    article: str


_TYPES: Mapping[str, _SchemaType] = {
    "string": _SchemaType(str, "text", "a text"),
    "integer": _SchemaType(int, "integer", "a whole number"),
    "number": _SchemaType((int, float), "number", "a number"),
    "boolean": _SchemaType(bool, "boolean", "true or false"),
    "array": _SchemaType(list, "json", "a list, like [...]"),
    "object": _SchemaType(dict, "json", "an object, like {...}"),
    "null": _SchemaType(type(None), "json", "null"),
}
_YES, _NO = ("true", "yes", "y", "1"), ("false", "no", "n", "0")
_DEPTH = 6
_NULLABLE = "nullable"


class FormError(ConfigurationError):
    """An entry of a form does not fit its field."""


@dataclass(frozen=True)
class Field:
    """One parameter and its kind of input; ``example`` is for those that are written as JSON."""

    name: str
    kind: Kind
    schema: Schema
    required: bool
    help: str = ""
    choices: Sequence[str] = ()
    default: object = None
    example: str = ""

    def read(self, text: str) -> object:
        """Return the value that a text stands for."""
        if not text.strip():
            raise FormError(f"{self.name} is empty; fill it in")
        value = _READERS[self.kind](self, text)
        _check(value, self.schema, self.name)
        return value


def fields_of(definition: Schema) -> list[Field]:
    """Return the fields of a function schema, in its order."""
    parameters = definition["function"].get("parameters") or {}
    required = parameters.get("required") or ()
    return [
        _field(name, schema, name in required, parameters)
        for name, schema in (parameters.get("properties") or {}).items()
    ]


def read_arguments(definition: Schema, text: str) -> dict[str, Any]:
    """Read the arguments from a JSON object."""
    try:
        given = strict_json.loads(text)
    except ValueError as error:
        raise FormError(
            f"the parameters are not a JSON object ({excerpt(error)}); write them like "
            '{"name": "value"}'
        ) from None
    if not isinstance(given, dict):
        raise FormError("the parameters are not a JSON object; write them like {...}")
    return check_arguments(definition, given)


def check_arguments(definition: Schema, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments if they fit the schema; raises ``FormError`` otherwise."""
    fields = {each.name: each for each in fields_of(definition)}
    for name, value in given.items():
        if name not in fields:
            raise FormError(
                f"there is no parameter {name!r}; there is {', '.join(fields) or 'none'}"
            )
        _check(value, fields[name].schema, name)
    lacking = [each.name for each in fields.values() if each.required and each.name not in given]
    if lacking:
        raise FormError(f"{' and '.join(lacking)} missing; fill it in")
    return dict(given)


def _field(name: str, schema: Schema, required: bool, root: Schema) -> Field:
    chosen = _resolve(schema, root)
    choices = [str(each) for each in chosen.get("enum") or ()]
    kind: Kind = "choice" if choices else _kind(chosen)
    example = strict_json.dumps(_example(chosen)) if kind in ("list", "json") else ""
    words = " ".join(str(schema.get("description") or "").split())
    return Field(name, kind, chosen, required, words, choices, schema.get("default"), example)


def _resolve(schema: Schema, root: Schema, depth: int = _DEPTH) -> Schema:
    """Follow references in a schema, and take the first of several forms that is not null."""
    if "$ref" in schema and depth:
        return _resolve(root["$defs"][schema["$ref"].rpartition("/")[2]], root, depth - 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            forms = [each for each in schema[key] if each.get("type") != "null"]
            found = _resolve(forms[0], root, depth) if forms else schema
            return found if len(forms) == len(schema[key]) else {**found, _NULLABLE: True}
    inner = dict(schema)
    if depth and isinstance(schema.get("items"), dict):
        inner["items"] = _resolve(schema["items"], root, depth - 1)
    if depth and schema.get("properties"):
        named = schema["properties"].items()
        inner["properties"] = {name: _resolve(each, root, depth - 1) for name, each in named}
    return inner


def _kind(schema: Schema) -> Kind:
    if schema.get("type") == "array" and (schema.get("items") or {}).get("type") == "string":
        return "list"
    known = _TYPES.get(str(schema.get("type")))
    return known.kind if known else "json"


def _example(schema: Schema) -> object:
    if schema.get("enum"):
        return schema["enum"][0]
    match schema.get("type"):
        case "array":
            return [_example(schema.get("items") or {})]
        case "object":
            return {name: _example(each) for name, each in (schema.get("properties") or {}).items()}
        case "integer" | "number":
            return 0
        case "boolean":
            return True
        case _:
            return "..."


def _as_text(field: Field, text: str) -> object:
    return text.strip()


def _as_integer(field: Field, text: str) -> object:
    try:
        return int(text.strip())
    except ValueError:
        raise FormError(f"{field.name} is {excerpt(text)!r}; give a whole number") from None


def _as_number(field: Field, text: str) -> object:
    try:
        value = float(text.strip())
    except ValueError:
        value = float("nan")
    if value != value or abs(value) == float("inf"):
        raise FormError(f"{field.name} is {excerpt(text)!r}; give a number")
    return int(value) if value.is_integer() and "." not in text else value


def _as_boolean(field: Field, text: str) -> object:
    word = text.strip().lower()
    if word not in (*_YES, *_NO):
        raise FormError(f"{field.name} is {excerpt(text)!r}; give yes or no")
    return word in _YES


def _as_choice(field: Field, text: str) -> object:
    word = text.strip()
    if word.isdecimal() and word not in field.choices and 1 <= int(word) <= len(field.choices):
        return field.choices[int(word) - 1]
    if word not in field.choices:
        raise FormError(
            f"{field.name} is {excerpt(text)!r}; choose one of: {', '.join(field.choices)}"
        )
    return word


def _as_list(field: Field, text: str) -> object:
    if text.lstrip().startswith("["):
        return _as_json(field, text)
    return [part.strip() for part in text.split(",") if part.strip()]


def _as_json(field: Field, text: str) -> object:
    try:
        return strict_json.loads(text)
    except ValueError as error:
        raise FormError(
            f"{field.name} is not JSON ({excerpt(error)}); write it like {field.example}"
        ) from None


_READERS = {
    "text": _as_text,
    "integer": _as_integer,
    "number": _as_number,
    "boolean": _as_boolean,
    "choice": _as_choice,
    "list": _as_list,
    "json": _as_json,
}


def _check(value: object, schema: Schema, where: str) -> None:
    """Raise if a value is not of the schema's type, at any depth."""
    if value is None and schema.get(_NULLABLE):
        return
    kind = schema.get("type")
    expected = _TYPES.get(str(kind))
    is_bool = isinstance(value, bool) and kind in ("integer", "number")
    if expected is not None and (not isinstance(value, expected.python) or is_bool):
        quoted = excerpt(json.dumps(value, ensure_ascii=False), 60)  # 1 is not "1"
        raise FormError(f"{where} is {quoted}; give {expected.article}")
    if schema.get("enum") and value not in schema["enum"]:
        raise FormError(f"{where} is {value!r}; choose one of: {', '.join(schema['enum'])}")
    if isinstance(value, list):
        for number, each in enumerate(value):
            _check(each, schema.get("items") or {}, f"{where}[{number}]")
    if isinstance(value, dict):
        _check_object(value, schema, where)


def _check_object(value: Mapping[str, object], schema: Schema, where: str) -> None:
    lacking = [name for name in schema.get("required") or () if name not in value]
    if lacking:
        raise FormError(f"{where} lacks {', '.join(lacking)}")
    for name, each in (schema.get("properties") or {}).items():
        if name in value:
            _check(value[name], each, f"{where}.{name}")
