"""Where maseval meets other libraries: one file for each, and none imported until it is used."""

from importlib import import_module
from typing import Any

__all__ = ["agents", "inference"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
