"""The data files of a benchmark, each compared with its checksum; nothing is fetched."""

from dataclasses import dataclass
from pathlib import Path

from maseval.data.files import ChecksumError, DataFile, Manifest


@dataclass(frozen=True)
class FileCheck:
    """One file of a benchmark: ``problem`` is None if it is there and right."""

    name: str
    size: int
    problem: str | None


@dataclass(frozen=True)
class DataCheck:
    """All files of a benchmark in one folder."""

    folder: Path
    files: list[FileCheck]

    @classmethod
    def of(cls, folder: Path, manifest: Manifest) -> "DataCheck":
        """Check every file of a manifest."""
        files = manifest.files.values()
        return cls(folder, [FileCheck(f.name, f.size, _problem(folder, f)) for f in files])

    @property
    def complete(self) -> bool:
        """True if every file is there and right."""
        return not any(file.problem for file in self.files)


def _problem(folder: Path, file: DataFile) -> str | None:
    try:
        file.verify((folder / file.name).read_bytes())
    except FileNotFoundError:
        return "missing"
    except ChecksumError as error:
        return str(error)
    return None
