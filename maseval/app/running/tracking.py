"""Tracking: sends a run elsewhere while it runs and when it ends; the run does not depend on it.

Traces go through a background thread, whole runs through ``maseval sync`` in processes of its own
that are ended if they take too long. What could not be sent is one sentence at the end.
"""

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from maseval.app.sharing.sync import SENT, Destination, SentLog, destinations_of
from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.report import Report
from maseval.interface.telemetry.otlp import END_SECONDS, Sender
from maseval.interface.telemetry.simulation import trace_of
from maseval.interface.trackers import TRACKER_SECONDS, BoundedProcess


class Tracking(BenchmarkCallback):
    """Sends every finished simulation of a run, and the run at its end."""

    def __init__(self, names: Sequence[str], *, content: bool = False) -> None:
        self._destinations = destinations_of(names)  # raises if a run cannot be sent there
        self._content = content
        self._senders: dict[Destination, Sender] = {}

    def start(self, folder: Path) -> None:
        """Begin to send the run in ``folder``."""
        self._folder = folder
        traced = [each for each in self._destinations if each.sends_traces]
        self._senders = {each: self._sender(each) for each in traced}

    def _sender(self, destination: Destination) -> Sender:
        sent = SentLog(self._folder / SENT, destination)

        def note(reports: Sequence[Report]) -> None:
            sent.note(traces=[f"{trace_of(report):032x}" for report in reports])

        return Sender(destination.receiver(self._folder.name, content=self._content), note)

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        for sender in self._senders.values():
            sender.put(report)

    def finish(self) -> list[str]:
        """Wait, within bounds, for what is still to be sent; return a note on each failure."""
        notes = []
        processes = [
            (each, self._start_sync(each)) for each in self._destinations if not each.sends_traces
        ]
        deadline = time.monotonic() + END_SECONDS
        for destination, sender in self._senders.items():
            delivery = sender.finish(max(0.0, deadline - time.monotonic()))
            if delivery.unsent:
                notes.append(self._note(destination, str(delivery)))
        deadline = time.monotonic() + TRACKER_SECONDS
        for destination, process in processes:
            if (failure := process.failure(deadline)) is not None:
                notes.append(self._note(destination, f"the run was not sent ({failure})"))
        return notes

    def _start_sync(self, destination: Destination) -> BoundedProcess:
        # The address as it was given, with the password it may hold.
        to = "=".join(filter(None, (destination.name, destination.where)))
        run = str(self._folder)
        return BoundedProcess([sys.executable, "-m", "maseval.cli", "sync", run, "--to", to])

    def _note(self, destination: Destination, words: str) -> str:
        again = f"maseval sync {shlex.quote(str(self._folder))} --to {destination}"
        return f"{destination.name}: {words}; send again with: {again}"
