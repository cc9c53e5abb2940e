"""Names of our packages, and what other packages offer, are loaded when they are used.

So importing one of ours stays light. Its names are listed once, in the stub beside its file, such
as ``__init__.pyi``: the type checker reads it as it is, and the package takes what it offers from
there. Other packages offer models, engines and benchmarks as entry points.
"""

import os
import os.path
import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it loads what reads mails and archives, which most commands never need
    from importlib.metadata import EntryPoint


def attach(package: str, file: str) -> list[str]:
    """Give a package or module the names that its stub lists; returns its ``__all__``.

    Every line of the stub is ``from maseval.room.module import name as name``, where the second may
    be another name; a submodule is ``from maseval.room import submodule as submodule``.

    Args:
        package: The package's ``__name__``.
        file: The package's ``__file__``.
    """
    homes = _homes(f"{os.path.splitext(file)[0]}.pyi")
    members: dict[str, object] = {name: _Name(name, *homes[name]) for name in homes}
    members["__dir__"] = lambda package: sorted({*vars(package), *homes})
    sys.modules[package].__class__ = type("LazyPackage", (ModuleType,), members)
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


def _homes(stub: str) -> dict[str, tuple[str, str]]:
    """Return the module that each name of a stub is imported from, and its name there.

    Its lines are so alike that no parser is needed, which would take longer to load than all else
    that ``import maseval`` does.
    """
    with open(stub, encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("#")]
    homes: dict[str, tuple[str, str]] = {}
    for statement in "".join(lines).split("from ")[1:]:
        home, *words = statement.replace(",", " ").split()
        triples = zip(words, words[1:], words[2:], strict=False)
        homes |= {alias: (home, name) for name, mark, alias in triples if mark == "as"}
    return homes


def find_entry_points(group: str) -> "tuple[EntryPoint, ...]":
    """Return the entry points of a group; finding them reads a file of every installed package."""
    # By the path, as a program may add a folder with packages of its own.
    return _read(group, tuple(sys.path))


@cache
def _read(group: str, folders: tuple[str, ...]) -> "tuple[EntryPoint, ...]":
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))
