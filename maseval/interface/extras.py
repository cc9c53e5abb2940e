"""Optional libraries: imported where they are used, with the way to install what is missing."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from maseval.core.exceptions import MASEvalError


class MissingExtraError(MASEvalError, ImportError):
    """A library that an adapter needs is not installed."""

    fatal_for_run = True


def load(module: str, *, extra: str, package: str | None = None) -> ModuleType:
    """The module of an optional library.

    Args:
        module: What to import, such as ``google.genai``.
        extra: The extra of maseval that brings it.
        package: The name the library is installed under, if it is not the module's.
    """
    if not is_installed(module):
        raise MissingExtraError(
            f"{package or module} is not installed. Install it with: pip install 'maseval[{extra}]'"
        )
    return import_module(module)


def is_installed(module: str) -> bool:
    """Whether a library is there, without importing all of it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package, such as `google`, is not there either
        return False
