"""Find the runs and results files below a folder each time anew, as they come and go.

The name of a run in an address is its path below the folder that is viewed. Nothing outside of that
folder can be named, neither by ``..`` nor by a link.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from maseval.core.storage.files import FileState
from maseval.runs.config_file import is_run_folder
from maseval.view.exceptions import NothingThereError


def name_of(root: Path, path: Path) -> str:
    """Return the name of a run: its path below ``root``, or ``.`` if it is that folder itself."""
    return path.relative_to(root).as_posix()


def place_of(root: Path, name: str) -> Path:
    """Return the path that a name stands for; raises if it is not below ``root``."""
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


# Deeper than anybody sorts runs, and more than anybody keeps in one place.
_DEEPEST = 6
_MOST_ENTRIES = 50_000
# Where tau2-bench 1.0 keeps the parts of a results file that lies beside it.
_PARTS = "simulations"


class Finder:
    """Looks through a folder; which files are results files is asked once for each."""

    def __init__(self, root: Path, is_results: Callable[[Path], bool]) -> None:
        self._root, self._is_results = root, is_results
        self._known: dict[Path, tuple[FileState, bool]] = {}

    def find(self) -> list[Path]:
        """Return every run folder and results file; links are not followed."""
        self._left = _MOST_ENTRIES
        return list(self._below(self._root, _DEEPEST))

    def _below(self, folder: Path, depth: int) -> Iterator[Path]:
        if is_run_folder(folder):
            yield folder
            return
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            return
        in_parts = any(entry.name == "results.json" for entry in entries)
        for entry in entries:
            self._left -= 1
            if self._left < 0 or entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth and not (in_parts and entry.name == _PARTS):
                    yield from self._below(Path(entry.path), depth - 1)
            elif entry.name.endswith(".json") and entry.is_file(follow_symlinks=False):
                yield from self._if_results(Path(entry.path))

    def _if_results(self, path: Path) -> Iterator[Path]:
        seen = FileState.now(path)
        if self._known.get(path, (None, False))[0] != seen:
            self._known[path] = seen, self._is_results(path)
        if self._known[path][1]:
            yield path
