"""Publishes what a run does while it is running, for ``maseval view``.

A thread looks at the run twice a second; the simulations themselves do nothing for it.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from maseval.app.running.progress import RunningSimulation, RunProgress
from maseval.core.context import Said
from maseval.core.storage.redaction import Secrets
from maseval.core.throttle import complaints
from maseval.core.tracing import now
from maseval.runs.live import InFlight, LiveRun, publish, withdraw

_EVERY = 0.5
_LONGEST = 500
# A run spends at most one part in so many on this, however much is in flight.
_REST = 50


LastSaid = Callable[[str, int], Said | None]
"""The last message in a trial of a task that is running; None before there is one."""


@contextmanager
def published(
    folder: Path, progress: RunProgress, last: LastSaid, secrets: Secrets
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
        self, folder: Path, progress: RunProgress, last: LastSaid, secrets: Secrets
    ) -> None:
        self._folder, self._progress = folder, progress
        self._last, self._secrets = last, secrets
        self._complaints = complaints.count

    def keep_up(self, ended: threading.Event) -> None:
        pause = _EVERY
        while not ended.wait(pause):
            began = time.thread_time()
            publish(self._folder, self._now())
            pause = max(_EVERY, _REST * (time.thread_time() - began))

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
        said = self._last(one.task_id, one.trial)
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
