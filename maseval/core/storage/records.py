"""Append-only files of JSON lines that survive being killed.

Each record is one line, written in one go and flushed to disk. Whatever ends the process, the
file holds every finished record and at most one torn last line, which readers report and skip.
"""

import errno
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from maseval.core.exceptions import OutputExistsError, ResultFileError
from maseval.core.storage import strict_json
from maseval.core.storage.atomic import sync_folder

# Windows would otherwise turn line ends into two bytes.
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


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
        sync_folder(self.path.parent)

    def append(self, record: Mapping[str, Any]) -> int:
        """Add one record and return where it begins.

        If it cannot be written whole, nothing of it stays in the file.
        """
        return self.append_line(strict_json.dumps(record).encode("ascii"))

    def append_line(self, text: bytes) -> int:
        """``append`` for a record that is JSON already, in one line."""
        line = text + b"\n"
        try:
            self._check_in_place()
            self._cut_torn_line()
            self._torn_at = start = self._size()
            self._write(line)
            self._torn_at = None
        except OSError as error:
            with suppress(OSError):
                self._cut_torn_line()
            raise OSError(
                error.errno, f"could not add a record ({error.strerror})", str(self.path)
            ) from error
        except BaseException:
            # Ctrl-C after the last byte, perhaps in the flush: the record is complete and stays.
            if self._torn_at is not None and self._size() == self._torn_at + len(line):
                self._torn_at = None
            raise
        self.count += 1
        return start

    def close(self) -> None:
        """Close the file; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> "RecordWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        if self._sync:
            os.fsync(self._descriptor)

    def _check_in_place(self) -> None:
        # A deleted or replaced file still accepts what is written to its descriptor.
        if not os.path.samestat(os.fstat(self._descriptor), os.stat(self.path)):
            raise FileNotFoundError(errno.ENOENT, "the file was replaced by another one")

    def _cut_torn_line(self) -> None:
        # Until this works no record is added: behind a torn line it would be unreadable too.
        if self._torn_at is not None:
            os.ftruncate(self._descriptor, self._torn_at)
            self._torn_at = None


def new_record_file(path: Path, *, sync: bool = True) -> RecordWriter:
    """A writer to ``path``, or to the first of ``<stem>-2``, ``<stem>-3``, ... that is free."""
    number, candidate = 1, path
    while True:
        try:
            return RecordWriter(candidate, sync=sync)
        except OutputExistsError:
            number += 1
            candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")


class Records(NamedTuple):
    """The content of a record file; ``torn`` is the text of a last line that was cut off."""

    records: list[dict[str, Any]]
    torn: str | None


def read_records(path: str | os.PathLike[str]) -> Records:
    """All records of a file at once."""
    torn: list[bytes] = []
    records = list(iter_records(path, on_torn=torn.append))
    return Records(records, torn[0].decode("utf-8", "replace") if torn else None)


def iter_records(
    path: str | os.PathLike[str], *, on_torn: Callable[[bytes], object] | None = None
) -> Iterator[dict[str, Any]]:
    """The records of a file one by one, holding one line in memory.

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
                if file.peek(1):
                    raise ResultFileError(
                        f"{os.fspath(path)}, line {number}: not a record ({error}); "
                        "restore the file from a copy or remove that line"
                    ) from error
                (on_torn or _warn_of(path))(line)
            else:
                yield record


def _warn_of(path: str | os.PathLike[str]) -> Callable[[bytes], object]:
    def warn(torn: bytes) -> None:
        warnings.warn(
            f"{os.fspath(path)}: the last line is cut off; {len(torn)} bytes are left out",
            TornRecordWarning,
            stacklevel=3,
        )

    return warn
