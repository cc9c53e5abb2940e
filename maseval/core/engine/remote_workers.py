"""RemoteWorkers: repetitions are sent to processes, and their results collected.

A process that dies takes all its repetitions with it, and one of them may be the reason. So each of
them is run again in a process of its own: one that kills its process every time is found this way
and given up, and the others are not harmed again.
"""

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, NamedTuple, Protocol

from maseval.core.engine.engines import Finished, Job, WorkerEvent, WorkersUnavailableError
from maseval.core.engine.parcel import (
    Equipment,
    WorkerExceptionError,
    WorkResult,
    pack,
    pack_order,
    pack_run,
    unpack,
)
from maseval.core.engine.repetition import Repetition, RepetitionResult
from maseval.core.engine.worker import Begun, Place, Unreadable
from maseval.core.exceptions import ConfigurationError, MASEvalError, WorkerDiedError
from maseval.core.words import count_of

# Between two looks at whether the run is stopping.
_LONGEST_WAIT = 0.5
# A process that has not given up what is late after so many more seconds stands still itself.
_WAIT_FOR_LATE = 60.0
# A process that dies before it can do anything says that the next one will as well.
_MOST_FAILED_STARTS = 5
# A machine that goes down says nothing of what ran on it; but nobody is carried on for ever.
_MOST_MOVES = 10

Order = tuple[int, bytes]
"""A number of our own, and what ``pack_order`` makes of a repetition."""
BEGUN = 0


class NodeMismatchError(ConfigurationError):
    """A machine of the cluster has other data."""


class Handle(Protocol):
    """The way to one worker process."""

    needs_equipment: bool
    """False for one that gets it with its only order."""

    def begin(self, equipment: bytes, room: int) -> None:
        """Equip it for so many repetitions at once; its answer has the number ``BEGUN``."""

    def run(self, orders: Sequence[Order]) -> None:
        """Send orders, beside those that it has; each is answered with its number."""

    def stop(self) -> None:
        """Say that the run is stopping."""

    def kill(self) -> None:
        """End the process at once."""


class Answer(NamedTuple):
    """The bytes that a process has sent."""

    handle: Handle
    number: int
    data: bytes


class Lost(NamedTuple):
    """A process that does not answer any more, and what is known of it."""

    handle: Handle
    why: str
    machine_down: bool = False
    deaths: int = 1
    """How often it died, where it was begun again before anybody was told."""


class Fleet(Protocol):
    """Starts worker processes, here or on other machines, and brings their answers."""

    cores: int
    """The number of cores of all machines together."""

    def equip(self, equipment: Equipment) -> Equipment:
        """Return the equipment with what its processes need besides."""

    def start(self, room: int) -> Handle:
        """Return a process for so many repetitions at once; it may have served another run."""

    def start_alone(self, equipment: bytes) -> Handle:
        """Return a process for one repetition, which may kill it."""

    def wait(self, timeout: float) -> None:
        """Return when there is something to take, or after so many seconds."""

    def take(self) -> list[Answer | Lost]:
        """Return what has come; a process that is lost brings nothing more."""

    def keep(self, handles: Sequence[Any]) -> None:
        """Take back processes that have nothing to do."""


@dataclass(eq=False)
class Assignment:
    """One repetition that has been submitted, in whichever process it is."""

    repetition: Repetition
    number: int
    deaths: int = 0
    """The number of processes that died around it."""
    moves: int = 0
    """The number of machines that went down under it."""
    since: float | None = None
    """The time at which it was begun in its process; None while it waits for one."""

    def is_late(self) -> bool:
        limit = self.repetition.timeout
        if limit is None or self.since is None:
            return False
        return time.monotonic() - self.since >= limit + _WAIT_FOR_LATE


@dataclass(eq=False)
class _Process:
    """A worker process, and what it is working on."""

    handle: Handle
    room: int
    alone: bool = False
    place: Place | None = None
    """None until it is ready."""
    work: dict[int, Assignment] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(self.place or "a worker process")

    @property
    def node(self) -> str:
        return self.place.node if self.place else ""


@dataclass(frozen=True)
class Limits:
    """The number of processes, of deaths around a repetition, and of seconds for the start.

    Without a number of processes there is one for each core, and with ``force`` there may be more.
    """

    processes: int | None
    most_deaths: int
    start_seconds: float
    force: bool = False

    def count(self, cores: int) -> int:
        wanted = self.processes or cores
        return wanted if self.force else min(wanted, cores)


