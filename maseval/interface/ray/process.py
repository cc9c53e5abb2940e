"""One worker process, as the driver sees it: how far its start is, and what is on its way there."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from types import ModuleType
from typing import Any

from maseval.core.exceptions import MASEvalError
from maseval.interface.ray.flights import Flight
from maseval.interface.ray.parcel import Reply, unpacked_reply
from maseval.interface.ray.worker import Place, Worker

# Beside the one that waits: submits, and what is given up.
_CALLS_AT_ONCE = 8


class Stage(Enum):
    """How far a process is."""

    STARTING = "starting"
    EQUIPPING = "equipping"
    WORKING = "working"


class ProcessLostError(MASEvalError):
    """The process does not answer any more; the text says what Ray knows of it."""

    @property
    def machine_down(self) -> bool:
        """Whether its whole machine is gone."""
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
        self._sent_along: Sequence[Flight] = ()
        self._unconfirmed: dict[Any, Sequence[Flight]] = {}
        self._unread: list[tuple[Sequence[Flight], str]] = []
        self.quarantine = quarantine
        self.stage = Stage.STARTING
        self.place = Place("", "", 0)
        self.flights: dict[int, Flight] = {}
        self.pending = self._actor.describe.remote()

    def __str__(self) -> str:
        return f"process {self.place.process} on {self.place.node}"

    def equip(self, modules: Any, equipment: bytes, limits: Any) -> None:
        """Send what it needs."""
        self.stage = Stage.EQUIPPING
        self.pending = self._actor.begin.remote(modules, equipment, limits)

    def collect(self, patience: float, flights: Sequence[Flight] = (), orders: bytes = b"") -> None:
        """Ask for what it will have finished within ``patience`` seconds, and send orders along."""
        self._sent_along = flights
        self.pending = self._actor.collect.remote(orders, patience)

    def submit(self, flights: Sequence[Flight], orders: bytes) -> None:
        """Send orders by themselves."""
        self._unconfirmed[self._actor.submit.remote(orders)] = flights

    def stop(self) -> None:
        """Let it know that the run is stopping."""
        self._actor.stop.remote()

    def reply(self) -> Any:
        """The reply to the pending call, which must be there; none is pending afterwards."""
        with self._answering():
            reply = self._ray.get(self.pending)
        self.pending = None
        return reply

    def understood(self, data: bytes) -> Reply:
        """A reply to ``collect``."""
        reply = unpacked_reply(data)
        if reply.unreadable:
            self._unread.append((self._sent_along, reply.unreadable))
        return reply

    def unread(self) -> list[tuple[Sequence[Flight], str]]:
        """Flights that could not be read there, by call, and why; raises if any did not arrive."""
        waiting = list(self._unconfirmed)
        if waiting:
            arrived, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
            with self._answering():
                replies = self._ray.get(arrived)
            sent = [self._unconfirmed.pop(each) for each in arrived]
            self._unread += [pair for pair in zip(sent, replies, strict=True) if pair[1]]
        unread, self._unread = self._unread, []
        return unread

    def give_up(self, flight: Flight, seconds: float) -> bytes | None:
        """What a flight that is late has done so far; None if it is finished."""
        with self._answering():
            reply: bytes | None = self._ray.get(
                self._actor.give_up.remote(flight.number), timeout=seconds
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
    told = [line for line in lines if "because" in line]
    return (told or lines or [type(error).__name__])[0]
