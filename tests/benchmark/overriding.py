"""Subclasses that note which of their methods are called, for tests of both benchmarks."""

from typing import Any


def rows(table: dict[type[Any], str]) -> list[tuple[type[Any], str]]:
    return [(kind, name) for kind, names in table.items() for name in names.split()]


def overriding(kind: type[Any], *names: str) -> tuple[type[Any], list[Any]]:
    """A subclass whose methods of these names note that they are called, and do as before."""
    calls = []

    def method(name):
        inherited = next(vars(each)[name] for each in kind.__mro__ if name in vars(each))

        def note(self, *args, **kwargs):
            calls.append(name)
            return inherited.__get__(self, type(self))(*args, **kwargs)

        def get(self):
            calls.append(name)
            return inherited.__get__(self, type(self))

        return property(get) if isinstance(inherited, property) else note

    own = type(f"Own{kind.__name__}", (kind,), {name: method(name) for name in names})
    return own, calls
