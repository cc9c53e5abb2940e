"""One writer for each run folder, known by name.

The operating system's lock decides; the content of the file only says who holds it. Where the file
system has no locks, as some in a network, a second file decides: only one process can make
``lock.owner``, and it removes it at the end. If that process was killed, the error says which file
to remove.

That process also writes its present state to ``live.json``, a few times a second; no result depends
on it. A file that a killed process leaves behind is recognised by the lock, and ignored.
"""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NotRequired, TypedDict
from uuid import uuid4

from maseval.core.storage import strict_json
from maseval.core.storage.files import LocksUnavailableError, lock
from maseval.core.tracing import now
from maseval.runs.config_file import LOCK
from maseval.runs.exceptions import RunLockedError

# Whoever only looks whether a run is in progress holds the lock for a moment.
_ATTEMPTS, _PAUSE = 4, 0.05


@dataclass(frozen=True)
class Holder:
    """The process that writes to a folder."""

    pid: int
    host: str
    since: str

    @property
    def is_alive(self) -> bool:
        """True if the process is still there; one on another host is taken to be."""
        if self.host != socket.gethostname():
            return True
        try:
            os.kill(self.pid, 0)
        except PermissionError:
            return True
        except (OSError, OverflowError):
            return False
        return True

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


class FolderLock:
    """The exclusive right to write to a folder, until ``release`` or the end of the process."""

    def __init__(self, path: Path, attempts: int = _ATTEMPTS) -> None:
        self.path = path
        self._attempts = attempts
        self._owner = path.with_name(f"{path.name}.owner")
        self._owns = False
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._acquire()
            self._write(_own_name())
        except BaseException:
            self._close()
            raise

    def release(self) -> None:
        """Release the lock; may be called twice."""
        if self._descriptor >= 0:
            # The lock must end even if the disk is full or gone and the name cannot be cleared.
            with suppress(OSError):
                self._write(b"")
            self._close()

    def _close(self) -> None:
        if self._owns:
            with suppress(OSError):
                self._owner.unlink()
        os.close(self._descriptor)
        self._descriptor = -1

    def _acquire(self) -> None:
        for attempt in range(self._attempts):
            if attempt:
                time.sleep(_PAUSE)
            try:
                if lock(self._descriptor):
                    return
            except LocksUnavailableError:
                self._own()
                return
        raise self._held_by(_read(self.path))

    def _own(self) -> None:
        """Make the file that only one process can make."""
        try:
            descriptor = os.open(self._owner, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            raise self._held_by(_read(self._owner), self._owner) from None
        self._owns = True
        try:
            os.write(descriptor, _own_name())
        finally:
            os.close(descriptor)

    def _held_by(self, holder: Holder | None, file: Path | None = None) -> RunLockedError:
        named = holder or "another process (name unknown)"
        ways_out = "wait for it to end, stop it, or choose another folder"
        if file is not None:
            ways_out += f"; if that process is gone, remove {file}"
        return RunLockedError(f"{self.path.parent} is being written to by {named}; {ways_out}")

    def _write(self, text: bytes) -> None:
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, text)


def _own_name() -> bytes:
    holder = Holder(os.getpid(), socket.gethostname(), now())
    return strict_json.dumps(asdict(holder)).encode("ascii")


def holder_of(path: Path) -> Holder | None:
    """Return the process that holds the lock at ``path``, or None if nobody does."""
    holder = _read(path)
    if holder is None or not holder.is_alive:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return None if lock(descriptor, shared=True) else holder
    except LocksUnavailableError:
        return holder
    finally:
        os.close(descriptor)


def _read(path: Path) -> Holder | None:
    try:
        stored = strict_json.loads_object(path.read_bytes())
        return Holder(int(stored["pid"]), str(stored["host"]), str(stored["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


LIVE = "live.json"
# Far more than a thousand simulations at once need; a larger file is not one of ours.
_MOST_BYTES = 16 << 20


class InFlight(TypedDict):
    """A simulation that is running; ``step`` and ``last`` are None if the benchmark has none.

    ``last`` is the role and the text of the last message, cut to what fits in a line or two.
    """

    domain: str
    task: str
    trial: int
    since: str
    step: int | None
    last: Mapping[str, str] | None


class LiveRun(TypedDict):
    """A run at one moment; ``pid`` is the process that runs it, costs are in usd.

    ``elapsed`` and ``left`` are seconds: since this session began, and by its pace until the end.
    """

    pid: int
    at: str
    cost: float
    tokens: int
    in_flight: list[InFlight]
    elapsed: NotRequired[float]
    left: NotRequired[float | None]


def publish(folder: Path, live: LiveRun) -> None:
    """Replace ``live.json``; a reader sees the old or the new one, never a part."""
    # Not synced: after a crash nobody wants to know what was going on before it.
    hidden = folder / f".{uuid4().hex}.tmp"
    try:
        hidden.write_bytes(strict_json.dumps(live).encode("ascii"))
        hidden.replace(folder / LIVE)
    except OSError:  # a full disk is reported where results are stored
        with suppress(OSError):
            hidden.unlink()


def withdraw(folder: Path) -> None:
    """Remove the file at the end of a session, when nothing is in flight."""
    with suppress(OSError):
        os.unlink(folder / LIVE)


def read_live(folder: Path) -> LiveRun | None:
    """Return the present state of the run, or None if it is not running or does not say."""
    path = folder / LIVE
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        found = strict_json.loads_object(path.read_bytes())
    except (OSError, ValueError):
        return None
    holder = holder_of(folder / LOCK)
    whole = found.keys() >= LiveRun.__required_keys__
    if holder is None or not whole or found["pid"] != holder.pid:
        return None
    return found  # type: ignore[return-value]
