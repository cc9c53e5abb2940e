"""One writer for each run folder, known by name.

The operating system's lock decides; the content of the file only says who holds it.
"""

import itertools
import os
import re
import socket
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from maseval.core.storage import strict_json
from maseval.core.storage.files import LocksUnavailableError, lock
from maseval.core.tracing import now
from maseval.runs.exceptions import RunFolderError, RunLockedError, check_regular

# Whoever only looks whether a run is in progress holds the lock for a moment.
_ATTEMPTS, _PAUSE = 4, 0.05
_SUBCOMMAND = re.compile(r"[a-z]+\d?")


@dataclass(frozen=True)
class Holder:
    """The process that writes to a folder."""

    pid: int
    host: str
    since: str
    command: str
    born: str | None = None
    """The start of the process in the system's own terms, because process ids are used again."""

    @classmethod
    def this_process(cls) -> "Holder":
        pid = os.getpid()
        return cls(pid, socket.gethostname(), now(), _command(), _birth(pid))

    @property
    def is_alive(self) -> bool:
        """True if the process is still there; one on another host is taken to be."""
        # Asking Windows would send the process a signal.
        if self.host != socket.gethostname() or sys.platform == "win32":
            return True
        try:
            os.kill(self.pid, 0)
        except PermissionError:
            pass
        except (OSError, OverflowError):
            return False
        return self.born is None or _birth(self.pid) in (None, self.born)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} ({self.command}), since {self.since}"


class FolderLock:
    """The exclusive right to write to a folder, until ``release`` or the end of the process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        check_regular(path)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._acquire()
            self._write(strict_json.dumps(asdict(Holder.this_process())))
        except BaseException:
            os.close(self._descriptor)
            raise

    def release(self) -> None:
        """Release the lock; may be called twice."""
        if self._descriptor >= 0:
            # The lock must end even if the disk is full or gone and the name cannot be cleared.
            with suppress(OSError):
                self._write("")
            os.close(self._descriptor)
            self._descriptor = -1

    def _acquire(self) -> None:
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE)
            if _free(self._descriptor, self.path):
                return
        holder = _read(self.path) or "another process (name unknown)"
        raise RunLockedError(
            f"{self.path.parent} is being written to by {holder}; "
            "wait for it to end, stop it, or choose another folder"
        )

    def _write(self, text: str) -> None:
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, text.encode("ascii"))


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
        return None if _free(descriptor, path, shared=True) else holder
    finally:
        os.close(descriptor)


def _read(path: Path) -> Holder | None:
    try:
        check_regular(path)
        holder = Holder(**strict_json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RunFolderError):
        return None
    texts = (holder.host, holder.since, holder.command, holder.born or "")
    known = type(holder.pid) is int and all(isinstance(text, str) for text in texts)
    return holder if known else None


def _free(descriptor: int, path: Path, *, shared: bool = False) -> bool:
    """Take the lock if it is free; where there are no locks, check that its holder is dead."""
    try:
        return lock(descriptor, shared=shared)
    except LocksUnavailableError:
        holder = _read(path)
        return holder is None or not holder.is_alive


def _command() -> str:
    """Return the program and its subcommands; not its options, which may hold a key."""
    program, *arguments = sys.argv or [""]
    subcommands = itertools.takewhile(_SUBCOMMAND.fullmatch, arguments[:2])
    return " ".join([Path(program).name or "python", *subcommands])


def _birth(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the program's name in brackets, which may itself hold blanks.
    return stat.rpartition(")")[2].split()[19]
