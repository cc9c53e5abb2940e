"""Modules under the names that MASEval gave them, so that code written for it can be imported.

The folders here mirror the package: ``core/history.py`` is importable as ``maseval.core.history``,
because ``maseval.core`` also looks for its modules here. Each gives another name to what is defined
elsewhere; nothing in the package imports them.
"""

from pathlib import Path


def former_modules(package: str) -> str:
    """The folder with the former modules of ``package``, for its ``__path__``."""
    return str(Path(__file__).parent.joinpath(*package.split(".")[1:]))
