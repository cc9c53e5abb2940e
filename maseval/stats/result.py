"""Base class of results: dataclasses that can be written as JSON."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

IF_KNOWN = MappingProxyType({"if_known": True})
"""The metadata of a field that JSON leaves out where it is None."""


class Result:
    """Base of all results; a part that has a form of its own, by ``to_dict``, keeps it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, nested results included, as dictionaries and lists for JSON."""
        return {name: _plain(value) for name, value in _fields_by_name(self).items()}


def _plain(value: object) -> object:
    if (own_form := getattr(value, "to_dict", None)) is not None:
        return own_form()
    if parts := _fields_by_name(value):
        return {str(name): _plain(part) for name, part in parts.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Fraction):  # the sum of a share, which is counted exactly
        return float(value)
    if isinstance(value, PurePath):
        return str(value)
    return dict(value) if isinstance(value, Mapping) else value


def _fields_by_name(value: object) -> dict[str, object]:
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value):
        found = {field.name: getattr(value, field.name) for field in fields(value)}
        left_out = [f.name for f in fields(value) if f.metadata and found[f.name] is None]
        return {name: each for name, each in found.items() if name not in left_out}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    return {}
