"""Values of options that are more than a word."""

import json
from typing import Any

import typer


def arguments(texts: list[str] | None) -> dict[str, Any]:
    """A JSON object, or ``key=value``; given several times, all count."""
    merged: dict[str, Any] = {}
    for text in texts or ():
        merged |= _object(text) if text.lstrip().startswith("{") else _pairs(text)
    return merged


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"not a JSON object ({error})") from None
    if not isinstance(value, dict):
        raise typer.BadParameter("not a JSON object")
    return value


def _pairs(text: str) -> dict[str, Any]:
    parts = text.split(",")
    pairs = {}
    for pair in parts if all("=" in part for part in parts) else [text]:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            # The text itself is not repeated: it may be a key that was typed in the wrong place.
            raise typer.BadParameter(
                "neither a JSON object like '{\"temperature\": 0}' nor key=value like temperature=0"
            )
        pairs[key.strip()] = _value(value.strip())
    return pairs


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
