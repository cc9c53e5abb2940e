"""A Python callable as a tool definition: the function schema that a model is shown.

Name and types come from the signature, every description from the docstring (Google style). All
parts of the library that offer functions to a model describe them here, so that one function
always looks the same.
"""

import copy
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from docstring_parser import Docstring, DocstringStyle, parse
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from maseval.core.exceptions import ConfigurationError

# Weak keys: a tool is often a closure over one environment, which must not outlive its repetition.
_described: WeakKeyDictionary[FunctionType, dict[str, Any]] = WeakKeyDictionary()


def tool_definition(fn: Callable[..., object], *, name: str | None = None) -> dict[str, Any]:
    """The OpenAI function schema of ``fn``: ``{"type": "function", "function": {...}}``.

    ``fn`` may be a function, a bound method, or a method taken from its class (``self`` is left
    out). ``name`` replaces the function's own. The caller owns the returned dictionary.
    """
    function = getattr(fn, "__func__", fn)
    if isinstance(function, FunctionType):
        if function not in _described:
            _described[function] = _describe(function)
        described = copy.deepcopy(_described[function])
    else:
        described = _describe(function)
    if name is not None:
        described["name"] = name
    return {"type": "function", "function": described}


def _describe(function: Callable[..., object]) -> dict[str, Any]:
    docstring = parse(inspect.getdoc(function) or "", style=DocstringStyle.GOOGLE)
    paragraphs = (docstring.short_description, docstring.long_description)
    return {
        "name": getattr(function, "__name__", type(function).__name__),
        "description": "\n\n".join(text for text in paragraphs if text),
        "parameters": _parameters_schema(function, docstring),
    }


def _parameters_schema(function: Callable[..., object], docstring: Docstring) -> dict[str, Any]:
    texts = {param.arg_name: param.description for param in docstring.params}
    signature = _signature(function)
    takes_more = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature)
    # Numbered fields with the real names as aliases: an argument may be called `copy` or `_id`,
    # which a model class would not have as a field.
    fields: dict[str, Any] = {
        f"argument_{number}": (_annotation(parameter), _field(parameter, texts))
        for number, parameter in enumerate(_named(signature, function))
    }
    config = ConfigDict(extra="allow") if takes_more else None
    try:
        model: type[BaseModel] = create_model("parameters", __config__=config, **fields)
        return model.model_json_schema()
    except PydanticUserError as error:
        raise ConfigurationError(
            f"the signature of {_title(function)} cannot be told to a model: {error.message}; "
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


def _named(
    signature: list[inspect.Parameter], function: Callable[..., object]
) -> list[inspect.Parameter]:
    named = [p for p in signature if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if named and named[0].name in ("self", "cls"):
        named = named[1:]
    for parameter in named:
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ConfigurationError(
                f"{_title(function)} takes {parameter.name!r} by position only, but a model names "
                "its arguments; wrap it in a function without '/'"
            )
    return named


def _annotation(parameter: inspect.Parameter) -> Any:
    return Any if parameter.annotation is parameter.empty else parameter.annotation


def _field(parameter: inspect.Parameter, texts: dict[str, str | None]) -> FieldInfo:
    default = ... if parameter.default is parameter.empty else parameter.default
    description = texts.get(parameter.name) or None
    field: FieldInfo = Field(default, alias=parameter.name, description=description)
    return field


def _title(function: Callable[..., object]) -> str:
    return repr(getattr(function, "__qualname__", function))
