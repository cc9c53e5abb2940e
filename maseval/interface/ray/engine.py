"""RayEngine: runs on all cores of this machine, or on a cluster that is there already.

A worker process is an actor of Ray, and a repetition a call of it. What was in one that died runs
again as a task of its own, which Ray tries again elsewhere if that kills its process too.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from types import ModuleType
from typing import Any

from maseval.core.engine.engines import Job
from maseval.core.engine.own_modules import own_modules
from maseval.core.engine.parcel import Equipment
from maseval.core.engine.processes import usable_cores
from maseval.core.engine.remote_workers import (
    BEGUN,
    Answer,
    Handle,
    Limits,
    Lost,
    Order,
    RemoteWorkers,
)
from maseval.core.exceptions import ConfigurationError
from maseval.interface.ray.connection import LOCAL, Head, check_address, connect_ray, load_ray
from maseval.interface.ray.worker import RayWorker, needed_by_workers, run_alone

# Beside its repetitions: the calls that equip a worker and stop it.
_CALLS_BESIDE = 2


class _Actor:
    """A worker process of Ray; see ``Handle``."""

    needs_equipment = True

    def __init__(self, fleet: "RayFleet", room: int) -> None:
        self._fleet, self.room = fleet, room
        # Ray gives each a core, and so spreads them over all machines.
        kind = fleet.ray.remote(RayWorker).options(
            num_cpus=fleet.cores_each,
            max_concurrency=room + _CALLS_BESIDE,
            scheduling_strategy="SPREAD",
        )
        self._actor = kind.remote()

    def begin(self, equipment: bytes, room: int) -> None:
        self._fleet.await_answer(self, BEGUN, self._actor.begin.remote(equipment, room))

    def run(self, orders: Sequence[Order]) -> None:
        for number, order in orders:
            self._fleet.await_answer(self, number, self._actor.run.remote(order))

    def stop(self) -> None:
        self._actor.stop.remote()

    def kill(self) -> None:
        self._fleet.end(self._fleet.ray.kill, self._actor)


class _Alone:
    """A task of Ray for one order; see ``Handle``."""

    needs_equipment = False

    def __init__(self, fleet: "RayFleet", equipment: Any) -> None:
        self._fleet, self._equipment = fleet, equipment
        # It has died once already. Its process serves nobody else.
        self._retries = max(0, fleet.most_deaths - 2)
        self._call: Any = None

    def begin(self, equipment: bytes, room: int) -> None:
        raise AssertionError("it gets its equipment with its order")

    def run(self, orders: Sequence[Order]) -> None:
        task = self._fleet.ray.remote(run_alone).options(
            num_cpus=0, max_calls=1, max_retries=self._retries
        )
        for number, order in orders:
            self._call = task.remote(self._equipment, order)
            self._fleet.await_answer(self, number, self._call, deaths=1 + self._retries)

    def stop(self) -> None:
        """It ends by itself, or with the run."""

    def kill(self) -> None:
        self._fleet.end(self._fleet.ray.cancel, self._call, force=True)


class RayFleet:
    """The worker processes on one connection to Ray; see ``Fleet``."""

    def __init__(self, engine: "RayEngine", ray: ModuleType, head: Head) -> None:
        self.ray, self.head, self._engine = ray, head, engine
        self.most_deaths = engine.limits.most_deaths
        self.cores = int(ray.cluster_resources().get("CPU", 1))
        # With more processes than cores nobody has one.
        self.cores_each = 0 if engine.limits.force else 1
        self._arrived = deque[Answer | Lost]()
        self._bell = threading.Event()
        self._kept: list[_Actor] = []

    def equip(self, equipment: Equipment) -> Equipment:
        keys = needed_by_workers(self._engine.variables)
        if self._engine.address != LOCAL:  # other machines get the files from Ray
            return equipment._replace(environment=keys)
        paths = tuple(sys.path)
        return equipment._replace(environment=keys, folders=paths, modules=own_modules())

    def start(self, room: int) -> Handle:
        while self._kept:
            actor = self._kept.pop()
            if actor.room >= room:
                return actor
            actor.kill()
        return _Actor(self, room)

    def start_alone(self, equipment: bytes) -> Handle:
        return _Alone(self, self.ray.put(equipment))

    def wait(self, timeout: float) -> None:
        self.head.check()
        self._bell.wait(timeout)

    def take(self) -> list[Answer | Lost]:
        self._bell.clear()
        return [self._arrived.popleft() for _ in range(len(self._arrived))]

    def keep(self, handles: Sequence[Any]) -> None:
        self._kept += handles

    def await_answer(self, handle: Handle, number: int, call: Any, deaths: int = 1) -> None:
        """Take what a call returns, once it does, in the thread of Ray that brings it."""

        def arrived(answer: Any) -> None:
            error = answer.exception()
            if error is None:
                self._arrived.append(Answer(handle, number, answer.result()))
            else:
                why = _in_a_line(error)
                self._arrived.append(Lost(handle, why, "node has died" in why, deaths))
            self._bell.set()

        call.future().add_done_callback(arrived)

    def end(self, stop: Callable[..., None], what: Any, **how: bool) -> None:
        """End an actor or a call at once."""
        if not self.head.is_lost:  # a call would wait for a head that is gone
            with suppress(Exception):  # the connection may be what is gone
                stop(what, **how)

    def close(self) -> None:
        for actor in self._kept:
            actor.kill()
        self._kept.clear()


def _in_a_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line for line in lines if "because" in line]
    return (reasons or lines or [type(error).__name__])[0]


MOST_DEATHS = 3
# How long the start of the first process may take.
_START_SECONDS = 600.0


class RayEngine:
    """Repetitions in processes of Ray, each with many at once.

    As a context manager it stays connected from its first run to the end of the context, and keeps
    its processes for the next run; otherwise each run connects for itself.

    Args:
        address: ``local`` for a Ray of its own on this machine, ``auto`` for the cluster that this
            machine is part of, or ``ray://HOST:PORT``.
        processes: How many worker processes; by default one for each core.
        most_deaths: A repetition whose process died this often is given up.
        variables: Environment variables that workers need, beside keys and addresses of providers.
        force: Start as many processes as that, even if there are fewer cores.
    """

    def __init__(
        self,
        address: str = LOCAL,
        processes: int | None = None,
        *,
        most_deaths: int = MOST_DEATHS,
        variables: tuple[str, ...] = (),
        force: bool = False,
    ) -> None:
        check_address(address)
        for name, value in (("processes", processes), ("most_deaths", most_deaths)):
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} is {value}; give at least 1")
        load_ray()  # raises if it is missing, before anything has begun
        if processes is not None and address == LOCAL and not force:
            processes = min(processes, usable_cores())
        self.address, self.variables = address, variables
        self.limits = Limits(processes, most_deaths, _START_SECONDS, force)
        self._connection = ExitStack()
        self._entered = 0
        self._open: RayFleet | None = None
        self._sent: dict[str, str] = {}

    def workers(self, job: Job) -> RemoteWorkers:
        """Return the workers of one run."""
        return RemoteWorkers(job, self.limits, self._fleet)

    def shared(self, size: int) -> "RayEngine":
        """Return the context of several runs; see ``Engine``."""
        return self

    @contextmanager
    def _fleet(self) -> Iterator[RayFleet]:
        with self:
            needed = own_modules() if self.address != LOCAL else {}
            if self._open is None or not needed.items() <= self._sent.items():
                self._connection.close()  # Ray takes files only with a new connection
                self._open = self._connected(needed)
            yield self._open

    def _connected(self, needed: dict[str, str]) -> RayFleet:
        keeping = self._connection
        processes = self.limits.processes
        ray, head = keeping.enter_context(connect_ray(self.address, processes, needed))
        fleet = RayFleet(self, ray, head)
        keeping.callback(fleet.close)
        self._sent = needed
        return fleet

    def __getstate__(self) -> dict[str, object]:
        # The options of a run hold it, and are sent to the workers with its benchmark.
        own = {"_connection": ExitStack(), "_entered": 0, "_open": None}
        return {**vars(self), **own}

    def __enter__(self) -> "RayEngine":
        # A command enters the engine that it is given, which its caller may have entered before.
        self._entered += 1
        return self

    def __exit__(self, *exception: object) -> None:
        self._entered -= 1
        if not self._entered:
            self._open = None
            self._connection.close()
