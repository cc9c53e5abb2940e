"""Publishes what a run does while it is running, for ``maseval view``.

A thread looks at the run twice a second; the simulations themselves do nothing for it.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from maseval.commands.progress import RunningSimulation, RunProgress
from maseval.core.storage.secrets import Secrets
from maseval.core.throttle import complaints
from maseval.core.tracing import now
from maseval.runs import Simulation
from maseval.runs.live import InFlight, LiveRun, publish, withdraw

_EVERY = 0.5
_LONGEST = 500


class Said(NamedTuple):
    """The last message of a running simulation, and how many there were."""

    role: str
    text: str
    messages: int


LastSaid = Callable[[Simulation], Said | None]
"""The last message of a running simulation; None before there is one."""


@contextmanager
def published(
    folder: Path, progress: RunProgress, last: LastSaid | None, secrets: Secrets
) -> Iterator[None]:
    """While the context is open, the folder says what is going on."""
    ended = threading.Event()
    view = _LiveView(folder, progress, last, secrets)
    thread = threading.Thread(target=view.keep_up, args=(ended,), daemon=True, name="maseval-live")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        withdraw(folder)


class _LiveView:
    def __init__(
        self, folder: Path, progress: RunProgress, last: LastSaid | None, secrets: Secrets
    ) -> None:
        self._folder, self._progress = folder, progress
        self._last, self._secrets = last, secrets
        self._complaints = complaints.count

    def keep_up(self, ended: threading.Event) -> None:
        while not ended.wait(_EVERY):
            publish(self._folder, self._now())

    def _now(self) -> LiveRun:
        return {
            "pid": os.getpid(),
            "at": now(),
            "cost": self._progress.cost,
            "tokens": self._progress.tokens,
            "rate_limits": complaints.count - self._complaints,
            "in_flight": [self._in_flight(each) for each in self._progress.running()],
        }

    def _in_flight(self, running: RunningSimulation) -> InFlight:
        one = running.simulation
        said = None if self._last is None else self._last(one)
        began = datetime.now() - timedelta(seconds=running.seconds)
        return {
            "domain": one.domain,
            "task": one.task_id,
            "trial": one.trial,
            "since": began.isoformat("T", "seconds"),
            "step": None if said is None else said.messages,
            "last": None if said is None else {"role": said.role, "text": self._clean(said.text)},
        }

    def _clean(self, text: str) -> str:
        # First all of it: half a secret would not be recognised.
        return self._secrets.removed_from_text(text)[:_LONGEST]