class RemoteWorkers:
    """Up to ``size`` repetitions in several processes, here or on other machines."""

    def __init__(
        self, job: Job, limits: Limits, open_fleet: Callable[[], AbstractContextManager[Fleet]]
    ) -> None:
        self.size = job.size
        self._job, self._limits, self._open_fleet = job, limits, open_fleet
        self._numbers = count(BEGUN + 1)
        self._assignments: dict[Repetition, Assignment] = {}
        self._waiting, self._suspects = deque[Assignment](), deque[Assignment]()
        self._processes: dict[Handle, _Process] = {}
        self._finished: deque[Finished] = deque()
        self._failed_starts = 0
        self._said_stop = False
        self._count = 0
        self._until: float | None = None
        """When the first process must be ready; None once there was one."""
        self._fleet: Fleet
        self._room: int
        self._equipment: bytes
        self._checksums: Mapping[str, str]

    @contextmanager
    def open(self) -> Iterator[None]:
        with self._open_fleet() as self._fleet:
            try:
                yield
            finally:
                self._end_all()

    def submit(self, repetition: Repetition) -> None:
        if not self._count:  # a run that is complete needs no process
            self._begin()
        assignment = Assignment(repetition, next(self._numbers))
        self._assignments[repetition] = assignment
        # It is sent with others, when the driver has nothing else to do.
        self._waiting.append(assignment)

    def wait(self, timeout: float | None) -> None:
        self._hand_out()
        if not self._finished:
            self._fleet.wait(_LONGEST_WAIT if timeout is None else min(timeout, _LONGEST_WAIT))

    def take(self) -> Finished | None:
        if not self._finished and self._processes:
            self._attend()
        return self._finished.popleft() if self._finished else None

    def give_up(self, repetition: Repetition) -> RepetitionResult | None:
        # A process gives up by itself what is late, unless it stands still.
        assignment = self._assignments.get(repetition)
        if assignment is None or not assignment.is_late():
            return None
        holder = next(one for one in self._processes.values() if assignment.number in one.work)
        del holder.work[assignment.number], self._assignments[repetition]
        self._lose(Lost(holder.handle, f"it stood still for {_WAIT_FOR_LATE:g} s"))
        return repetition.outcome(repetition.context.timeout_error(), usage=repetition.abandon())

    def _begin(self) -> None:
        job = self._job
        most = self._limits.count(self._fleet.cores)
        self._count = max(1, min(most, self.size, job.repetitions))
        self._room = math.ceil(min(self.size, job.repetitions) / self._count)
        self._checksums = job.setting.benchmark.data_checksums(job.domains)
        self._equipment = pack(self._fleet.equip(Equipment(pack_run(job.setting), job.domains)))
        self._until = time.monotonic() + self._limits.start_seconds
        for _ in range(self._count):
            self._start()

    def _start(self, *, alone: bool = False) -> _Process:
        fleet = self._fleet
        handle = fleet.start_alone(self._equipment) if alone else fleet.start(self._room)
        process = _Process(handle, 1 if alone else self._room, alone)
        self._processes[handle] = process
        if handle.needs_equipment:
            handle.begin(self._equipment, process.room)
        else:
            process.place = Place(0, "the cluster")
        return process

    def _end_all(self) -> None:
        """Keep the processes that have nothing to do, for the next run, and end all others."""
        idle = [one for one in self._processes.values() if one.place and not one.work]
        self._fleet.keep([one.handle for one in idle if not one.alone])
        for process in self._processes.values():
            if process not in idle or process.alone:
                process.handle.kill()
        self._processes.clear()

    def _hand_out(self) -> None:
        """Send what waits: all for one process together, so that each begins before any goes on."""
        sent: dict[_Process, list[Assignment]] = defaultdict(list)
        alone = [one for one in self._processes.values() if one.alone]
        for _ in range(min(len(self._suspects), self._count - len(alone))):
            alone.append(self._start(alone=True))
        for process in alone:
            if self._suspects and process.place and not process.work:
                sent[process].append(self._give(process, self._suspects.popleft()))
        ready = [one for one in self._processes.values() if one.place and not one.alone]
        while self._waiting and ready:
            process = min(ready, key=lambda one: len(one.work))
            if len(process.work) >= process.room:
                break
            sent[process].append(self._give(process, self._waiting.popleft()))
        for process, given in sent.items():
            process.handle.run([(each.number, pack_order(each.repetition)) for each in given])

    def _give(self, process: _Process, assignment: Assignment) -> Assignment:
        process.work[assignment.number] = assignment
        assignment.since = time.monotonic()
        return assignment

    def _attend(self) -> None:
        """See to what has come from the processes."""
        if not self._said_stop and self._job.setting.stopping():
            self._said_stop = True
            for process in self._processes.values():
                process.handle.stop()
        for event in self._fleet.take():
            if event.handle not in self._processes:
                continue
            if isinstance(event, Lost):
                self._lose(event)
            elif event.number == BEGUN:
                self._welcome(self._processes[event.handle], unpack(event.data))
            else:
                self._receive(self._processes[event.handle], event)
        if self._until is not None and time.monotonic() > self._until:
            self._fail(
                f"no worker process was ready after {self._limits.start_seconds:g} s; is the "
                "machine busy, or out of memory?"
            )

    def _welcome(self, process: _Process, begun: Begun) -> None:
        process.place, self._until = begun.place, None
        if begun.problem:
            self._fail(f"{process} cannot begin: {begun.problem}")
        for name in sorted({*begun.checksums, *self._checksums}):
            there, here = (one.get(name, "(none)") for one in (begun.checksums, self._checksums))
            if there != here:
                self._note("refused", process, f"{process} has other data")
                self._end_all()
                raise NodeMismatchError(
                    f"node {process.node} is refused: {name} is {there} there and {here} here; "
                    "fetch the data of the same release there, and verify it"
                )
        self._failed_starts = 0
        self._note("started", process, f"{process} started")

    def _receive(self, process: _Process, answer: Answer) -> None:
        assignment = process.work.pop(answer.number, None)
        if process.alone:
            del self._processes[process.handle]
            process.handle.kill()
        if assignment is None:  # it was given up in the meantime
            return
        result: WorkResult | Unreadable = unpack(answer.data)
        if isinstance(result, Unreadable):
            self._end(assignment, WorkerExceptionError(result.why))
            return
        del self._assignments[assignment.repetition]
        self._finished.append((assignment.repetition, result.to_result(assignment.repetition)))

    def _lose(self, lost: Lost) -> None:
        process = self._processes.pop(lost.handle)
        process.handle.kill()
        if process.place is None:
            self._failed_starts += not lost.machine_down
            if self._failed_starts >= _MOST_FAILED_STARTS:
                self._fail(
                    f"worker processes die as soon as they start, {self._failed_starts} in a row: "
                    f"{lost.why}"
                )
        else:
            what = f"{process.node} went down" if lost.machine_down else f"{process} died"
            lost_with_it = count_of(len(process.work), "simulation")
            self._note("died", process, f"{what} with {lost_with_it} in it: {lost.why}")
        for assignment in process.work.values():
            self._run_again(assignment, process, lost)
        if not process.alone:
            self._start()

    def _run_again(self, assignment: Assignment, process: _Process, lost: Lost) -> None:
        assignment.since = None
        if lost.machine_down:
            assignment.moves += 1
        else:
            assignment.deaths += lost.deaths
        if assignment.deaths < self._limits.most_deaths and assignment.moves < _MOST_MOVES:
            (self._suspects if assignment.deaths else self._waiting).append(assignment)
            return
        repetition, times = assignment.repetition, assignment.deaths + assignment.moves
        name = f"task {str(repetition.task.id)!r}, repetition {repetition.repeat_idx}"
        self._note("given_up", process, f"gave up on {name}: its process died {times} times")
        error = WorkerDiedError(
            f"the process in which it took place died {times} times, the last time on "
            f"{process.node}: {lost.why}. Find out what kills the process there: too little "
            "memory, or a library that crashes"
        )
        self._end(assignment, error)

    def _end(self, assignment: Assignment, error: MASEvalError) -> None:
        repetition = assignment.repetition
        del self._assignments[repetition]
        repetition.context.registry.close()
        self._finished.append((repetition, repetition.outcome(error, "setup")))

    def _fail(self, why: str) -> None:
        self._end_all()
        raise WorkersUnavailableError(why)

    def _note(
        self, kind: Literal["started", "died", "refused", "given_up"], process: _Process, text: str
    ) -> None:
        self._job.note(WorkerEvent(kind, process.node, text))
