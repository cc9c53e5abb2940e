"""Traces without repetitions: what occurs again is written as a reference.

A view, such as what one side saw of a conversation, consists of the same objects as what it is a
view of. In a log each repeated object is a reference to the first one: ``{"$same_as": [path]}``.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from maseval.core.storage import strict_json

_SAME = "$same_as"
_LITERAL = "$literal"
# A reference is about as long; shorter texts are often the same object by chance.
_WORTH_IT = 60
# What others are views of stands first.
_FIRST = "environment"
# Whoever reads it goes as deep, and Python limits that.
_DEEPEST = 300

# Sets and tuples of types, as asking for the type is most of the work.
_SCALARS = frozenset({int, float, bool, type(None)})
_TEXT = frozenset({str})
_CONTAINERS = (dict, list)

Step = str | int
# The place that something stands in, None for the traces themselves, and the step from there.
Place = tuple[object, Step]


def without_repeats(traces: Mapping[str, object]) -> dict[str, object]:
    """Return the traces with references for repeated objects; what is given is not changed.

    If they cannot be followed to their end, as they are nested too deeply, they are cut.
    """
    ordered = {key: traces[key] for key in _in_reading_order(traces)}
    try:
        written = _shorten(ordered, None, {})
    except Exception:  # of whatever the traces consist of
        return without_repeats(strict_json.plain(dict(traces)))
    return {key: written[key] for key in traces}


def with_repeats(traces: dict[str, Any]) -> dict[str, Any]:
    """Resolve all references in place, so that a repeated object is again one object."""
    for key in _in_reading_order(traces):
        if isinstance(traces[key], _CONTAINERS):
            traces[key] = _restore(traces[key], traces)
    return traces


def _in_reading_order(traces: Mapping[str, object]) -> list[str]:
    return sorted(traces, key=lambda key: key != _FIRST)


def _shorten(container: Any, place: Place | None, seen: dict[int, Place], depth: int = 0) -> Any:
    """Return a container with references; it is the same one if it needs none."""
    if depth > _DEEPEST:
        raise RecursionError
    is_dict, is_checked, written = isinstance(container, dict), False, container
    if is_dict and place is not None and (_SAME in container or _LITERAL in container):
        return {_LITERAL: container}  # somebody's own, which must not be resolved
    for step, one in container.items() if is_dict else enumerate(container):
        # Nearly all are short: a call for each would take longer than all the rest.
        if (kind := type(one)) is str:
            if len(one) < _WORTH_IT:
                continue
        elif kind in _SCALARS or not isinstance(one, _CONTAINERS) or not one:
            continue
        if is_dict and not is_checked:
            if not _TEXT.issuperset(map(type, container)):
                return container  # JSON would spell the path otherwise
            is_checked = True
        if (first := seen.get(id(one))) is not None:
            short = {_SAME: _path(first)}
        else:
            seen[id(one)] = here = place, step
            if kind is str or (short := _shorten(one, here, seen, depth + 1)) is one:
                continue
        if written is container:
            written = dict(container) if is_dict else list(container)
        written[step] = short
    return written


def _path(place: Place) -> list[Step]:
    steps: list[Step] = []
    at: Any = place
    while at is not None:
        at, step = at
        steps.append(step)
    return steps[::-1]


def _restore(value: Any, traces: dict[str, Any]) -> Any:
    """Return a container with its references resolved; it is changed."""
    items: Iterable[tuple[Any, Any]]
    if type(value) is list:
        items = enumerate(value)
    else:
        if len(value) == 1:
            if _SAME in value:
                return _at(traces, value[_SAME])
            if _LITERAL in value:
                return value[_LITERAL]
        items = value.items()
    for key, one in items:
        if (kind := type(one)) is dict or kind is list:
            value[key] = _restore(one, traces)
    return value


def _at(traces: dict[str, Any], path: list[Any]) -> Any:
    found: Any = traces
    for step in path:
        found = found[step]
    return found
