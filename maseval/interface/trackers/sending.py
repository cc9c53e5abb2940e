"""Sending a run to a tracker by name, also in a process of its own: ``NAME WHERE KNOWN``.

The process is given so long and no longer, and is killed with all that it has started.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from maseval.core.exceptions import MASEvalError
from maseval.core.storage.redaction import redact_text
from maseval.core.words import excerpt
from maseval.interface import extras
from maseval.interface.telemetry.sender import DeliveryError
from maseval.interface.trackers.tracked_run import TrackedRun


@dataclass
class BoundedProcess:
    """A command that runs beside this one."""

    process: "subprocess.Popen[str]"

    @classmethod
    def start(cls, command: Sequence[str]) -> "BoundedProcess":
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
        """Wait for its end, at ``deadline`` (monotonic) kill it; return why it failed, or None."""
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


TRACKERS = ("mlflow", "wandb")
TRACKER_SECONDS = 30.0
"""The end of a run waits at most so long for trackers: their libraries alone take seconds."""


def check_installed(name: str) -> None:
    """Raise if the library of a tracker is missing; it is not imported."""
    home = import_module(f"maseval.interface.trackers.{name}")
    extras.require(home.MODULE, extra=home.EXTRA, package=home.PACKAGE)


def send_to(name: str, run: TrackedRun, where: str | None, known: str | None = None) -> str:
    """Send a run to a tracker and return its id there; raise ``DeliveryError`` if refused."""
    send: Callable[..., str] = import_module(f"maseval.interface.trackers.{name}").send
    try:
        return send(run, where, known)
    except MASEvalError:
        raise
    except Exception as error:  # each library fails in its own ways
        words = f"{type(error).__name__}: {excerpt(redact_text(str(error)), 400)}"
        raise DeliveryError(f"{name} did not take the run ({words})") from error


def as_json(run: TrackedRun) -> str:
    """Write a run for another process; its files are made first."""
    files = [str(file) for file in run.files()]
    return json.dumps({**asdict(run), "files": files})


def from_json(text: str) -> TrackedRun:
    fields = json.loads(text)
    files = [Path(file) for file in fields["files"]]
    return TrackedRun(**{**fields, "files": lambda: files})


def main() -> None:
    """Send what is read to the tracker that the arguments name, and print its id."""
    name, where, known = sys.argv[1:]
    try:
        print(send_to(name, from_json(sys.stdin.read()), where or None, known or None))
    except MASEvalError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
