"""Optional libraries: imported where they are used; errors say how to install a missing one."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from maseval.core.exceptions import MASEvalError


class MissingExtraError(MASEvalError, ImportError):
    """A library that an adapter needs is not installed."""

    fatal_for_run = True


def load(module: str, *, extra: str, package: str | None = None) -> ModuleType:
    """Import a module of an optional library.

    Args:
        module: What to import, such as ``google.genai``.
        extra: The extra of maseval that installs it.
        package: The name it is installed under, if that differs from the module's.
    """
    # Asked first: an ImportError within an installed library is a fault of that library.
    require(module, extra=extra, package=package)
    return import_module(module)


def load_unlisted(module: str, package: str) -> ModuleType:
    """Import a module of a library that no extra of maseval installs."""
    if not is_installed(module):
        raise MissingExtraError(
            f"{package} is not installed. Install it with: pip install {package}"
        )
    return import_module(module)


def require(module: str, *, extra: str, package: str | None = None) -> None:
    """Raise if an optional library is not installed; it is not imported."""
    if not is_installed(module):
        raise MissingExtraError(f"{package or module} is not installed. {how_to_install(extra)}")


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra of maseval.

    It names the checkout, because the package index knows another project as ``maseval``.
    """
    return f"Install it in maseval's checkout with: pip install '.[{extra}]'"


def is_installed(module: str) -> bool:
    """Return True if a library is installed, without importing all of it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package, such as `google`, is missing too
        return False
