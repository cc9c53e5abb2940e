"""What frameworks do to the schemas of tools before a model is sent them."""

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]


def changed(
    definitions: list[Schema], change: Callable[[Schema], Schema] = dict, **beside: object
) -> list[Schema]:
    """The definitions with other parameters, and more ``beside`` them."""
    return [
        {
            **definition,
            "function": {
                **definition["function"],
                "parameters": change(definition["function"]["parameters"]),
                **beside,
            },
        }
        for definition in definitions
    ]


def without_titles(schema: Any) -> Any:
    match schema:
        case {"properties": properties, **rest}:  # one of which may be called `title`
            named = {name: without_titles(value) for name, value in properties.items()}
            return {**without_titles(rest), "properties": named}
        case dict():
            return {key: without_titles(v) for key, v in schema.items() if key != "title"}
        case list():
            return [without_titles(item) for item in schema]
    return schema
