"""Append-only files of JSON lines that survive being killed.

Each record is one line. One or several are written in one go and flushed to disk together. Whatever
ends the process, the file holds every finished record and at most one torn last line, which readers
report and skip and ``mend`` moves aside before more is written. A sealed line begins with a
checksum of all that follows: JSON alone does not notice a digit that was changed. A record that
cannot be written where it belongs is rescued elsewhere, because it was paid for.
"""

import errno
import itertools
import logging
import os
import re
import stat
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from maseval.core.exceptions import OutputExistsError, ResultFileError
from maseval.core.storage import strict_json
from maseval.core.storage.files import sync_folder

logger = logging.getLogger(__name__)

_RESCUED = "maseval-rescued-"
# The system puts each write at the end, wherever that is by then.
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class TornRecordWarning(UserWarning):
    """The last line of a record file was cut off while it was written, and is left out."""


class RecordWriter:
    """Creates a file of records and adds to it.

    ``overwrite`` empties an existing file; ``resume`` appends to it, once ``mend`` has repaired its
    end. With ``sync=False`` the operating system decides when a record reaches the disk: faster,
    still safe when the process is killed, but not when the power fails.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        resume: bool = False,
        sync: bool = True,
    ) -> None:
        self.path = Path(path)
        self.count = 0
        self._sync = sync
        self._torn_at: int | None = None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        existing = os.O_TRUNC if overwrite else 0 if resume else os.O_EXCL
        try:
            self._descriptor = os.open(self.path, _APPEND | existing, 0o666)
        except FileExistsError:
            raise OutputExistsError(
                f"Output file already exists: {self.path}. "
                "Set overwrite=True to allow replacing it, or choose another name"
            ) from None
        # Without its name, no line of a new file would survive a power failure.
        sync_folder(self.path.parent)

    def append(self, record: Mapping[str, Any]) -> int:
        """Add one record and return where it begins.

        If it cannot be written whole, nothing of it stays in the file.
        """
        return self.append_lines([strict_json.dumps(record).encode("ascii")])

    def append_lines(self, texts: Sequence[bytes]) -> int:
        """``append`` for several lines of JSON, for which the disk is waited for once."""
        lines = b"".join(text + b"\n" for text in texts)
        try:
            # A deleted or replaced file still accepts what is written to its descriptor.
            if not os.path.samestat(os.fstat(self._descriptor), os.stat(self.path)):
                raise FileNotFoundError(errno.ENOENT, "the file was replaced by another one")
            self._cut_torn_line()
            self._torn_at = start = self._size()
            self._write(lines)
            self._torn_at = None
        except OSError as error:
            with suppress(OSError):
                self._cut_torn_line()
            raise OSError(
                error.errno, f"could not add a record ({error.strerror})", str(self.path)
            ) from error
        except BaseException:
            # Ctrl-C after the last byte, perhaps in the flush: what is complete stays.
            if self._torn_at is not None and self._size() == self._torn_at + len(lines):
                self._torn_at = None
            raise
        self.count += len(texts)
        return start

    def close(self) -> None:
        """Close the file; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> "RecordWriter":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def _write(self, lines: bytes) -> None:
        rest = memoryview(lines)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        if self._sync:
            os.fsync(self._descriptor)

    def _cut_torn_line(self) -> None:
        # Until this works no record is added: behind a torn line it would be unreadable too.
        if self._torn_at is not None:
            os.ftruncate(self._descriptor, self._torn_at)
            self._torn_at = None


def new_record_file(path: Path, *, sync: bool = True) -> RecordWriter:
    """Return a writer to ``path``, or to the first free one of ``<stem>-2``, ``<stem>-3``, ..."""
    number, candidate = 1, path
    while True:
        try:
            return RecordWriter(candidate, sync=sync)
        except OutputExistsError:
            number += 1
            candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")


