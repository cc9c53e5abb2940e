"""Packages whose names are loaded when they are used, so that importing one of them stays light.

The names are listed once, in the ``__init__.pyi`` beside the package's ``__init__.py``: the type
checker reads it as it is, and the package takes what it offers from there.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def attach(
    package: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """The ``__getattr__``, ``__dir__`` and ``__all__`` of a package, from its stub.

    Every line of the stub is ``from maseval.room.module import name as name``; a submodule is
    ``from maseval.room import submodule as submodule``. A name must not be that of a submodule
    it does not stand for: Python sets that attribute itself as soon as the submodule is imported.

    Args:
        package: The package's ``__name__``.
        file: The package's ``__file__``.
    """
    homes = _homes(Path(file).with_name("__init__.pyi"))

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(homes[name]), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return load, names, list(homes)


def _homes(stub: Path) -> dict[str, str]:
    """The module that each name of a stub is imported from."""
    return {
        alias.name: line.module
        for line in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(line, ast.ImportFrom) and line.module
        for alias in line.names
    }
