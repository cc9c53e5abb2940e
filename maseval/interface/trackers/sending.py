"""Sending a run to a tracker by name, and processes that are given so long and no longer."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module

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
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return cls(process)

    def failure(self, deadline: float) -> str | None:
        """Wait for its end; return why it failed, or None.

        At ``deadline`` (monotonic) it is killed, with all that it has started.
        """
        left = max(0.0, deadline - time.monotonic())
        try:
            _, errors = self.process.communicate(timeout=left)
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
    try:
        send: Callable[..., str] = import_module(f"maseval.interface.trackers.{name}").send
        return send(run, where, known)
    except MASEvalError:
        raise
    except Exception as error:  # each library fails in its own ways
        words = f"{type(error).__name__}: {excerpt(redact_text(str(error)), 400)}"
        raise DeliveryError(f"{name} did not take the run ({words})") from error
