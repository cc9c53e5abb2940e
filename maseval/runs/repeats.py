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

# Sets and tuples of types, as asking for the type is most of the work.
_SCALARS = frozenset({int, float, bool, type(None)})
_TEXT = frozenset({str})
_REPEATED = (str, dict, list)

Step = str | int
# The place that something stands in, None for the traces themselves, and the step from there.
Place = tuple[object, Step]


def without_repeats(traces: Mapping[str, object]) -> dict[str, object]:
    """The traces with references for repeated objects; what is given is not changed."""
    seen: dict[int, Place] = {}
    written = {key: _written(traces[key], (None, key), seen) for key in _ordered(traces)}
    return {key: written[key] for key in traces}


def with_repeats(traces: dict[str, Any]) -> dict[str, Any]:
    """The traces with all references resolved, in place; a repeated object is again one object."""
    for key in _ordered(traces):
        traces[key] = _read(traces[key], traces)
    return traces


def _ordered(traces: Mapping[str, object]) -> list[str]:
    return sorted(traces, key=lambda key: key != _FIRST)


def _written(value: object, place: Place, seen: dict[int, Place]) -> object:
    if type(value) in _SCALARS or not isinstance(value, _REPEATED):
        return value
    if isinstance(value, str) and len(value) < _WORTH_IT:
        return value
    if value and id(value) in seen:
        return {_SAME: _path(seen[id(value)])}
    seen[id(value)] = place
    if isinstance(value, dict):
        return _written_dict(value, place, seen)
    if isinstance(value, list):
        return [_written(one, (place, step), seen) for step, one in enumerate(value)]
    return value


def _written_dict(value: dict[Any, object], place: Place, seen: dict[int, Place]) -> object:
    if _SAME in value or _LITERAL in value:  # somebody's own, which must not be resolved
        return {_LITERAL: value}
    if not _TEXT.issuperset(map(type, value)):  # JSON would spell the path otherwise
        return value
    return {
        step: one if type(one) in _SCALARS else _written(one, (place, step), seen)
        for step, one in value.items()
    }


def _path(place: Place) -> list[Step]:
    steps: list[Step] = []
    at: Any = place
    while at is not None:
        at, step = at
        steps.append(step)
    return steps[::-1]


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
