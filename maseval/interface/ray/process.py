"""One worker process, as the driver sees it: how far its start is, and what is on its way there."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import Enum
from types import ModuleType
from typing import Any

from maseval.core.exceptions import MASEvalError
from maseval.interface.ray.flights import Flight
from maseval.interface.ray.worker import Place, Worker

# How long a call waits in the worker for something to be finished.
_PATIENCE = 5.0
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
    """A worker process; ``pending`` is the call whose reply is awaited."""

    def __init__(self, ray: ModuleType, *, quarantine: bool) -> None:
        actor = ray.remote(Worker).options(
            num_cpus=0,  # it waits for models most of the time
            max_restarts=0,
            max_concurrency=_CALLS_AT_ONCE,
            scheduling_strategy="SPREAD",
        )
        self._ray = ray
        self._actor = actor.remote()
        self._unconfirmed: list[Any] = []
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

    def collect(self) -> None:
        """Ask for what it will have finished."""
        self.stage = Stage.WORKING
        self.pending = self._actor.collect.remote(_PATIENCE)

    def submit(self, orders: Mapping[int, bytes]) -> None:
        """Send orders, by the numbers of their flights, which it has got already."""
        self._unconfirmed.append(self._actor.submit.remote(orders))

    def stop(self) -> None:
        """Let it know that the run is stopping."""
        self._actor.stop.remote()

    def reply(self) -> Any:
        """The reply to the pending call, which must be there."""
        with self._answering():
            return self._ray.get(self.pending)

    def unreadable(self) -> list[tuple[Flight, str]]:
        """The flights that arrived and could not be read, and why; raises if any did not arrive."""
        if not self._unconfirmed:
            return []
        arrived, self._unconfirmed = self._ray.wait(
            self._unconfirmed, num_returns=len(self._unconfirmed), timeout=0
        )
        with self._answering():
            replies = self._ray.get(arrived)
        return [(self.flights[number], why) for reply in replies for number, why in reply.items()]

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
        self._unconfirmed = []

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
