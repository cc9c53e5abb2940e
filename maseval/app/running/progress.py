"""Progress of a run: counted while it is running, for a display and for ``maseval view``.

To publish it, a thread looks at the run twice a second; the simulations do nothing for it.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from maseval.core.benchmark import Benchmark
from maseval.core.call_policy import waiting
from maseval.core.outcome import Outcome, Simulation, total_cost
from maseval.core.report import NO_VERDICT_STATUSES
from maseval.core.storage.redaction import Secrets
from maseval.core.tracing import now
from maseval.core.words import duration
from maseval.runs.lock import InFlight, LiveRun, publish, withdraw
from maseval.stats.clusters import counted_tasks
from maseval.stats.summary import Estimate, estimate

_EVERY = 0.5
_LONGEST = 500
# A run spends at most one part in so many on publishing, however much is in flight.
_REST = 50


class RunningSimulation(NamedTuple):
    """A simulation that is under way, and for how many seconds."""

    simulation: Simulation
    seconds: float


def pauses() -> list[str]:
    """Say which models' calls wait to be repeated, and until when."""
    waits: dict[tuple[str, str], list[float]] = {}
    for each in waiting():
        waits.setdefault((each.model_id, each.error), []).append(each.until)
    found = []
    for (model, error), ends in waits.items():
        calls = "1 call waits" if len(ends) == 1 else f"{len(ends)} calls wait"
        seconds = max(0.0, min(ends) - time.monotonic())
        due = (datetime.now() + timedelta(seconds=seconds)).strftime("%H:%M:%S")
        again = f"next attempt in {duration(seconds)}, at {due}"
        found.append(f"{model}: {calls} after {error}; {again}")
    return found


class RunProgress:
    """Keeps count of a run, earlier sessions included; may be asked from any thread.

    ``stopping`` says why nothing more is started, ``incidents`` which worker processes died or were
    refused.
    """

    def __init__(self, planned: int) -> None:
        self.planned = planned
        self.stopping: str | None = None
        self.ran = 0
        self.cost: float | None = 0.0
        self.tokens = 0
        self.incidents: list[str] = []
        self.lines: dict[Simulation, Outcome] = {}
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._running: dict[Simulation, float] = {}
        self._spent = 0.0

    def recall(self, line: Outcome) -> None:
        """Count what an earlier session finished."""
        with self._lock:
            self._count(line)

    def start(self, simulation: Simulation) -> None:
        with self._lock:
            self._running[simulation] = time.monotonic()

    def finish(self, line: Outcome) -> None:
        with self._lock:
            moment = time.monotonic()
            self._spent += moment - self._running.pop(line.simulation, moment)
            self.ran += 1
            self._count(line)

    def _count(self, line: Outcome) -> None:
        self.cost = total_cost((self.cost, line.cost))
        self.tokens += line.tokens
        # What a simulation that is run again cost before was spent all the same.
        if (before := self.lines.get(line.simulation)) is not None:
            cost, tokens = total_cost((before.cost, line.cost)), before.tokens + line.tokens
            line = line._replace(cost=cost, tokens=tokens)
        self.lines[line.simulation] = line

    def _counted(self) -> list[Outcome]:
        with self._lock:
            return list(self.lines.values())

    @property
    def failed(self) -> int:
        """The number of simulations that have no verdict for now."""
        return sum(line.status in NO_VERDICT_STATUSES for line in self._counted())

    @property
    def done(self) -> int:
        return len(self.lines) - self.failed

    @property
    def running(self) -> list[RunningSimulation]:
        """The simulations that are under way, the slowest first."""
        moment = time.monotonic()
        with self._lock:
            running = dict(self._running)
        found = (RunningSimulation(one, moment - since) for one, since in running.items())
        return sorted(found, key=lambda each: -each.seconds)

    @property
    def pass_1(self) -> Estimate | None:
        """The estimate of pass^1; None before the first verdict."""
        trials, places = counted_tasks(self._counted())
        found = estimate(trials, places=places)
        return None if found.value is None else found

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    @property
    def left(self) -> float | None:
        """The seconds that the rest will take, if each takes as long as those that are finished.

        What is under way counts for what it has not taken yet, so that the rest never grows while
        nothing finishes. None before the first has finished, and once all take longer than that.
        """
        moment = time.monotonic()
        with self._lock:
            taken = [moment - since for since in self._running.values()]
            mean = self._spent / self.ran if self.ran else None
            waiting = max(0, self.planned - len(self.lines) - len(taken))
        if mean is None:
            return None
        rest = [max(0.0, mean - each) for each in taken]
        if not waiting:
            return max(rest, default=0.0) or None
        return (sum(rest) + waiting * mean) / max(1, len(taken))


Display = Callable[[RunProgress], AbstractContextManager[object]]
"""Shows a run for as long as the context is open."""


@contextmanager
def publish_progress(
    folder: Path, progress: RunProgress, benchmark: Benchmark, secrets: Secrets
) -> Iterator[None]:
    """While the context is open, write into the folder what is going on."""
    ended = threading.Event()

    def in_flight(running: RunningSimulation) -> InFlight:
        one = running.simulation
        try:
            said = benchmark.last_said(one.task_id, one.trial)
        except Exception:  # a benchmark's own, read while its agents write
            said = None
        began = datetime.now() - timedelta(seconds=running.seconds)
        # First all of it: half a secret would not be recognised.
        text = "" if said is None else secrets.removed_from_text(said.text)[:_LONGEST]
        return {
            "domain": one.domain,
            "task": one.task_id,
            "trial": one.trial,
            "since": began.isoformat("T", "seconds"),
            "step": None if said is None else said.messages,
            "last": None if said is None else {"role": said.role, "text": text},
        }

    def keep_up() -> None:
        # A run that is over at once has nothing to publish.
        if ended.wait(_EVERY):
            return
        pause = 0.0
        try:
            while not ended.wait(pause):
                began = time.thread_time()
                running = progress.running
                live: LiveRun = {
                    "pid": os.getpid(),
                    "at": now(),
                    "cost": progress.cost or 0.0,
                    "tokens": progress.tokens,
                    "in_flight": [in_flight(each) for each in running],
                    "elapsed": progress.elapsed,
                    "left": progress.left,
                }
                publish(folder, live)
                pause = max(_EVERY, _REST * (time.thread_time() - began))
        finally:
            withdraw(folder)

    # As a daemon: it must not keep a process whose run has failed from ending.
    thread = threading.Thread(target=keep_up, daemon=True, name="maseval-live")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
