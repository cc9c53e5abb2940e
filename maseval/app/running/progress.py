"""Progress of a run: counted while it is running, for a display and for ``maseval view``.

To publish it, a thread looks at the run twice a second; the simulations do nothing for it.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple, TypeVar

from maseval.core.benchmark import Benchmark
from maseval.core.call_policy import waiting
from maseval.core.outcome import Outcome, Simulation, total_cost
from maseval.core.report import NO_VERDICT_STATUSES
from maseval.core.storage.redaction import Secrets
from maseval.core.throttle import complaints
from maseval.core.tracing import now
from maseval.runs.live import InFlight, LiveRun, TalkFiles, publish, withdraw
from maseval.stats.summary import Estimate, estimate
from maseval.stats.trials import count_trials

T = TypeVar("T")

_EVERY = 0.5
_LONGEST = 500
# A run spends at most one part in so many on publishing, however much is in flight.
_REST = 50


class RunningSimulation(NamedTuple):
    """A simulation that is under way, and for how many seconds."""

    simulation: Simulation
    seconds: float


class Pause(NamedTuple):
    """Calls of one model that wait to be repeated: how many, why, and how soon the first is."""

    model: str
    calls: int
    error: str
    seconds: float


def pauses() -> list[Pause]:
    """Return the models of this process whose calls wait to be repeated."""
    waits: dict[tuple[str, str], list[float]] = {}
    for each in waiting():
        if each.error is not None and each.until is not None:
            waits.setdefault((each.component, each.error), []).append(each.until)
    moment = time.monotonic()
    return [
        Pause(model, len(ends), error, max(0.0, min(ends) - moment))
        for (model, error), ends in waits.items()
    ]


@dataclass(frozen=True)
class RunStatus:
    """A run at one moment; counts include what earlier sessions finished.

    ``pass_1`` is None before the first verdict. ``running`` begins with the slowest. ``left`` is
    how many seconds the rest will take at this rate, and ``stopping`` why nothing more is started.
    """

    planned: int
    done: int
    failed: int
    running: list[RunningSimulation]
    pass_1: Estimate | None
    cost: float | None
    tokens: int
    elapsed: float
    left: float | None
    stopping: str | None
    time_limit: float | None
    nodes: Mapping[str, int] = field(default_factory=dict)
    """The number of simulations on each machine, where they are not threads of this process."""
    incidents: Sequence[str] = ()
    """Sentences about worker processes that died or were refused, the latest last."""
    pauses: Sequence["Pause"] = ()
    """The models whose calls wait to be repeated."""

    @property
    def grace(self) -> float | None:
        """At most how long the running simulations can still take."""
        if self.time_limit is None or not self.running:
            return None
        return max(0.0, self.time_limit - self.running[-1].seconds)


class RunProgress:
    """Keeps count of a run; ``status`` may be asked from any thread."""

    def __init__(self, planned: int, time_limit: float | None = None) -> None:
        self.planned = planned
        self.time_limit = time_limit
        self.stopping: str | None = None
        # Where tasks stop at their first failure, those that pass have more trials than others.
        self.trials_for_pass_1: int | None = None
        self.ran = 0
        self.cost: float | None = 0.0
        self.tokens = 0
        self.nodes: Callable[[], Mapping[str, int]] = dict
        self.incidents: list[str] = []
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self.lines: dict[Simulation, Outcome] = {}
        self._running: dict[Simulation, float] = {}

    def recall(self, line: Outcome) -> None:
        """Count what an earlier session finished."""
        with self._lock:
            self._count(line)

    def start(self, simulation: Simulation) -> None:
        """Count a simulation as running."""
        with self._lock:
            self._running[simulation] = time.monotonic()

    def finish(self, line: Outcome) -> None:
        """Count a simulation as finished."""
        with self._lock:
            self._running.pop(line.simulation, None)
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

    def status(self) -> RunStatus:
        """Return the run as it is now."""
        elapsed, left = self.times()
        with self._lock:
            lines = list(self.lines.values())
        failed = sum(line.status in NO_VERDICT_STATUSES for line in lines)
        return RunStatus(
            planned=self.planned,
            done=len(lines) - failed,
            failed=failed,
            running=self.running(),
            pass_1=_pass_1(lines, self.trials_for_pass_1),
            cost=self.cost,
            tokens=self.tokens,
            elapsed=elapsed,
            left=left,
            stopping=self.stopping,
            time_limit=self.time_limit,
            nodes=self.nodes(),
            incidents=tuple(self.incidents),
            pauses=pauses(),
        )

    def running(self) -> list[RunningSimulation]:
        """Return the simulations that are under way, the slowest first."""
        moment = time.monotonic()
        with self._lock:
            running = dict(self._running)
        found = (RunningSimulation(one, moment - since) for one, since in running.items())
        return sorted(found, key=lambda each: -each.seconds)

    def times(self) -> tuple[float, float | None]:
        """Return how many seconds the session has taken, and how many the rest will take."""
        elapsed = time.monotonic() - self._began
        with self._lock:
            missing = self.planned - len(self.lines)
        return elapsed, elapsed / self.ran * missing if self.ran else None


def _pass_1(lines: Sequence[Outcome], trials: int | None) -> Estimate | None:
    """Estimate pass^1, from the first trials only if tasks stop at their first failure."""
    results = (
        ((line.domain, line.task_id), line.passed)
        for line in lines
        if trials is None or line.trial < trials
    )
    found = estimate([*count_trials(results).values()])
    return None if found.value is None else found


Display = Callable[[RunProgress], AbstractContextManager[object]]
"""Shows a run for as long as the context is open."""


@contextmanager
def publish_progress(
    folder: Path, progress: RunProgress, benchmark: Benchmark, secrets: Secrets
) -> Iterator[None]:
    """While the context is open, write into the folder what is going on."""
    ended, before = threading.Event(), complaints.count

    def in_flight(running: RunningSimulation) -> InFlight:
        one = running.simulation
        said = _ask(benchmark.last_said, one)
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
        if ended.wait(_EVERY):
            return
        pause, talks = 0.0, TalkFiles(folder, secrets)
        try:
            while not ended.wait(pause):
                began = time.thread_time()
                running = progress.running()
                talks.write(
                    {one: _ask(benchmark.messages_so_far, one) or () for one, *_ in running}
                )
                elapsed, left = progress.times()
                live: LiveRun = {
                    "pid": os.getpid(),
                    "at": now(),
                    "cost": progress.cost or 0.0,
                    "tokens": progress.tokens,
                    "rate_limits": complaints.count - before,
                    "in_flight": [in_flight(each) for each in running],
                    "elapsed": elapsed,
                    "left": left,
                }
                publish(folder, live)
                pause = max(_EVERY, _REST * (time.thread_time() - began))
        finally:
            withdraw(folder)
            talks.close()

    thread = threading.Thread(target=keep_up, daemon=True, name="maseval-live")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _ask(question: Callable[[str, int], T | None], one: Simulation) -> T | None:
    try:
        return question(one.task_id, one.trial)
    except Exception:  # a benchmark's own, read while its agents write
        return None
