"""Packages whose names are loaded when they are used, so that importing one of them stays light.

The names are listed once, in the ``__init__.pyi`` beside the package's ``__init__.py``: the type
checker reads it as it is, and the package takes what it offers from there.
"""

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType


def attach(package: str, file: str) -> list[str]:
    """Give a package the names that its stub lists; returns its ``__all__``.

    Every line of the stub is ``from maseval.room.module import name as name``, where the second may
    be another name; a submodule is ``from maseval.room import submodule as submodule``.

    Args:
        package: The package's ``__name__``.
        file: The package's ``__file__``.
    """
    homes = _homes(Path(file).with_name("__init__.pyi"))
    names: dict[str, object] = {name: _Name(name, *homes[name]) for name in homes}
    lazy_class = type("LazyPackage", (ModuleType,), {**names, "__dir__": _listing(list(homes))})
    sys.modules[package].__class__ = lazy_class
    return list(homes)


class _Name:
    """A name that is loaded from its home when it is used: a member of a module, or a submodule."""

    def __init__(self, name: str, home: str, name_there: str) -> None:
        self._name = name
        self._home = home
        self._name_there = name_there

    def __get__(self, package: ModuleType, kind: type) -> object:
        if self._name in vars(package):
            return vars(package)[self._name]
        if self._home != package.__name__:
            home = import_module(self._home)
            if hasattr(home, self._name_there) or not hasattr(home, "__path__"):
                return getattr(home, self._name_there)
        return import_module(f"{self._home}.{self._name_there}")

    def __set__(self, package: ModuleType, value: object) -> None:
        # Python puts every submodule it imports into its package: that must not hide the name.
        if not isinstance(value, ModuleType):
            vars(package)[self._name] = value

    def __delete__(self, package: ModuleType) -> None:
        vars(package).pop(self._name, None)


def _listing(names: list[str]) -> object:
    def list_names(package: ModuleType) -> list[str]:
        return sorted({*vars(package), *names})

    return list_names


def _homes(stub: Path) -> dict[str, tuple[str, str]]:
    """Return the module that each name of a stub is imported from, and its name there."""
    return {
        alias.asname or alias.name: (line.module, alias.name)
        for line in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(line, ast.ImportFrom) and line.module
        for alias in line.names
    }