def iter_records(
    path: str | os.PathLike[str], *, on_torn: Callable[[bytes], object] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the records of a file one by one, holding one line in memory.

    A torn last line goes to ``on_torn``, without which it raises a ``TornRecordWarning``. A last
    line that lacks only its line end is a record. Damage elsewhere is a ``ResultFileError``.
    """
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if line.isspace():
                continue
            try:
                record = strict_json.loads_object(line)
            except (ValueError, RecursionError) as error:
                # Whatever ended the writer, it can have cut off the last line alone.
                if file.peek(1):
                    raise ResultFileError(
                        f"{os.fspath(path)}, line {number}: not a record ({error}); "
                        "restore the file from a copy or remove that line"
                    ) from error
                (on_torn or partial(_warn_of, path))(line)
            else:
                yield record


def _warn_of(path: str | os.PathLike[str], torn: bytes) -> None:
    warnings.warn(
        f"{os.fspath(path)}: the last line is cut off; {len(torn)} bytes are left out",
        TornRecordWarning,
        stacklevel=3,
    )


_SEAL = re.compile(rb'\{"crc": (\d+), ')


def seal_json(text: str) -> bytes:
    """Return the line of a record as ``strict_json`` writes it; its end is not part of it."""
    plain = text.encode("ascii")
    return b'{"crc": %d, %b' % (zlib.crc32(plain), plain[1:])


def seal_problem(line: bytes) -> str | None:
    """Return the reason why a line is not as it was written; None if it is."""
    seal = _SEAL.match(line)
    if seal is None:
        return "it has no checksum"
    # A view, as copying each line would take longer than the checksum.
    content = memoryview(line)[seal.end() : len(line.rstrip(b"\r\n"))]
    if zlib.crc32(content, zlib.crc32(b"{")) != int(seal[1]):
        return "its checksum does not match its content"
    return None


def mend(path: str | os.PathLike[str]) -> Path | None:
    """Prepare a file for more records; call it only while nobody writes to the file.

    A torn last line is moved to the first free ``torn-<n>.jsonl`` beside the file, whose path is
    returned; a last record that lacks only its line end gets one. Lines that have an end stay.
    """
    path = Path(path)
    aside = None
    with path.open("r+b") as file:
        start = _start_of_last_line(file)
        file.seek(start)
        tail = file.read()
        if not tail:
            return None
        try:
            strict_json.loads_object(tail)
            file.write(b"\n")
        except (ValueError, RecursionError):
            # First the copy, then the cut: a crash in between leaves the line in both places.
            aside = _set_aside(path, tail)
            file.truncate(start)
        file.flush()
        os.fsync(file.fileno())
        return aside


def _start_of_last_line(file: BinaryIO) -> int:
    import mmap  # few files need it

    if not os.fstat(file.fileno()).st_size:
        return 0
    # A line may have many megabytes, of which only the beginning is wanted.
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.rfind(b"\n") + 1


def _set_aside(path: Path, tail: bytes) -> Path:
    for number in itertools.count(1):
        aside = path.with_name(f"torn-{number}.jsonl")
        with suppress(FileExistsError), aside.open("xb") as file:
            file.write(tail)
            file.flush()
            os.fsync(file.fileno())
            break
    sync_folder(path.parent)
    return aside


def rescue(record: Mapping[str, Any], intended: Path, owner: str, reason: OSError) -> Path | None:
    """Add a result to a file beside the intended one, else in a private temporary folder.

    The name of that folder has the ``owner`` of the results in it, for ``rescued_files``. Logs at
    ERROR where it is and why, and returns the file; None if it is nowhere.
    """
    import tempfile  # which loads what most commands have no use for

    what = f"task {record.get('task_id')}, repetition {record.get('repeat_idx')}"
    name = f"{intended.stem}.rescued.jsonl"
    for folder in (intended.parent, Path(tempfile.gettempdir()) / f"{_RESCUED}{owner}"):
        with suppress(OSError):
            if folder != intended.parent:
                # Others on this machine may read the folder that it is in.
                folder.mkdir(mode=0o700, exist_ok=True)
            if folder == intended.parent or _is_own_folder(folder):
                _add_rescued(folder / name, record)
                logger.error("%s; the report of %s is kept in %s", reason, what, folder / name)
                return folder / name
    logger.error("%s; the report of %s is only in benchmark.reports", reason, what)
    return None


def _add_rescued(path: Path, record: Mapping[str, Any]) -> None:
    if path.exists():
        mend(path)  # the process that began it may have been killed
    writer = RecordWriter(path, resume=True)
    try:
        writer.append(record)
    except OSError:
        if not path.stat().st_size:
            path.unlink()
        raise
    finally:
        writer.close()


def rescued_files(intended: Path, owner: str) -> list[Path]:
    """Return the files to which results were rescued that were intended for a file.

    Temporary folders count only if they are this user's: anybody can make one of such a name.
    """
    import tempfile

    name = f"{intended.stem}.rescued*.jsonl"
    places = [intended.parent, *Path(tempfile.gettempdir()).glob(f"{_RESCUED}{owner}*")]
    found: list[Path] = []
    for place in places:
        with suppress(OSError):
            if place == intended.parent or _is_own_folder(place):
                found += sorted(path for path in place.glob(name) if path.is_file())
    return found


def _is_own_folder(path: Path) -> bool:
    found = path.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def drop_rescued(path: Path) -> None:
    """Remove a file of rescued results, and the temporary folder that was made for it."""
    with suppress(OSError):
        path.unlink()
        if path.parent.name.startswith(_RESCUED):
            path.parent.rmdir()
