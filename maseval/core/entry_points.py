"""Entry points: what installed packages offer to maseval, such as models, engines and benchmarks.

Finding them reads a file of every installed package. So what was found is remembered for as long as
the folders on ``sys.path`` are the same and unchanged; installing a package changes one.
"""

import os
import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points


def find_entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group."""
    return _read(group, tuple((folder, _changed_at(folder)) for folder in sys.path))


@cache
def _read(group: str, folders: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0
