"""What a report holds several times is written once in a log.

A view, such as what one side saw of a conversation, consists of the same objects as what it is a
view of. In a log each repeated object is a reference to the first one: ``{"$same_as": [path]}``.
"""

from collections.abc import Iterable, Mapping
from typing import Any

_SAME = "$same_as"
_LITERAL = "$literal"
# A reference is about as long; shorter texts are often the same object by chance.
_WORTH_IT = 60
# What others are views of stands first.
_FIRST = "environment"

Path = tuple[str | int, ...]


def without_repeats(traces: Mapping[str, object]) -> dict[str, object]:
    """The traces with references for repeated objects; what is given is not changed."""
    seen: dict[int, Path] = {}
    written = {key: _written(traces[key], (key,), seen) for key in _ordered(traces)}
    return {key: written[key] for key in traces}


def with_repeats(traces: dict[str, Any]) -> dict[str, Any]:
    """The traces with all references resolved, in place; a repeated object is again one object."""
    for key in _ordered(traces):
        traces[key] = _read(traces[key], traces)
    return traces


def _ordered(traces: Mapping[str, object]) -> list[str]:
    return sorted(traces, key=lambda key: key != _FIRST)


def _written(value: object, path: Path, seen: dict[int, Path]) -> object:
    if not isinstance(value, str | dict | list) or (
        isinstance(value, str) and len(value) < _WORTH_IT
    ):
        return value
    if value and id(value) in seen:
        return {_SAME: list(seen[id(value)])}
    seen[id(value)] = path
    if isinstance(value, dict):
        if value.keys() & {_SAME, _LITERAL}:  # somebody's own, which must not be resolved
            return {_LITERAL: value}
        if not all(isinstance(key, str) for key in value):  # JSON would spell the path otherwise
            return value
        return {key: _written(one, (*path, key), seen) for key, one in value.items()}
    if isinstance(value, list):
        return [_written(one, (*path, place), seen) for place, one in enumerate(value)]
    return value


def _read(value: Any, traces: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_SAME}:
            return _at(traces, value[_SAME])
        if value.keys() == {_LITERAL}:
            return value[_LITERAL]
        _read_each(value, list(value), traces)
    elif isinstance(value, list):
        _read_each(value, range(len(value)), traces)
    return value


def _read_each(container: Any, keys: Iterable[Any], traces: dict[str, Any]) -> None:
    for key in keys:
        container[key] = _read(container[key], traces)


def _at(traces: dict[str, Any], path: list[Any]) -> Any:
    found: Any = traces
    for step in path:
        found = found[step]
    return found
