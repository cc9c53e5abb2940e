"""What a function looks at: a database that notes every value that is read from it."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from maseval.benchmark.tau2.explain.snapshot import FieldPath
from maseval.benchmark.tau2.world.world import World

WorldFacts = dict[str, object]


def facts_read(world: World, assertion: Mapping[str, Any]) -> WorldFacts:
    """The values of the world that decide an assertion; empty if they cannot be found out."""
    toolkit = world.tools if assertion["env_type"] == "assistant" else world.user_tools
    if toolkit is None:
        return {}
    facts: dict[FieldPath, object] = {}
    original = toolkit.db
    try:
        toolkit.db = _Watched(original, (), facts)
        toolkit.task_function(assertion["func_name"])(**assertion["arguments"])
    except Exception:  # a function that cannot be watched gives no facts
        return {}
    finally:
        toolkit.db = original
    return {_shown(path): value for path, value in facts.items()}


def _shown(path: FieldPath) -> str:
    parts = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return parts.lstrip(".")


class _Watched:
    """Stands for a part of a database; parts of it are watched too, single values are noted."""

    def __init__(self, value: object, path: FieldPath, facts: dict[FieldPath, object]) -> None:
        vars(self).update(_value=value, _path=path, _facts=facts)

    def _seen(self, step: str | int, value: object) -> object:
        path = (*self._path, step)
        if isinstance(value, BaseModel | Mapping | list):
            return _Watched(value, path, self._facts)
        self._facts[path] = value
        return value

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._value, name)
        if callable(value):
            return self._method(name, value)
        return self._seen(name, value)

    def _method(self, name: str, method: Any) -> object:
        if name == "get":
            return lambda key, default=None: self[key] if key in self._value else default
        if name == "view":  # a table's record for reading only
            return lambda key: self._seen(key, method(key))
        if name in ("items", "values"):
            pairs = [(key, self._seen(key, each)) for key, each in self._value.items()]
            return lambda: pairs if name == "items" else [each for _, each in pairs]
        if isinstance(self._value, BaseModel) and name in vars(type(self._value)):
            # A record's own method reads the record: let it read the watched one.
            return vars(type(self._value))[name].__get__(self)
        return method

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._value, name, value)

    def __getitem__(self, key: Any) -> object:
        return self._seen(key, self._value[key])

    def __iter__(self) -> Iterator[object]:
        if isinstance(self._value, list):
            return (self._seen(index, each) for index, each in enumerate(self._value))
        return iter(self._value)

    def __contains__(self, key: object) -> bool:
        return key in self._value

    def __len__(self) -> int:
        length = self._facts[(*self._path, "(length)")] = len(self._value)
        return length

    def __eq__(self, other: object) -> bool:
        return bool(self._value == (other._value if isinstance(other, _Watched) else other))

    __hash__ = None  # type: ignore[assignment]  # it is compared, not looked up

    def __bool__(self) -> bool:
        return bool(self._value)
