"""A Python callable as a tool definition: the function schema that a model is shown.

Name and types come from the signature, every description from the docstring (Google style). All
parts of the library that offer functions to a model describe them here, so that one function
always looks the same.
"""

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from maseval.core.exceptions import ConfigurationError

# Weak keys: a tool is often a closure over one environment, which must not outlive its repetition.
_described: WeakKeyDictionary[FunctionType, dict[str, Any]] = WeakKeyDictionary()


def tool_definition(fn: Callable[..., object], *, name: str | None = None) -> dict[str, Any]:
    """Return the OpenAI function schema of ``fn``: ``{"type": "function", "function": {...}}``.

    ``fn`` may be a function, a bound method, a method taken from its class (``self`` is left out),
    any other callable object, or an object that describes itself: its ``definition`` is such a
    schema. ``name`` replaces its own, and an object that has none needs it. The caller owns the
    returned dictionary.
    """
    function = getattr(fn, "__func__", fn)
    if (own := getattr(fn, "definition", None)) is not None:
        described = copy.deepcopy(own["function"])
    elif isinstance(function, FunctionType):
        if function not in _described:
            _described[function] = _describe(function)
        described = copy.deepcopy(_described[function])
    else:
        described = _describe(function)
    if name is not None:
        described["name"] = name
    return {"type": "function", "function": described}


def describe_as(function: FunctionType, definition: Mapping[str, Any]) -> None:
    """Let ``tool_definition`` show a function in other words; its docstring gets them as well.

    The definition is not copied: that would be done for every tool of every environment.
    """
    described = definition["function"]
    _described[function] = described
    texts = {
        name: schema["description"]
        for name, schema in described["parameters"]["properties"].items()
        if "description" in schema
    }
    parts = [described["description"]]
    if texts:
        lines = (f"{name}: {text}".replace("\n", "\n        ") for name, text in texts.items())
        parts.append("\n    ".join(["Args:", *lines]))
    function.__doc__ = "\n\n".join(parts)


def _describe(function: Callable[..., object]) -> dict[str, Any]:
    from docstring_parser import DocstringStyle, parse  # here, to keep `import maseval` quick

    docstring = parse(_documentation(function), style=DocstringStyle.GOOGLE)
    paragraphs = (docstring.short_description, docstring.long_description)
    texts = {parameter.arg_name: parameter.description for parameter in docstring.params}
    return {
        "name": getattr(function, "__name__", type(function).__name__),
        "description": "\n\n".join(text for text in paragraphs if text),
        "parameters": _parameters_schema(function, texts),
    }


def _documentation(function: Callable[..., object]) -> str:
    """Return the docstring of a function, or that of an object's ``__call__``, or of its class."""
    if isinstance(function, partial):
        return _documentation(function.func)
    if hasattr(function, "__name__"):
        return inspect.getdoc(function) or ""
    # ``getdoc`` would give one without a docstring that of ``object``.
    called = type(function).__call__.__doc__
    return inspect.cleandoc(called) if called else inspect.getdoc(function) or ""


def _parameters_schema(
    function: Callable[..., object], texts: dict[str, str | None]
) -> dict[str, Any]:
    # Here, because it takes as long as the rest of the engine to import.
    from pydantic import BaseModel, ConfigDict, Field, create_model
    from pydantic.errors import PydanticUserError

    signature = _signature(function)
    takes_more = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature)
    fields: dict[str, Any] = {}
    for parameter in _named_parameters(signature, function):
        field = Field(
            ... if parameter.default is parameter.empty else parameter.default,
            alias=parameter.name,
            description=texts.get(parameter.name) or None,
        )
        kind = Any if parameter.annotation is parameter.empty else parameter.annotation
        # A number for a name, and the real one as alias: an argument may be called `copy` or
        # `_id`, which a model class would not have as a field.
        fields[f"argument_{len(fields)}"] = (kind, field)
    config = ConfigDict(extra="allow") if takes_more else None
    try:
        model: type[BaseModel] = create_model("parameters", __config__=config, **fields)
        return model.model_json_schema()
    except PydanticUserError as error:
        raise ConfigurationError(
            f"the signature of {_title(function)} cannot be described to a model: {error.message}; "
            "annotate it with plain types, Literal, enums or pydantic models"
        ) from error


def _signature(function: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function, eval_str=True).parameters.values())
    except (NameError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"the signature of {_title(function)} cannot be read: {error}; its annotations must "
            "name types that exist at run time"
        ) from error


def _named_parameters(
    signature: list[inspect.Parameter], function: Callable[..., object]
) -> list[inspect.Parameter]:
    named = [p for p in signature if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    # A method that was taken from its class, and not from an object.
    if named and named[0].name in ("self", "cls"):
        named = named[1:]
    for parameter in named:
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ConfigurationError(
                f"{_title(function)} takes {parameter.name!r} by position only, but a model names "
                "its arguments; wrap it in a function without '/'"
            )
    return named


def _title(function: Callable[..., object]) -> str:
    return repr(getattr(function, "__qualname__", function))


def inline_references(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a schema without ``$defs``, with what they define in the place of its name.

    For readers that do not follow references.
    """
    own = {key: value for key, value in parameters.items() if key != "$defs"}
    inlined: dict[str, Any] = _inline(copy.deepcopy(own), parameters.get("$defs", {}))
    return inlined


def _inline(schema: Any, definitions: Mapping[str, object], within: tuple[str, ...] = ()) -> Any:
    match schema:
        case {"$ref": str(reference)}:
            name = reference.removeprefix("#/$defs/")
            if name in within:
                raise ConfigurationError(
                    f"a tool's parameter {name!r} contains itself, which cannot be inlined for a "
                    "framework that does not follow references; give the tool a flat parameter"
                )
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            return {**_inline(definitions[name], definitions, (*within, name)), **beside}
        case dict():
            return {key: _inline(value, definitions, within) for key, value in schema.items()}
        case list():
            return [_inline(item, definitions, within) for item in schema]
        case _:
            return schema
