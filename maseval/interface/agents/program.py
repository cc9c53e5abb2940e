"""Programs under evaluation: each is started in a process group of its own, watched, and ended.

A program is not trusted. It gets the environment variables that are named for it and those that any
program needs; what it writes to standard error is read for as long as it lives, and only the end
is kept; and its process group is killed when it is no longer needed. If this process is killed, a
shell that waits for that does it: it reads which groups there are from a pipe until the pipe ends.
"""

import asyncio
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from maseval.core.exceptions import AgentError, ConfigurationError, EnvironmentError
from maseval.core.storage.redaction import redact_command, redact_text

# What most programs need to run at all, and to find their own settings.
_INHERITED = frozenset(
    {
        "HOME",
        "LOGNAME",
        "USER",
        "PATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_CTYPE",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    }
)
LONGEST_LINE = 16 * 1024 * 1024
_KEPT_OF_STDERR = 4096
# An agent that exits by itself when its input ends needs a moment; so does its clean-up.
_GRACE_SECONDS = 1.0


class AgentProgramError(AgentError):
    """The agent's program died, hung or answered nonsense; ``details`` has its last words."""


class ProgramStartError(EnvironmentError):
    """The machine could not start another program."""


class Program:
    """A program that runs; all of its methods are for the event loop in which it was started."""

    def __init__(self, command: Sequence[str], process: asyncio.subprocess.Process) -> None:
        self.command = command
        self.process = process
        self.stdin: Any = process.stdin
        self.stdout: Any = process.stdout
        self.stderr: Any = process.stderr
        self._tail = b""
        self._draining = asyncio.ensure_future(self._drain())

    @classmethod
    async def start(cls, command: Sequence[str], variables: Mapping[str, str]) -> "Program":
        inherited = {name: value for name, value in os.environ.items() if name in _INHERITED}
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**inherited, **variables},
                limit=LONGEST_LINE,
                start_new_session=True,  # Ctrl-C is for this process, which then ends the program
            )
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            raise ConfigurationError(
                f"the program {command[0]!r} cannot be started: {error.strerror}; give its path"
            ) from error
        except OSError as error:
            raise ProgramStartError(
                f"the program {command[0]!r} could not be started: {error}; run fewer at once"
            ) from error
        _keeper.note("+", process.pid)
        return cls(command, process)

    async def _drain(self) -> None:
        while chunk := await self.stderr.read(65536):
            self._tail = (self._tail + chunk)[-_KEPT_OF_STDERR:]

    @property
    def last_words(self) -> str:
        """The end of what it wrote to standard error."""
        return redact_text(self._tail.decode(errors="replace")).strip()

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None

    async def exits_soon(self) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), _GRACE_SECONDS)
        return not self.is_running

    async def failure(self, what: str) -> AgentProgramError:
        """Return the error for what it did, with how it ended and its last words."""
        if await self.exits_soon():  # a pipe ends before its process does
            await asyncio.wait({self._draining}, timeout=_GRACE_SECONDS)
        code, said = self.process.returncode, self.last_words
        ended = "" if code is None else f" (exit code {code})"
        last = f"; it wrote last: {said.splitlines()[-1][:300]}" if said else ""
        details = {"command": redact_command(self.command), "exit_code": code, "stderr": said}
        return AgentProgramError(f"{what}{ended}{last}", details=details)

    async def stop(self) -> None:
        """End the program and all that it started in its process group."""
        # A program that reads its input to the end then exits by itself.
        self.stdin.close()
        if not await self.exits_soon():
            self._signal(signal.SIGTERM)
            await self.exits_soon()
        # Also after it has exited, as what it started may still live in its group.
        self._signal(signal.SIGKILL)
        await self.exits_soon()
        _keeper.note("-", self.process.pid)
        self._draining.cancel()
        # A process that left the group may still hold the pipes.
        vars(self.process)["_transport"].close()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def split_command(command: str | Sequence[str]) -> list[str]:
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise ConfigurationError(f"the command {command!r} cannot be read: {error}") from None
    if not words:
        raise ConfigurationError("no command is named; write it like acp:python agent.py")
    return words


def provenance(command: Sequence[str]) -> dict[str, object]:
    """Return what is known of a program before it runs: its command, and the files named in it."""
    program, *files = (Path(word) for word in command)
    named = [file for file in files if file.is_file() and os.access(file, os.R_OK)]
    if not named and program.is_file():  # otherwise it is the interpreter of what is named
        named = [program]
    hashes = {file.name: sha256(file.read_bytes()).hexdigest() for file in named}
    return {"command": redact_command(command), "files": hashes}


class _Keeper:
    """The shell that kills what is left of the programs if this process is killed."""

    _SCRIPT = """
    groups=' '
    while read -r sign group; do
      case $sign in
        +) groups="$groups$group " ;;
        *) groups="${groups%% "$group" *} ${groups#* "$group" }" ;;
      esac
    done
    for group in $groups; do kill -9 "-$group"; done
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._shell: subprocess.Popen[bytes] | None = None

    def note(self, sign: str, group: int) -> None:
        # If the shell was killed, programs still end with their simulations.
        with self._lock, suppress(OSError):
            self._pipe().write(f"{sign} {group}\n".encode())

    def _pipe(self) -> Any:
        if self._shell is None or self._owner != os.getpid():  # a fork needs its own
            self._owner = os.getpid()
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", self._SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Unbuffered: a group that is noted must be known even if this process is killed
                # next.
                bufsize=0,
                start_new_session=True,
            )
        return self._shell.stdin


_keeper = _Keeper()
