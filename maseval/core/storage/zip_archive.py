"""Zip archives: written so that equal contents give equal bytes, and read without trusting them.

An archive from elsewhere is refused if it holds anything but regular files of the expected names.
No path of its own is ever used, and what it unpacks to is counted while it is read.
"""

import hashlib
import os
import stat
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

from maseval.core.exceptions import MASEvalError

CHUNK = 1 << 20
# An archive may unpack to so many bytes in all, and beyond some to so many times its own size.
_MOST, _FREE, _MOST_TIMES = 64 << 30, 64 << 20, 200
_NO_DATE = (1980, 1, 1, 0, 0, 0)


class ArchiveError(MASEvalError, ValueError):
    """An archive is damaged, or holds what it must not."""


class FileDigest(NamedTuple):
    """The checksum and size that identify a file's content."""

    sha256: str
    size: int


class ArchiveWriter:
    """Adds files to an archive; neither times nor owners nor the machine leave a trace in it."""

    def __init__(self, file: BinaryIO) -> None:
        self._archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9)

    def add(self, name: str, content: IO[bytes]) -> FileDigest:
        """Add a file, and say what was read of it."""
        info = zipfile.ZipInfo(name, _NO_DATE)
        # Always Unix (3): otherwise the archive would tell where it was made.
        info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3
        info.external_attr = (stat.S_IFREG | 0o644) << 16
        with self._archive.open(info, "w", force_zip64=True) as target:
            return _copy(content, target)

    def close(self) -> None:
        self._archive.close()


class ArchiveReader:
    """An archive from elsewhere, of which only files of expected names can be read."""

    def __init__(self, path: Path, file: BinaryIO, expected: Collection[str]) -> None:
        self._path = path
        self._allowed = min(_MOST, max(_FREE, _MOST_TIMES * path.stat().st_size))
        self._unpacked = 0
        with self._named_errors():
            self._archive = zipfile.ZipFile(file)
            self.names = [_checked_name(info, expected) for info in self._archive.infolist()]
            twice = {name for name in self.names if self.names.count(name) > 1}
        if twice:
            raise ArchiveError(f"{path} holds {min(twice)!r} twice; ask for another copy")

    def copy(self, name: str, target: IO[bytes], most: int | None = None) -> FileDigest:
        """Copy a file's content, and say what it was; ``most`` bytes, if that is given."""

        def count(read: int, size: int) -> None:
            self._unpacked += read
            if self._unpacked > self._allowed:
                raise ArchiveError(f"it unpacks to more than {self._allowed:,} bytes")
            if most is not None and size > most:
                raise ArchiveError(f"its {name} is larger than such a file can be")

        with self._named_errors(), self._archive.open(name) as source:
            return _copy(source, target, count)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except ArchiveError as error:
            raise ArchiveError(f"{self._path}: {error}; it is not opened") from None
        except Exception as error:  # a damaged archive makes the library raise many kinds
            raise ArchiveError(
                f"{self._path} is not a zip archive, or is damaged ({error}); ask for another copy"
            ) from error


def _copy(
    source: IO[bytes],
    target: IO[bytes],
    count: Callable[[int, int], object] = lambda read, size: None,
) -> FileDigest:
    """Copy a file; ``count`` is told how much was read, and in all, before it is written."""
    digest, size = hashlib.sha256(), 0
    while piece := source.read(CHUNK):
        size += len(piece)
        count(len(piece), size)
        target.write(piece)
        digest.update(piece)
    return FileDigest(digest.hexdigest(), size)


def _checked_name(info: zipfile.ZipInfo, expected: Collection[str]) -> str:
    name = info.orig_filename
    if name not in expected:
        raise ArchiveError(f"it holds {name[:120]!r}, which does not belong there")
    mode = info.external_attr >> 16
    if info.is_dir() or (stat.S_IFMT(mode) and not stat.S_ISREG(mode)):
        raise ArchiveError(f"its {name} is not a regular file")
    return name


@contextmanager
def open_archive(
    path: str | os.PathLike[str], expected: Collection[str]
) -> Iterator[ArchiveReader]:
    """Yield an archive that may hold the files ``expected`` and no others."""
    with open(path, "rb") as file:
        yield ArchiveReader(Path(path), file, expected)
