"""One writer for each run folder, known by name.

The operating system's lock decides; the content of the file only says who holds it. Where the file
system has no locks, as some in a network, a second file decides: only one process can make
``lock.owner``, and it removes it at the end. That of a process which died on this machine is
replaced; of one on another machine nobody here can tell whether it is still running.
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
        program, *arguments = sys.argv or [""]
        # Its subcommands, but not its options, which may hold a key.
        subcommands = itertools.takewhile(_SUBCOMMAND.fullmatch, arguments[:2])
        command = " ".join([Path(program).name or "python", *subcommands])
        pid = os.getpid()
        return cls(pid, socket.gethostname(), now(), command, _birth(pid))

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
        self._owner = path.with_name(f"{path.name}.owner")
        self._owns = False
        check_regular(path)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._acquire()
            self._write(strict_json.dumps(asdict(Holder.this_process())))
        except BaseException:
            self._disown()
            os.close(self._descriptor)
            raise

    def release(self) -> None:
        """Release the lock; may be called twice."""
        if self._descriptor >= 0:
            # The lock must end even if the disk is full or gone and the name cannot be cleared.
            with suppress(OSError):
                self._write("")
            self._disown()
            os.close(self._descriptor)
            self._descriptor = -1

    def _acquire(self) -> None:
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE)
            try:
                if lock(self._descriptor):
                    break
            except LocksUnavailableError:
                self._own()
                return
        else:
            raise self._held_by(_read(self.path))
        owner = _read(self._owner)
        if owner is not None and owner.is_alive:  # on a machine that has no locks here
            raise self._held_by(owner, self._owner)

    def _own(self) -> None:
        """Make the file that only one process can make."""
        holder = _read(self.path)
        if holder is not None and holder.is_alive:  # perhaps on a machine that has locks here
            raise self._held_by(holder, self.path)
        if os.path.lexists(self._owner):
            self._remove_dead_owner()
        try:
            _create(self._owner)
        except FileExistsError:
            raise self._held_by(_read(self._owner), self._owner) from None
        self._owns = True

    def _remove_dead_owner(self) -> None:
        owner = _read(self._owner)
        if owner is None or owner.is_alive:
            raise self._held_by(owner, self._owner)
        # Of several that find it dead one has its turn, and looks again.
        turn = self._owner.with_name(f"{self._owner.name}-{owner.pid}")
        try:
            _create(turn)
        except FileExistsError:
            raise self._held_by(_read(turn), turn) from None
        try:
            if _read(self._owner) == owner:
                self._owner.unlink()
        finally:
            turn.unlink()

    def _disown(self) -> None:
        if self._owns:
            with suppress(OSError):
                self._owner.unlink()
            self._owns = False

    def _held_by(self, holder: Holder | None, file: Path | None = None) -> RunLockedError:
        named = holder or "another process (name unknown)"
        ways_out = "wait for it to end, stop it, or choose another folder"
        if file is not None:
            ways_out += f"; if that process is gone, remove {file}"
        return RunLockedError(f"{self.path.parent} is being written to by {named}; {ways_out}")

    def _write(self, text: str) -> None:
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, text.encode("ascii"))


def _create(path: Path) -> None:
    """Make a file that names this process; raises if it exists."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        os.write(descriptor, strict_json.dumps(asdict(Holder.this_process())).encode("ascii"))
    finally:
        os.close(descriptor)


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
        check_regular(path)
        holder = Holder(**strict_json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RunFolderError):
        return None
    texts = (holder.host, holder.since, holder.command, holder.born or "")
    known = type(holder.pid) is int and all(isinstance(text, str) for text in texts)
    return holder if known else None


def _birth(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the program's name in brackets, which may itself hold blanks.
    return stat.rpartition(")")[2].split()[19]
