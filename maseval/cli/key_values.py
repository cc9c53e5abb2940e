"""Named values as they are typed: a JSON object, a file with one, or ``key=value``."""

import json
from pathlib import Path

import typer


def arguments(texts: list[str] | None) -> dict[str, object]:
    """A JSON object, a file with one, or ``key=value``; given several times, all count."""
    merged: dict[str, object] = {}
    for text in texts or ():
        merged |= _object(text) if text.lstrip().startswith("{") else _from_file_or_pairs(text)
    return merged


def _from_file_or_pairs(text: str) -> dict[str, object]:
    if not text.endswith(".json") or "=" in text:
        return _pairs(text)
    try:
        return _object(Path(text).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{text} cannot be read: {error}") from None


def _object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"not a JSON object ({error})") from None
    if not isinstance(value, dict):
        raise typer.BadParameter("not a JSON object")
    return value


def _pairs(text: str) -> dict[str, object]:
    parts = text.split(",")
    pairs = {}
    for pair in parts if all("=" in part for part in parts) else [text]:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            # The text itself is not repeated: it may be a key that was typed in the wrong place.
            raise typer.BadParameter(
                "neither a JSON object like '{\"temperature\": 0}', nor a .json file, nor "
                "key=value like temperature=0"
            )
        pairs[key.strip()] = _read(value.strip())
    return pairs


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
