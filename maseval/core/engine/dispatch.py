"""Worker processes as the driver sees them, and the repetitions that each is given.

A process that dies takes all its simulations with it, and one of them may be the reason. They are
run again in quarantine, each alone: a repetition that kills its process every time is found this
way and given up, and the others are not harmed again.
"""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from maseval.core.engine.parcel import order_of, pack_for_worker
from maseval.core.engine.repetition import Repetition
from maseval.core.engine.worker import Place
from maseval.core.exceptions import MASEvalError

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


class Backlog:
    """Assignments that wait for a process; one has ``room`` for so many, or for one suspect."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._free, self._suspects = deque[Assignment](), deque[Assignment]()

    def add(self, assignment: Assignment) -> None:
        (self._suspects if assignment.deaths else self._free).append(assignment)

    @property
    def is_empty(self) -> bool:
        return not self._free and not self._suspects

    @property
    def suspects(self) -> int:
        return len(self._suspects)

    def next_for(self, present: Mapping[int, Assignment], *, quarantine: bool) -> Assignment | None:
        """Take the next assignment for a process with these; None if there is no room."""
        waiting, room = (self._suspects, 1) if quarantine else (self._free, self.room)
        return waiting.popleft() if waiting and len(present) < room else None


class ProcessLostError(MASEvalError):
    """The process does not answer any more; the text says what is known of it."""

    @property
    def machine_down(self) -> bool:
        return "node has died" in self.message


class Carrier(Protocol):
    """The way to worker processes: starts and ends them, and carries calls and replies.

    A process is whatever ``start`` returns, a call whatever ``call`` returns.
    """

    cores: int
    """The number of cores of all machines together."""

    def start(self) -> Any:
        """Start a process with a ``Worker``."""

    def share(self, value: object) -> Any:
        """Return what to give to many calls in place of a value."""

    def call(self, process: Any, method: str, *args: object) -> Any:
        """Begin to call a method of the worker; several may be under way."""

    def wait(self, calls: Sequence[Any], timeout: float) -> Sequence[Any]:
        """Return the calls that are over, once there is one or the time is."""

    def reply(self, call: Any, timeout: float | None = None) -> Any:
        """Return the reply; raise ``ProcessLostError``, or ``TimeoutError``."""

    def kill(self, process: Any) -> None:
        """End a process at once."""

    def is_down(self, node_id: str) -> bool:
        """Return True if a machine has gone down."""


class Process:
    """A worker process; ``pending`` is the call whose reply is awaited, if there is one."""

    def __init__(self, carrier: Carrier, *, quarantine: bool) -> None:
        self._carrier = carrier
        self._actor = carrier.start()
        self.quarantine = quarantine
        self.is_ready = False
        self.place = Place("", "", 0)
        self.assignments: dict[int, Assignment] = {}
        self.pending: Any = None

    def __str__(self) -> str:
        return f"process {self.place.process} on {self.place.node}"

    def ask(self, method: str, *args: object) -> None:
        """Call a method whose reply is awaited from now on."""
        self.pending = self.call(method, *args)

    def call(self, method: str, *args: object) -> Any:
        return self._carrier.call(self._actor, method, *args)

    def reply(self) -> Any:
        """Take the reply to the pending call, which must be there; none is pending afterwards."""
        reply = self._carrier.reply(self.pending)
        self.pending = None
        return reply

    def give_up(self, assignment: Assignment, seconds: float) -> bytes | None:
        """Give up a late assignment and return what it has done so far; None if it is finished."""
        call = self.call("give_up", assignment.number)
        done: bytes | None = self._carrier.reply(call, timeout=seconds)
        return done

    def kill(self) -> None:
        self._carrier.kill(self._actor)
        self._actor = self.pending = None


# Of a process, if nothing is finished there: in seconds, and a second over all processes.
_SHORTEST_WAIT, _MOST_REPLIES = 1.0, 50
_WAY_FOR_TASK = "give tasks and agent data that consist of plain data"


def hand_out(processes: Sequence[Process], backlog: Backlog) -> dict[Process, list[Assignment]]:
    """Give each assignment that waits to the working process with the fewest that has room."""
    given: dict[Process, list[Assignment]]
    given = {one: [] for one in processes if one.is_ready}
    while not backlog.is_empty:
        for process in sorted(given, key=lambda one: len(one.assignments)):
            if new := backlog.next_for(process.assignments, quarantine=process.quarantine):
                process.assignments[new.number] = new
                given[process].append(new)
                break
        else:
            break
    return given


def send(given: Mapping[Process, Sequence[Assignment]]) -> None:
    """Send assignments to processes, with the call that asks what it has finished if possible.

    All for one process go together, so that each of them begins before any continues.
    """
    patience = max(_SHORTEST_WAIT, len(given) / _MOST_REPLIES)
    for process, assignments in given.items():
        if process.pending is None:
            process.ask("collect", pack_orders(assignments), patience)
        elif assignments:
            process.call("submit", pack_orders(assignments))
        for assignment in assignments:
            assignment.since = time.monotonic()


def pack_orders(assignments: Sequence[Assignment]) -> list[tuple[int, bytes]]:
    """Pack each order by itself: its number is what a process can tell of one it cannot read."""
    named = ((f"task {str(each.repetition.task.id)!r}", each) for each in assignments)
    return [
        (each.number, pack_for_worker(name, order_of(each.repetition), _WAY_FOR_TASK))
        for name, each in named
    ]
