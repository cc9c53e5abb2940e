"""Tape: requests to a model and their answers, in a file that outlives the model.

The file is made of JSON lines and only ever grows. The first one names the format; each of the
others is one answered request: a checksum, the request's key, what was asked and what was answered.
Only where each answer lies is kept in memory.
"""

import json
import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from maseval.core.exceptions import MASEvalError
from maseval.core.storage import strict_json
from maseval.core.storage.files import LocksUnavailableError, lock
from maseval.core.storage.records import (
    RecordWriter,
    TornRecordWarning,
    mend,
    seal_problem,
    seal_record,
)
from maseval.server.completion import Completion
from maseval.server.matching import Canonical

_NAME = {"format": "maseval-tape", "version": 1}
_HEADER = (strict_json.dumps(_NAME) + "\n").encode("ascii")
_HEAD = re.compile(rb'\{"crc": \d+, "key": "([0-9a-f]{32})", ')
# A line holds a whole conversation; the usual buffer would cut it into pieces.
_BUFFER = 1 << 20
_WAY_OUT = "restore the tape from a copy, or remove that line and record it again"


class TapeError(MASEvalError, ValueError):
    """A tape is missing, is not a tape, or is damaged."""


class TapePlace(NamedTuple):
    """The place of an exchange on a tape."""

    line: int
    offset: int


class Exchange(NamedTuple):
    """One answered request."""

    key: str
    request: Canonical
    answer: Completion


class Tape:
    """The exchanges in a file, found by their keys.

    ``growing`` allows adding more: a missing file is created, readable by its owner only, and a
    torn last line is moved out of the way. Many threads may use a tape; only one ``Tape`` at a time
    may add to a file.
    """

    def __init__(self, path: str | os.PathLike[str], *, growing: bool = False) -> None:
        self.path = Path(path)
        self.places: dict[str, list[TapePlace]] = {}
        self._order: list[tuple[TapePlace, str]] = []
        self._lines = 0
        self._lock = threading.Lock()
        if growing:
            _create(self.path)
        self._file = _open(self.path)
        self._writer: RecordWriter | None = None
        try:
            if growing:
                _lock(self._file, self.path)
                _prepare(self.path)
                self._writer = RecordWriter(self.path, resume=True)
            self._read_all()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._order)

    def since(self, number: int = 0) -> Iterator[tuple[TapePlace, Exchange]]:
        """Yield the exchanges in the order of the tape, without the first ``number``."""
        for place, key in self._order[number:]:
            yield place, self.at(place, key)

    def at(self, place: TapePlace, key: str) -> Exchange:
        """Read the exchange at a place; raise ``TapeError`` if its key is no longer ``key``."""
        with self._lock:
            self._file.seek(place.offset)
            line = self._file.readline()
        if _key_in(line) != key:
            raise self._damage(place.line, "it was changed since the tape was opened")
        record = json.loads(line)
        return Exchange(record["key"], record["request"], record["answer"])

    def append(self, exchange: Exchange) -> TapePlace:
        """Add an exchange; when this returns it is on the disk."""
        if self._writer is None:
            raise TapeError(f"{self.path} was opened for playing; open it with growing=True")
        line = seal_record(exchange._asdict())
        with self._lock:
            offset = self._writer.append_line(line)
            self._lines += 1
            return self._note(exchange.key, TapePlace(self._lines, offset))

    def close(self) -> None:
        """Close the file once pending writes are done; may be called twice."""
        with self._lock:
            if self._writer is not None:
                self._writer.close()
            self._file.close()

    def _read_all(self) -> None:
        header = self._file.readline()
        _check_header(self.path, header)
        self._lines, offset = 1, len(header)
        for line in self._file:
            self._lines += 1
            key = _key_in(line)
            if key is not None:
                self._note(key, TapePlace(self._lines, offset))
            elif not line.isspace():
                self._check_torn(line)
            offset += len(line)

    def _note(self, key: str, place: TapePlace) -> TapePlace:
        self.places.setdefault(key, []).append(place)
        self._order.append((place, key))
        return place

    def _check_torn(self, line: bytes) -> None:
        if line.endswith(b"\n"):
            raise self._damage(self._lines, seal_problem(line) or "it is not an exchange")
        warnings.warn(
            f"{self.path}: the last line is cut off; {len(line)} bytes are left out",
            TornRecordWarning,
            stacklevel=5,
        )

    def _damage(self, line: int, reason: str) -> TapeError:
        return TapeError(f"{self.path}, line {line}: {reason}; {_WAY_OUT}")


def _create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _lock(file: BinaryIO, path: Path) -> None:
    """Keep others from adding to the tape until it is closed, or the process ends."""
    if sys.platform == "win32":
        return  # locked files cannot be read there, and a tape may be played while it grows
    with suppress(LocksUnavailableError):
        if not lock(file.fileno()):
            raise TapeError(
                f"{path} is being recorded to by another server; end that one, or give another tape"
            )


def _prepare(path: Path) -> None:
    """Prepare the file for more exchanges; a file that is not a tape is left as it is."""
    with _open(path) as file:
        first = file.readline()
    if not _HEADER.startswith(first):
        _check_header(path, first)
    if aside := mend(path):
        warnings.warn(
            f"{path}: the last line was cut off; it is now in {aside}",
            TornRecordWarning,
            stacklevel=4,
        )
    if path.stat().st_size == 0:
        with RecordWriter(path, resume=True) as writer:
            writer.append(_NAME)


def _check_header(path: Path, line: bytes) -> None:
    try:
        header = json.loads(line)
        name, version = header["format"], header["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        name = version = None
    if name != _NAME["format"]:
        raise TapeError(f"{path}, line 1: not a tape file; give one that was made with --record")
    if version != _NAME["version"]:
        raise TapeError(
            f"{path}, line 1: the tape has format {version!r}, and this maseval reads "
            f"{_NAME['version']}; install another release, or record the tape again"
        )


def _open(path: Path) -> BinaryIO:
    if path.exists() and not path.is_file():
        raise TapeError(f"{path} is not a file; give the path of a tape, such as tape.jsonl")
    try:
        return path.open("rb", buffering=_BUFFER)
    except FileNotFoundError:
        raise TapeError(
            f"there is no tape {str(path)!r}; record one with --record --upstream URL"
        ) from None


def _key_in(line: bytes) -> str | None:
    """Return the key of an exchange; None if its line is not as it was written."""
    head = _HEAD.match(line)
    return None if head is None or seal_problem(line) else head[1].decode()
