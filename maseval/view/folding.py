"""fold: a JSON value whose repeated parts are written once.

Trials of a task repeat what was said and answered, and the states of a world repeat what differs.
Compression finds only what is near. So each text and each part that occurs again is listed in
``shared``, and ``{"$": n}`` stands for it; a part refers to those before it in the list. An object
that has the key ``$`` itself is written as ``{"$": object}``.
"""

from typing import Any, TypedDict

from maseval.core.storage import strict_json

# A reference to anything shorter saves nothing.
_WORTH_IT = 40
_SCALARS = frozenset({int, float, bool, type(None)})


class Folded(TypedDict):
    """A value, and the parts that it refers to."""

    shared: list[object]
    value: object


class _Container:
    """A list or object, one for all that are equal; ``names`` are the keys of an object."""

    def __init__(self, names: tuple[str, ...] | None, inner: tuple[Any, ...]) -> None:
        self.names, self.inner = names, inner
        self.length = sum(map(_length, (*inner, *(names or ())))) + 4 * len(inner)


def _length(part: Any) -> int:
    kind = type(part)
    return len(part) if kind is str else part.length if kind is _Container else 4


def fold(value: object) -> Folded:
    known: dict[tuple[object, ...], _Container] = {}
    uses: dict[Any, int] = {}
    places: dict[Any, int] = {}
    shared: list[object] = []

    def take_apart(value: Any) -> Any:
        """Return a text, a container, or a scalar with its type."""
        kind, names = type(value), None
        if kind is str:
            return value
        if kind in _SCALARS:
            return kind, value  # 1, 1.0 and true are equal to Python
        if kind is dict:
            names, inner = tuple(value), tuple([take_apart(each) for each in value.values()])
        elif kind is list or kind is tuple:
            inner = tuple([take_apart(each) for each in value])
        else:
            return take_apart(strict_json.loads(strict_json.dumps(value)))
        found = known.get((names, inner))
        if found is None:
            found = known[names, inner] = _Container(names, inner)
            for each in inner:
                if _length(each) >= _WORTH_IT:
                    uses[each] = uses.get(each, 0) + 1
        return found

    def write(part: Any) -> object:
        if type(part) is tuple:
            return part[1]
        place = places.get(part)
        if place is None:
            written = part if type(part) is str else write_container(part)
            if uses.get(part, 0) < 2:
                return written
            place = places[part] = len(shared)
            shared.append(written)
        return {"$": place}

    def write_container(part: _Container) -> object:
        inner = [write(each) for each in part.inner]
        if part.names is None:
            return inner
        found = dict(zip(part.names, inner, strict=True))
        return {"$": found} if "$" in found else found

    return {"value": write(take_apart(value)), "shared": shared}
