"""Engines, which say where the repetitions of a run take place, and their workers.

The default is the calling thread, or threads of this process. Installed packages offer other
engines by an entry point in the group ``maseval.engines``; what one must do is ``Engine``.
"""

import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from maseval.core.engine.process_settings import ended_by_standstill, many_threads
from maseval.core.engine.repetition import Repetition, RepetitionResult, RunSetting
from maseval.core.exceptions import ConfigurationError, MASEvalError, WorkerDiedError
from maseval.core.lazy import find_entry_points

RunRepetition = Callable[[Repetition], RepetitionResult]
Finished = tuple[Repetition, RepetitionResult]


@dataclass(frozen=True)
class WorkerEvent:
    """Something that happened to a worker, in a sentence."""

    kind: Literal["started", "died", "given_up"]
    node: str
    """The machine it is on."""
    text: str


NoteEvent = Callable[[WorkerEvent], None]


class WorkersUnavailableError(MASEvalError, RuntimeError):
    """No worker can be started, be it a thread or a process, or none stays alive."""


class Workers(Protocol):
    """Runs repetitions, each until its deadline at most.

    Waiting and taking are two steps, so that Ctrl-C while waiting loses no finished result.
    """

    size: int

    def open(self) -> AbstractContextManager[None]:
        """Return the context around all other calls; nothing is started afterwards."""

    def submit(self, repetition: Repetition) -> None:
        """Start a repetition; at most ``size`` may be unfinished."""

    def wait(self) -> None:
        """Return when a repetition has finished or is late, or after a second or so."""

    def take(self) -> Finished | None:
        """Return a repetition that has finished, or one that is late with what it has done."""


class CallingThread:
    """Runs one repetition at a time, in the thread that waits for it."""

    size = 1

    def __init__(self, run: RunRepetition) -> None:
        self._run = run
        self._work: Repetition | None = None
        self._finished: Finished | None = None

    def open(self) -> AbstractContextManager[None]:
        return ended_by_standstill()

    def submit(self, repetition: Repetition) -> None:
        self._work = repetition

    def wait(self) -> None:
        repetition, self._work = self._work, None
        if repetition:
            self._finished = repetition, self._run(repetition)

    def take(self) -> Finished | None:
        finished, self._finished = self._finished, None
        return finished


# The longest that Ctrl-C may go unnoticed while nothing finishes.
_WAKE_SECONDS = 1.0


class Threads:
    """Runs up to ``size`` repetitions at once.

    The threads are daemons: one that hangs forever blocks neither the run nor the exit of the
    process. All that are needed are started before the first works: to start one takes two turns of
    the interpreter, which come late when hundreds want it.
    """

    def __init__(self, run: RunRepetition, size: int) -> None:
        self.size = size
        self._run = run
        # Unlike a SimpleQueue it wakes a thread for each repetition at once. There each wakes up
        # when the last has its turn, and is then behind all others that want theirs.
        self._work: queue.Queue[Repetition | None] = queue.Queue()
        self._finished: deque[Finished] = deque()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._threads = 0
        self._crew: dict[threading.Thread, Repetition] = {}
        self._unfinished: dict[Repetition, float] = {}  # with the moment at which each is late
        self._held: deque[Repetition] = deque()

    @contextmanager
    def open(self) -> Iterator[None]:
        with many_threads(self.size):
            try:
                yield
            finally:
                self._work.put(None)

    def submit(self, repetition: Repetition) -> None:
        limit = math.inf if repetition.timeout is None else repetition.timeout
        self._unfinished[repetition] = time.monotonic() + limit
        # It waits until its thread is there as well: see the class.
        if len(self._unfinished) > self._threads:
            self._held.append(repetition)
        else:
            self._work.put(repetition)

    def _start_thread(self) -> None:
        try:
            threading.Thread(target=self._serve, daemon=True, name="maseval-worker").start()
            self._threads += 1
        except RuntimeError as error:
            raise WorkersUnavailableError(
                f"this machine allows no more threads ({error}): {self._threads} run, {self.size} "
                f"were asked for; run {max(1, self._threads // 2)} at once, as agents and tools "
                "need some too, or allow more (on Linux `ulimit -u`, or the container's limit)"
            ) from error

    def _serve(self) -> None:
        thread = threading.current_thread()
        while (repetition := self._work.get()) is not None:
            self._crew[thread] = repetition
            if not repetition.context.abandoned:
                self._finished.append((repetition, self._run(repetition)))
                self._bell.put(None)
            if repetition.context.abandoned:
                break  # another thread has taken this one's place
        else:
            self._work.put(None)  # for the next thread
        self._crew.pop(thread, None)

    def _report_dead(self) -> None:
        """Finish the work of threads that have died, as they do when memory runs out."""
        for thread in [thread for thread in [*self._crew] if not thread.is_alive()]:
            repetition = self._crew.pop(thread)
            self._threads -= 1
            finished = [ended for ended, _ in [*self._finished]]
            if repetition in self._unfinished and repetition not in finished:
                error = WorkerDiedError(
                    "the thread in which it took place died, as happens when memory runs out; give "
                    "the run more memory, or run fewer simulations at once"
                )
                self._finished.append((repetition, repetition.outcome(error, "engine")))

    def wait(self) -> None:
        self._begin()
        left = min(self._unfinished.values(), default=math.inf) - time.monotonic()
        with suppress(queue.Empty):
            # A signal that arrives just before the thread blocks is handled only when it wakes up.
            self._bell.get(timeout=max(0.0, min(left, _WAKE_SECONDS)))
            while True:  # handle all finished repetitions in the same round
                self._bell.get_nowait()
        if not self._finished:
            self._report_dead()

    def _begin(self) -> None:
        """Begin what was submitted, with as many threads as it takes."""
        while self._threads < min(len(self._unfinished), self.size):
            self._start_thread()
        while self._held:
            self._work.put(self._held.popleft())

    def take(self) -> Finished | None:
        while self._finished:
            repetition, outcome = self._finished.popleft()
            if not repetition.context.abandoned:
                del self._unfinished[repetition]
                return repetition, outcome
        return self._take_late()

    def _take_late(self) -> Finished | None:
        """Give up a repetition that is late; another thread takes the place of its own."""
        moment = time.monotonic()
        for repetition, due in self._unfinished.items():
            # One that is over by now has only yet to be told.
            if due <= moment and repetition.context.is_expired and repetition not in self._held:
                del self._unfinished[repetition]
                self._threads -= 1
                return repetition, repetition.given_up()
        return None


