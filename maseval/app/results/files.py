"""Several runs and results files, read one after the other: what one lacks stops no other."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from maseval.app.benchmarks import all_support
from maseval.core.exceptions import MASEvalError
from maseval.runs.config_file import is_run_folder

ReadT = TypeVar("ReadT")
Files = Sequence[str | os.PathLike[str]]


def files_below(name: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """Return the results files below a folder that is not a run; anything else is itself."""
    folder = Path(name)
    if not folder.is_dir() or is_run_folder(folder) or (folder / "results.json").exists():
        return [name]
    return [path for each in all_support() for path in each.results_below(folder)] or [name]


@dataclass(frozen=True)
class UnreadableFile:
    """A file among several that could not be read, and why."""

    path: Path
    error: Exception

    def __str__(self) -> str:
        path, words = str(self.path), str(self.error)
        return words if words.startswith(path) else f"{path}: {words}"

    def to_dict(self) -> dict[str, object]:
        return {"path": str(self.path), "error": str(self.error)}


class FilesRead(list[ReadT], Generic[ReadT]):
    """The runs and files that were read, and in ``unreadable`` those that could not be."""

    def __init__(self) -> None:
        super().__init__()
        self.unreadable: list[UnreadableFile] = []

    def add_files(self, files: Files, read: Callable[[str | os.PathLike[str]], ReadT]) -> None:
        """Read every file, and every results file below a folder that is not a run.

        If none can be read, the first error is raised.
        """
        for file in (each for name in files for each in files_below(name)):
            try:
                self.append(read(file))
            except (MASEvalError, OSError) as error:
                self.unreadable.append(UnreadableFile(Path(file), error))
        if self.unreadable and not self:
            raise self.unreadable[0].error
