"""Values that were computed once, kept for as long as all that decides them is the same.

``KeptValues`` is a file of lines: the first names what decides the values beside their keys, such
as the code that computes them, and each other line is one value. Whatever is missing, damaged or of
another version is not there, and is computed anew. Where nothing can be written, nothing is kept.

Each line is sealed with a secret of this machine, which lies in the cache folder. So values may lie
in a folder that is handed over: those of somebody else, or edited ones, are not taken for ours.
"""

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

from maseval.core.storage import strict_json
from maseval.core.storage.files import SUFFIX, write_bytes
from maseval.data.cache import cache_dir

_PACKAGE = Path(__file__).parents[1]
_CODE = (".py", ".json", ".txt", ".md")
_STARTED = time.time_ns()
_SEAL, _SECRET = 32, 32
_ROOM = 1 << 16


class KeptValues:
    """Values by key, in the first of some places that can be written to.

    ``version`` is JSON: all that decides the values beside their keys. None keeps nothing.
    """

    def __init__(self, places: Sequence[Path], version: object) -> None:
        self._places = places
        self._secret = None if version is None else _machine_secret(cache_dir())
        self._version = hashlib.sha256(strict_json.dumps(version).encode()).hexdigest().encode()
        self._new: dict[bytes, bytes] = {}

    @property
    def is_open(self) -> bool:
        """True if values can be kept at all."""
        return self._secret is not None

    @cached_property
    def _lines(self) -> dict[bytes, bytes]:
        """The lines without their seals checked, by key; of several, the last one."""
        for place in self._places if self._secret else ():
            with suppress(OSError):
                version, *lines = place.read_bytes().split(b"\n") if place.is_file() else (b"",)
                if version == self._version:
                    return {line[_SEAL + 1 :].partition(b" ")[0]: line for line in lines}
        return {}

    def get(self, key: str) -> Any:
        """Return the value of a key; None if there is none."""
        line = self._lines.get(key.encode(), b"")
        body = line[_SEAL:]
        if not body or not hmac.compare_digest(line[:_SEAL], self._seal(body)):
            return None
        return json.loads(body[len(key) + 2 :].decode("ascii"))

    def put(self, key: str, value: object) -> None:
        """Take a JSON value, to be written by ``save``; the key has no spaces."""
        if self._secret is not None:
            body = f" {key} {strict_json.dumps(value)}".encode("ascii")
            self._lines[key.encode()] = self._new[key.encode()] = self._seal(body) + body

    def forget_others(self, keys: Iterable[str]) -> None:
        """Let go of all but these keys; their space is free once it is most of the file."""
        known = self._lines
        self._lines = {key: known[key] for each in keys if (key := each.encode()) in known}

    def save(self) -> None:
        """Write what is new, if that is possible."""
        new, self._new = self._new, {}
        for place in self._places if new else ():
            with suppress(OSError):
                self._add(new.values(), [*self._lines.values()], place)
                return

    def _add(self, new: Iterable[bytes], every: Iterable[bytes], place: Path) -> None:
        # Each line begins with its line break: one that was cut off spoils no other.
        content, whole = (b"".join(b"\n" + line for line in each) for each in (new, every))
        if _first_line(place) != self._version:
            write_bytes(place, self._version + content)
        elif place.stat().st_size > 2 * len(whole) + _ROOM:  # mostly values that were replaced
            write_bytes(place, self._version + whole)
        else:
            with place.open("ab", buffering=0) as file:
                file.write(content)

    def _seal(self, body: bytes) -> bytes:
        """Return what proves that a line was written here, under this version."""
        found = hmac.digest(self._secret or b"", self._version + body, "sha256")
        return found.hex()[:_SEAL].encode("ascii")


def _first_line(place: Path) -> bytes:
    if not place.is_file():
        return b""
    with place.open("rb") as file:
        return file.readline(1024).rstrip(b"\n")


def places_for(file: Path, name: str) -> list[Path]:
    """Return the places for what is known of a file: beside a log, and in the cache folder."""
    path = hashlib.sha256(str(file.absolute()).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    cached = cache_dir() / "kept" / f"{path}-{name}"
    return [file.with_name(name), cached] if file.suffix == ".jsonl" else [cached]


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


@cache
def _machine_secret(folder: Path) -> bytes | None:
    """Return the secret of this machine; made if there is none, None if that is not possible."""
    place = folder / "secret"
    with suppress(OSError):
        found = place.read_bytes()
        if len(found) == _SECRET:
            return found
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        hidden = place.with_name(f".{uuid4().hex}{SUFFIX}")
        made = secrets.token_bytes(_SECRET)
        with open(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(made)
        hidden.replace(place)
        return made
    return None