GROUP = "maseval.engines"
DEFAULT, PROCESSES, RAY = "threads", "processes", "ray"
_OURS = {
    DEFAULT: f"{__name__}:ThreadEngine",
    PROCESSES: "maseval.core.engine.processes:ProcessEngine",
}


class Job(NamedTuple):
    """A run that needs workers."""

    setting: RunSetting
    """The part that all its repetitions share."""
    size: int
    """The number of repetitions that may take place at once."""
    repetitions: int
    """The number of all repetitions."""
    timed: bool
    """True if any of them has a deadline: it can then be given up while it runs."""
    domains: frozenset[str]
    """The domains of its tasks; empty for a benchmark that has none."""
    run: RunRepetition
    """Runs a repetition in this process, in the thread that calls it."""
    note: NoteEvent = lambda event: None
    """Tells the callbacks what became of a worker; only for the thread that runs the benchmark."""


@runtime_checkable
class Engine(Protocol):
    """The place where repetitions run; one engine may serve many runs, one after the other.

    One whose workers take long to start may have ``shared(size)``: a context for several runs, each
    of up to so many repetitions at once, which use the same workers. It may start them at once.
    """

    def workers(self, job: Job) -> Workers:
        """Return the workers of one run; raises if it cannot be run here."""


class ThreadEngine:
    """Threads of this process; one repetition at a time needs none."""

    def workers(self, job: Job) -> Workers:
        # A repetition that hangs can only be abandoned from another thread.
        if job.size == 1 and not job.timed:
            return CallingThread(job.run)
        return Threads(job.run, job.size)


class CallingThreadEngine(ThreadEngine):
    """The calling thread, also for what has a deadline: a person may have to type there."""

    def workers(self, job: Job) -> Workers:
        return CallingThread(job.run)


AnyEngine = str | Engine
"""An engine, or the name of one."""


def engine_of(engine: AnyEngine, **options: object) -> Engine:
    """Return the engine itself; one that is named is made with the options."""
    made = _find_engine(engine)(**options) if isinstance(engine, str) else engine
    if not isinstance(made, Engine):
        text = f"engine is {made!r}; give the name of an engine, or an object with workers(job)"
        raise ConfigurationError(text)
    return made


def _find_engine(name: str) -> Callable[..., object]:
    from importlib.metadata import EntryPoint

    known = {ours: EntryPoint(ours, place, GROUP) for ours, place in _OURS.items()}
    if name not in known:  # to look among what is installed takes longer than all else here
        known = {entry_point.name: entry_point for entry_point in find_entry_points(GROUP)} | known
    if name not in known:
        import difflib

        alike = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {alike[0]!r}? " if alike else ""
        raise ConfigurationError(
            f"engine is {name!r}; {hint}known engines: {', '.join(sorted(known))}. Install a "
            f"package that has an entry point of this name in the group {GROUP!r}"
        )
    make: Callable[..., object] = known[name].load()
    return make


def check_engine_options(
    engine: AnyEngine, ray_address: str | None, processes: int | None, *, force: bool = False
) -> None:
    """Raise if an option is given that is for another engine."""
    for name, value, engines in (
        ("ray_address", ray_address, (RAY,)),
        ("processes", processes, (PROCESSES, RAY)),
        ("force", force or None, (PROCESSES, RAY)),
    ):
        if value is not None and engine not in engines:
            raise ConfigurationError(
                f"{name} is {value!r}, but engine is {engine!r}; it is for engine "
                f"{' or '.join(map(repr, engines))}"
            )
