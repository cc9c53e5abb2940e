"""Packages of commands, whose functions are loaded when they are used: help loads no benchmark."""

import sys
from collections.abc import Callable
from types import ModuleType

from maseval.core import lazy


class _Command:
    """A name of a package that stays what the stub says, also once a module of that name is loaded.

    ``run`` is a function in the module ``run``, and Python puts a module that it imports into the
    package, where the function belongs. A data descriptor goes before what is put there.
    """

    def __init__(self, name: str, load: Callable[[str], object]) -> None:
        self._name = name
        self._load = load

    def __get__(self, package: ModuleType, kind: type) -> object:
        return self._load(self._name)

    def __set__(self, package: ModuleType, value: object) -> None:
        if not isinstance(value, ModuleType):
            raise AttributeError(f"{package.__name__}.{self._name} cannot be replaced")


def attach(package: str, file: str) -> list[str]:
    """Give a package the names that its stub lists; returns its ``__all__``."""
    load, _, names = lazy.attach(package, file)
    commands: dict[str, object] = {name: _Command(name, load) for name in names}
    own_class = type("CommandPackage", (ModuleType,), {**commands, "__dir__": lambda _: names})
    sys.modules[package].__class__ = own_class
    return names
