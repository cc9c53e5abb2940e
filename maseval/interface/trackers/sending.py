"""Sending a run to one of the trackers, by name; also as a process: ``NAME WHERE KNOWN``."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from maseval.core.exceptions import MASEvalError
from maseval.core.shapes import excerpt
from maseval.core.storage.redaction import redact_text
from maseval.interface import extras
from maseval.interface.telemetry.sender import DeliveryError
from maseval.interface.trackers.tracked_run import TrackedRun

TRACKERS = ("mlflow", "wandb")
TRACKER_SECONDS = 30.0
"""How long the end of a run waits for trackers, at most: their libraries alone take seconds."""


def check_installed(name: str) -> None:
    """Raise if the library of a tracker is missing; it is not imported."""
    home = import_module(f"maseval.interface.trackers.{name}")
    extras.require(home.MODULE, extra=home.EXTRA, package=home.PACKAGE)


def send_to(name: str, run: TrackedRun, where: str | None, known: str | None = None) -> str:
    """Send a run to a tracker, and return the id it has there; raises ``DeliveryError``."""
    send: Callable[..., str] = import_module(f"maseval.interface.trackers.{name}").send
    try:
        return send(run, where, known)
    except MASEvalError:
        raise
    except Exception as error:  # each library fails in its own ways
        words = f"{type(error).__name__}: {excerpt(redact_text(str(error)), 400)}"
        raise DeliveryError(f"{name} did not take the run ({words})") from error


def as_json(run: TrackedRun) -> str:
    """A run for another process; its files are made first."""
    files = [str(file) for file in run.files()]
    return json.dumps({**asdict(run), "files": files})


def from_json(text: str) -> TrackedRun:
    """The run that ``as_json`` wrote."""
    told = json.loads(text)
    files = [Path(file) for file in told["files"]]
    return TrackedRun(**{**told, "files": lambda: files})


def main() -> None:
    """Send what is read to the tracker that the arguments name, and print its id."""
    name, where, known = sys.argv[1:]
    try:
        print(send_to(name, from_json(sys.stdin.read()), where or None, known or None))
    except MASEvalError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
