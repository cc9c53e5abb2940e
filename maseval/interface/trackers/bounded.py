"""A process that is given so long and no longer, with all that it has started."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass


@dataclass
class BoundedProcess:
    """A command that runs beside this one."""

    process: "subprocess.Popen[str]"

    @classmethod
    def start(cls, command: Sequence[str]) -> "BoundedProcess":
        """Start a command."""
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return cls(process)

    def failure(self, deadline: float, given: str = "") -> str | None:
        """Why it failed; None if it did not. At ``deadline`` (monotonic) it is killed."""
        try:
            _, errors = self.process.communicate(given, max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._kill()
            return "no answer in time"
        if self.process.returncode == 0:
            return None
        lines = [line for line in errors.splitlines() if line.strip()]
        return (lines or ["it failed without a word"])[-1].removeprefix("Error: ")

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        self.process.communicate()
