"""Worker processes as the driver sees them, and the repetitions that each is given.

A process that dies takes all its simulations with it, and one of them may be the reason. They are
run again in quarantine: after one death with few others, after two alone. A repetition that kills
its process every time is found this way and given up; the others are not harmed a third time.
"""

import math
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType
from typing import Any

from maseval.core.engine.repetition import Repetition
from maseval.core.engine.shipping import WorkOrder
from maseval.core.exceptions import MASEvalError
from maseval.core.task.task import RepetitionKey
from maseval.interface.ray.parcel import WorkerReply, pack, pack_for_worker, unpack_reply
from maseval.interface.ray.worker import Place, Worker

# A machine that goes down says nothing of what ran on it; but nobody is carried on for ever.
_MOST_MOVES = 10


@dataclass(eq=False)
class Assignment:
    """One repetition that has been submitted, in whichever process it is."""

    number: int
    repetition: Repetition
    deaths: int = 0
    """The number of processes that died around it."""
    moves: int = 0
    """The number of machines that went down under it."""
    since: float | None = None
    """The time at which it was begun in its process; None while it waits for one."""

    @property
    def key(self) -> RepetitionKey:
        """The task and the number of the repetition."""
        return str(self.repetition.task.id), self.repetition.repeat_idx

    @property
    def quarantine_level(self) -> int:
        """Zero for one without blame, else the quarantine it belongs to."""
        return min(self.deaths, 2)

    @property
    def is_late(self) -> bool:
        """True if its time is over in its present process; it may have been begun again."""
        limit = self.repetition.timeout
        if limit is None or self.since is None:
            return False
        return time.monotonic() - self.since >= limit

    def count_death(self, *, machine_down: bool) -> None:
        """Take note that its process died, and that it must be begun again."""
        self.since = None
        if machine_down:
            self.moves += 1
        else:
            self.deaths += 1

    def is_hopeless(self, most_deaths: int) -> bool:
        return self.deaths >= most_deaths or self.moves >= _MOST_MOVES


@dataclass
class Backlog:
    """Assignments that wait for a process, each kind in order."""

    room: int
    """The number that a process holds, if none of them is suspected."""
    _waiting: tuple[deque[Assignment], ...] = field(
        default_factory=lambda: (deque[Assignment](), deque[Assignment](), deque[Assignment]())
    )

    def add(self, assignment: Assignment) -> None:
        self._waiting[assignment.quarantine_level].append(assignment)

    @property
    def is_empty(self) -> bool:
        return not any(self._waiting)

    @property
    def suspects(self) -> int:
        """The number that wait for quarantine."""
        return len(self._waiting[1]) + len(self._waiting[2])

    def next_for(self, present: Mapping[int, Assignment], *, quarantine: bool) -> Assignment | None:
        """Take the next assignment for a process with these; None if there is no room."""
        levels = [0]
        if quarantine:
            # Those with equal blame are put together, so that the next death tells more.
            levels = [each.quarantine_level for each in present.values()][:1] or [2, 1]
        for level in levels:
            if self._waiting[level] and len(present) < self._limit(level):
                return self._waiting[level].popleft()
        return None

    def _limit(self, level: int) -> int:
        return (self.room, max(1, math.isqrt(self.room)), 1)[level]


# Beside the one that waits: submits, and what is given up.
_CALLS_AT_ONCE = 8


class Stage(Enum):
    """The progress of a process."""

    STARTING = "starting"
    EQUIPPING = "equipping"
    WORKING = "working"


class ProcessLostError(MASEvalError):
    """The process does not answer any more; the text says what Ray knows of it."""

    @property
    def machine_down(self) -> bool:
        return "node has died" in self.message


