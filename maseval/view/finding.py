"""The runs and results files below a folder: looked for each time, as they come and go."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from maseval.runs.config_file import CONFIG
from maseval.view.log_index import Seen

# Deeper than anybody sorts runs, and more than anybody keeps in one place.
_DEEPEST = 6
_MOST_ENTRIES = 50_000
# Where tau2-bench 1.0 keeps the parts of a results file that lies beside it.
_PARTS = "simulations"


class Finder:
    """Looks through a folder; which files are results files is asked once for each."""

    def __init__(self, root: Path, is_results: Callable[[Path], bool]) -> None:
        self._root, self._is_results = root, is_results
        self._known: dict[Path, tuple[Seen, bool]] = {}

    def found(self) -> list[Path]:
        """Every run folder and results file; links are not followed."""
        self._left = _MOST_ENTRIES
        return list(self._below(self._root, _DEEPEST))

    def _below(self, folder: Path, depth: int) -> Iterator[Path]:
        if (folder / CONFIG).is_file():
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
        seen = Seen.now(path)
        if self._known.get(path, (None, False))[0] != seen:
            self._known[path] = seen, self._is_results(path)
        if self._known[path][1]:
            yield path
