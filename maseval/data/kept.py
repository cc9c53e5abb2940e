"""Values that were computed once, kept for as long as all that decides them is the same.

``KeptValues`` is a file of lines: the first names what decides the values beside their keys, such
as the code that computes them, and each other line is one value. Whatever is missing, damaged or of
another version is not there, and is computed anew. Where nothing can be written, nothing is kept.

The files lie in the cache folder of this machine, never in a run folder, which is handed over:
findings that come with somebody else's run are not to be believed. A checksum of each line
tells a value that was cut off or damaged from a whole one.
"""

import hashlib
import json
import os
import threading
import time
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from maseval.core.storage import strict_json
from maseval.core.storage.files import write_bytes
from maseval.data.files import cache_dir

_PACKAGE = Path(__file__).parents[1]
_CODE = (".py", ".json", ".txt", ".md")
_STARTED = time.time_ns()
_CHECKSUM = 32
# So much is gathered before it is written: what is found out about a large run is lost to no kill.
_AT_ONCE = 1 << 20
_BUFFER = 1 << 20


class KeptValues:
    """Values by key, in one file; for any number of threads.

    ``version`` is JSON: all that decides the values beside their keys. With None they are kept as
    long as this object. In memory are the places of the values, and those not written yet.
    """

    def __init__(self, place: Path, version: object) -> None:
        self._place = place
        self._is_open = version is not None
        self._version = hashlib.sha256(strict_json.dumps(version).encode()).hexdigest().encode()
        self._new: dict[bytes, bytes] = {}
        self._size = 0
        # One that may be taken twice: ``put`` saves when much is gathered.
        self._lock = threading.RLock()

    @cached_property
    def _offsets(self) -> dict[bytes, int]:
        """The places of lines whose checksums nobody looked at, by key; of several, the last."""
        found: dict[bytes, int] = {}
        with suppress(OSError):
            if self._is_open and self._place.is_file():
                with self._place.open("rb", buffering=_BUFFER) as file:
                    at = len(first := file.readline())
                    if first.rstrip(b"\n") == self._version:
                        for line in file:
                            found[line[_CHECKSUM + 1 :].partition(b" ")[0]] = at
                            at += len(line)
        return found

    def get(self, key: str) -> Any:
        name = key.encode()
        with self._lock:
            line = self._new.get(name) or self._line_at(self._offsets.get(name))
        body = line[_CHECKSUM:]
        if not body.startswith(b" %b " % name) or line[:_CHECKSUM] != self._checksum(body):
            return None
        return json.loads(body[len(key) + 2 :].decode("ascii"))

    def put(self, key: str, value: object) -> None:
        """Take a JSON value, to be written by ``save``; the key has no spaces."""
        body = f" {key} {strict_json.dumps(value)}".encode("ascii")
        with self._lock:
            self._new[key.encode()] = line = self._checksum(body) + body
            self._size += len(line)
            if self._size > _AT_ONCE:
                self.save()

    def save(self) -> None:
        """Write what is new, if that is possible."""
        with self._lock:
            if not self._new or not self._is_open:
                return
            try:
                self._add()
            except OSError:
                self._is_open = False  # the values stay in memory
            else:
                self._new, self._size = {}, 0

    def _line_at(self, offset: int | None) -> bytes:
        if offset is not None:
            with suppress(OSError), self._place.open("rb") as file:
                file.seek(offset)
                return file.readline().rstrip(b"\n")
        return b""

    def _add(self) -> None:
        # Each line begins with its line break: one that was cut off spoils no other.
        content = b"".join(b"\n" + line for line in self._new.values())
        if _first_line(self._place) != self._version:
            write_bytes(self._place, self._version + content)
            at = len(self._version)
            self._offsets.clear()
        else:
            with self._place.open("ab", buffering=0) as file:
                file.write(content)
                # Known only afterwards, as another process may have appended in the meantime.
                at = file.tell() - len(content)
        for key, line in self._new.items():
            self._offsets[key] = at + 1
            at += 1 + len(line)

    def _checksum(self, body: bytes) -> bytes:
        # With the version: a line that was computed by other code has another checksum.
        return hashlib.sha256(self._version + body).hexdigest()[:_CHECKSUM].encode("ascii")


def _first_line(place: Path) -> bytes:
    if not place.is_file():
        return b""
    with place.open("rb") as file:
        return file.readline(1024).rstrip(b"\n")


def place_for(file: Path, name: str) -> Path:
    """Return the place for what is known of a file: ``name``, in the cache folder."""
    path = hashlib.sha256(str(file.absolute()).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return cache_dir() / "kept" / f"{path}-{name}"


@cache
def package_fingerprint() -> str | None:
    """Return a hash of all code and data of the package; None if it changed since this began."""
    # Without paths as objects, which would take most of the time.
    found = (os.path.join(folder, name) for folder, _, names in os.walk(_PACKAGE) for name in names)
    files = sorted(each for each in found if each.endswith(_CODE))
    digest = hashlib.sha256()
    for name in files:
        with open(name, "rb", buffering=0) as file:
            state = os.fstat(file.fileno())
            if state.st_mtime_ns > _STARTED:  # what runs here may be what was there before
                return None
            digest.update(f"{os.path.relpath(name, _PACKAGE)}\0".encode())
            digest.update(file.read())
    return digest.hexdigest() if files else None
