"""The name of a run in an address, and the place on the disk that it stands for.

A name is the path below the folder that is viewed. Nothing outside of that folder can be named,
neither by ``..`` nor by a link.
"""

import os
from pathlib import Path, PurePosixPath

from maseval.view.exceptions import NothingThereError


def name_of(root: Path, path: Path) -> str:
    """What a run is called: its path below ``root``, or ``.`` if it is that folder itself."""
    return path.relative_to(root).as_posix()


def place_of(root: Path, name: str) -> Path:
    """The path that a name stands for; raises if it is not below ``root``."""
    parts = PurePosixPath(name).parts
    odd = "\0" in name or "\\" in name or not name or name.startswith("/") or ".." in parts
    if odd or os.path.isabs(name) or PurePosixPath(name).as_posix() != name:
        raise NothingThereError(f"no run is called {name!r}")
    path = root / name
    try:
        inside = path.resolve(strict=True).is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):  # not there, a loop of links, not a name
        inside = False
    if not inside:
        raise NothingThereError(f"no run is called {name!r}")
    return path
