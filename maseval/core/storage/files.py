"""Files: written whole or not at all, locked against others, or laid aside for a while.

``atomic_file`` writes the content to a hidden file in the same folder and flushes it to the disk
before it takes the target's name: a reader sees the old file or the new one, never a part. A
process that is killed leaves at most such a hidden file, ``.<random>.tmp``. ``atomic_folder`` does
the same for a folder.

``lock`` is the operating system's lock on an open file. It ends when the file is closed or the
process dies, and also keeps two openings within one process apart. It is advisory.
"""

import errno
import fcntl
import json
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from uuid import uuid4

from maseval.core.exceptions import MASEvalError, OutputExistsError
from maseval.core.storage import strict_json

SUFFIX = ".tmp"
"""The end of the names of hidden files."""


class FileState(NamedTuple):
    """A file at one moment: while this is the same, so is the file.

    Whoever edits a file can restore its size and its time of change. ``renewed`` is when the
    system last touched it on this machine, which nobody sets by hand.
    """

    size: int
    changed: int
    renewed: int
    file: int

    @classmethod
    def now(cls, path: str | Path) -> "FileState":
        """Return the file as it is; all zeros if there is none."""
        try:
            found = os.stat(path)
        except OSError:
            return cls(0, 0, 0, 0)
        return cls(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file to write that becomes ``path`` at the end; an error changes nothing."""
    if path.is_dir():
        raise OutputExistsError(f"{path} is a folder; give the name of a file")
    make_room(path)
    # In the same folder, as a file is renamed in one step within a file system alone.
    hidden = path.with_name(f".{uuid4().hex}{SUFFIX}")
    try:
        with _create(hidden, path) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(path)
    except BaseException:
        with suppress(OSError):
            hidden.unlink()
        raise
    # The name stands in the folder, which must reach the disk as well.
    sync_folder(path.parent)


def check_free(target: Path, overwrite: bool) -> None:
    """Raise if a file or folder is there that may not be replaced."""
    if os.path.lexists(target) and not overwrite:
        raise OutputExistsError(
            f"{target} already exists; --overwrite (overwrite=True) replaces it"
        )


def make_room(path: Path) -> None:
    """Make the folders on the way to a new file or folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise OutputExistsError(
            f"{path} cannot be written: {path.parent} is not a folder"
        ) from None


@contextmanager
def atomic_folder(target: Path, check: Callable[[], object]) -> Iterator[Path]:
    """Yield a hidden folder that becomes ``target`` at the end; an error changes nothing.

    ``check`` raises if that place may not be taken; it is called at the beginning and at the end.
    """
    from shutil import rmtree  # loads what few commands need

    check()
    make_room(target)
    hidden, former = (target.with_name(f".{uuid4().hex}{SUFFIX}") for _ in range(2))
    try:
        hidden.mkdir()
    except OSError as error:  # whoever reads it knows only the name that the folder is to get
        raise OSError(error.errno, error.strerror, str(target)) from error
    try:
        yield hidden
        check()
        # Unlike a file, a folder cannot be replaced in one step.
        if target.exists():
            target.rename(former)
        try:
            hidden.rename(target)
        except BaseException:
            if former.exists():
                former.rename(target)
            raise
    except BaseException:
        rmtree(hidden, ignore_errors=True)
        raise
    sync_folder(target.parent)
    rmtree(former, ignore_errors=True)


def _create(hidden: Path, path: Path) -> BinaryIO:
    try:
        return hidden.open("xb")
    except OSError as error:  # whoever reads it knows only the name that the file is to get
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_bytes(path: Path, content: bytes) -> None:
    with atomic_file(path) as file:
        file.write(content)


def write_json(path: Path, value: object) -> None:
    """Write ``value`` as indented JSON, and make the folders on the way."""
    write_bytes(path, json_bytes(value))


def json_bytes(value: object) -> bytes:
    return (strict_json.dumps(value, indent=2) + "\n").encode("ascii")


def sync_folder(folder: Path) -> None:
    """Have the folder's list of names survive a power failure, where the file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_HELD = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK})


class LocksUnavailableError(MASEvalError, OSError):
    """The file system has no locks."""


def lock(descriptor: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file; return False if somebody else holds it.

    With ``wait``, until it is free. Any number of ``shared`` locks can be held at the same time.
    Raises ``LocksUnavailableError`` where there are no locks.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        # Not ``lockf``, whose locks belong to the process: two openings in one would share them.
        fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise LocksUnavailableError(f"the file system has no locks: {error}") from error
    return True


class Scratch:
    """JSON values by their place in a file; for any number of threads, and for forks."""

    def __init__(self) -> None:
        import tempfile  # which loads what most commands have no use for

        # Without a buffer, and read by place: forks share the position in a file.
        self._file = tempfile.TemporaryFile(prefix="maseval-", buffering=0)  # noqa: SIM115
        self._lock = threading.Lock()
        self._lengths: dict[int, int] = {}
        self._end = 0
        weakref.finalize(self, self._file.close)

    def put(self, value: object) -> int:
        """Lay a value aside, and return its place."""
        line = json.dumps(value).encode("ascii") + b"\n"
        with self._lock:
            place, rest = self._end, memoryview(line)
            while rest:
                written = os.pwrite(self._file.fileno(), rest, self._end)
                self._end, rest = self._end + written, rest[written:]
            self._lengths[place] = len(line)
        return place

    def get(self, place: int) -> Any:
        return json.loads(os.pread(self._file.fileno(), self._lengths[place], place))


JUDGEMENTS = "judgements.jsonl"
"""The name of the file of a run's judgements."""


def path_about(run: str | os.PathLike[str], name: str) -> Path:
    """Return the path of a file about a run: in its folder, or beside its results file."""
    path = Path(run)
    return path / name if path.is_dir() else path.with_name(f"{path.stem}-{name}")
