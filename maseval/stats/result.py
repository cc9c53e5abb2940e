"""Results are dataclasses; this turns any of them into plain dictionaries and lists."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


class Result:
    """Base of all results."""

    def to_dict(self) -> dict[str, Any]:
        """The fields, ready for JSON."""
        return {name: _plain(value) for name, value in _named_parts(self).items()}


def _plain(value: object) -> object:
    if parts := _named_parts(value):
        return {str(name): _plain(part) for name, part in parts.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return dict(value) if isinstance(value, Mapping) else value


def _named_parts(value: object) -> dict[str, object]:
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    return {}