class Process:
    """A worker process; ``pending`` is the call whose reply is awaited, if there is one."""

    def __init__(self, ray: ModuleType, *, quarantine: bool) -> None:
        actor = ray.remote(Worker).options(
            num_cpus=0,  # it waits for models most of the time
            max_restarts=0,
            max_concurrency=_CALLS_AT_ONCE,
            scheduling_strategy="SPREAD",
        )
        self._ray = ray
        self._actor = actor.remote()
        self._sent_along: Sequence[Assignment] = ()
        self._unconfirmed: dict[Any, Sequence[Assignment]] = {}
        self._unread: list[tuple[Sequence[Assignment], str]] = []
        self.quarantine = quarantine
        self.stage = Stage.STARTING
        self.place = Place("", "", 0)
        self.assignments: dict[int, Assignment] = {}
        self.pending = self._actor.describe.remote()

    def __str__(self) -> str:
        return f"process {self.place.process} on {self.place.node}"

    def equip(self, modules: Any, equipment: bytes, limits: Any) -> None:
        self.stage = Stage.EQUIPPING
        self.pending = self._actor.begin.remote(modules, equipment, limits)

    def collect(
        self, patience: float, assignments: Sequence[Assignment] = (), orders: bytes = b""
    ) -> None:
        """Ask for what it will have finished within ``patience`` seconds, and send orders along."""
        self._sent_along = assignments
        self.pending = self._actor.collect.remote(orders, patience)

    def submit(self, assignments: Sequence[Assignment], orders: bytes) -> None:
        self._unconfirmed[self._actor.submit.remote(orders)] = assignments

    def stop(self) -> None:
        self._actor.stop.remote()

    def reply(self) -> Any:
        """Take the reply to the pending call, which must be there; none is pending afterwards."""
        with self._answering():
            reply = self._ray.get(self.pending)
        self.pending = None
        return reply

    def read_reply(self, data: bytes) -> WorkerReply:
        reply = unpack_reply(data)
        if reply.unreadable:
            self._unread.append((self._sent_along, reply.unreadable))
        return reply

    def take_unread(self) -> list[tuple[Sequence[Assignment], str]]:
        """Take the assignments that could not be read there, by call, each with the reason."""
        waiting = list(self._unconfirmed)
        if waiting:
            arrived, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
            with self._answering():
                replies = self._ray.get(arrived)
            sent = [self._unconfirmed.pop(each) for each in arrived]
            self._unread += [pair for pair in zip(sent, replies, strict=True) if pair[1]]
        unread, self._unread = self._unread, []
        return unread

    def give_up(self, assignment: Assignment, seconds: float) -> bytes | None:
        """Give up a late assignment and return what it has done so far; None if it is finished."""
        with self._answering():
            reply: bytes | None = self._ray.get(
                self._actor.give_up.remote(assignment.number), timeout=seconds
            )
            return reply

    def kill(self) -> None:
        """End it at once; it cannot be asked for anything afterwards."""
        with suppress(Exception):
            self._ray.kill(self._actor, no_restart=True)
        self._actor = self.pending = None
        self._unconfirmed = {}

    @contextmanager
    def _answering(self) -> Iterator[None]:
        errors = self._ray.exceptions
        try:
            yield
        except errors.GetTimeoutError:
            raise
        except (errors.RayError, ConnectionError) as error:
            raise ProcessLostError(_in_a_line(error)) from error


def _in_a_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line for line in lines if "because" in line]
    return (reasons or lines or [type(error).__name__])[0]


# A call of Ray costs about as much as a small repetition, whatever it carries.
_SENT_AT_ONCE = 64
# Of a process, if nothing is finished there: in seconds, and a second over all processes.
_SHORTEST_WAIT, _MOST_REPLIES = 1.0, 50
_WAY_FOR_TASK = "give tasks and agent data that consist of plain data"


def hand_out(processes: Sequence[Process], backlog: Backlog) -> dict[Process, list[Assignment]]:
    """Give each assignment that waits to the process with the fewest that has room for it."""
    given: dict[Process, list[Assignment]] = {}
    while pair := _next_pair(processes, backlog):
        process, assignment = pair
        process.assignments[assignment.number] = assignment
        given.setdefault(process, []).append(assignment)
    return given


def _next_pair(processes: Sequence[Process], backlog: Backlog) -> tuple[Process, Assignment] | None:
    if backlog.is_empty:
        return None
    working = [one for one in processes if one.stage is Stage.WORKING]
    for process in sorted(working, key=lambda one: len(one.assignments)):
        if assignment := backlog.next_for(process.assignments, quarantine=process.quarantine):
            return process, assignment
    return None


def send(process: Process, assignments: Sequence[Assignment], patience: float) -> None:
    """Send assignments to a process, with the call that asks what it has finished if possible."""
    for first in range(0, len(assignments), _SENT_AT_ONCE):
        together = assignments[first : first + _SENT_AT_ONCE]
        orders = pack_orders(together)
        if process.pending is None:
            process.collect(patience, together, orders)
        else:
            process.submit(together, orders)
        for assignment in together:
            assignment.since = time.monotonic()
    if process.pending is None:
        process.collect(patience)


def reply_seconds(processes: int) -> float:
    """Return how long each of so many processes waits for something to finish before it replies."""
    return max(_SHORTEST_WAIT, processes / _MOST_REPLIES)


def pack_orders(assignments: Sequence[Assignment]) -> bytes:
    """Pack orders as one value: what their tasks have in common is sent once."""
    orders = [WorkOrder.of(assignment.number, assignment.repetition) for assignment in assignments]
    try:
        return pack(orders)
    except Exception:  # of whatever a task consists of: which one is it?
        for each in orders:
            pack_for_worker(f"task {str(each.task.id)!r}", each, _WAY_FOR_TASK)
        raise
