"""RayEngine: runs on all cores of this machine, or on a cluster that is there already.

A worker process is an actor of Ray, and a repetition a call of it. When its process or its machine
dies, Ray starts it elsewhere and makes its calls once more. What dies again is a task of its own,
which Ray tries as often as it may.
"""

import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from maseval.core.engine.children import usable_cores
from maseval.core.engine.engines import Job, WorkersUnavailableError
from maseval.core.engine.own_modules import own_modules
from maseval.core.engine.parcel import Equipment, pack, pack_order, pack_run
from maseval.core.engine.remote_workers import LOOK_SECONDS, RemoteEngine, RemoteWorkers
from maseval.core.engine.repetition import Repetition
from maseval.core.engine.worker import Place
from maseval.core.exceptions import ConfigurationError
from maseval.interface.ray.connection import (
    LOCAL,
    Connection,
    check_address,
    connect_ray,
    load_ray,
)
from maseval.interface.ray.worker import RayWorker, needed_by_workers, run_alone

# Of a core: actors take all but what a task of its own needs, so that Ray places one of each.
_ACTOR, _TASK = 0.9, 0.1
# Beside its repetitions, an actor is asked where it is and told to stop.
_CALLS_BESIDE = 2
# How long the start of the first process may take.
_START_SECONDS = 600.0


@dataclass(eq=False)
class _Actor:
    """A worker process, wherever Ray has it at present."""

    handle: Any
    room: int
    working: int = 0
    place: Place | None = None


@dataclass(eq=False)
class _Call:
    """A request to an actor, or to a process of its own; None asks only where it is."""

    repetition: Repetition | None
    actor: _Actor | None
    reference: Any
    deaths: int
    """The number of processes that died around it if it fails."""


class RayWorkers(RemoteWorkers):
    """The worker processes of one run on Ray."""

    def __init__(self, engine: "RayEngine", job: Job) -> None:
        super().__init__(job)
        self._engine = engine
        self._actors: list[_Actor] = []
        self._under_way: set[_Call] = set()
        self._arrived = deque[tuple[_Call, Future[Any]]]()
        self._bell = threading.Event()
        self._until: float | None = None
        """When the first process must be there; None once there was one."""
        self._connection: Connection
        self._run: Any

    @contextmanager
    def open(self) -> Iterator[None]:
        with self._engine.connected() as self._connection:
            try:
                yield
            finally:
                self._leave()

    def _leave(self) -> None:
        """Keep the actors that have nothing to do, and end all others."""
        idle = [one for one in self._actors if one.place and not one.working]
        self._engine.kept += idle
        if not self._connection.head.is_lost:  # a call would wait for a head that is gone
            with suppress(Exception):  # the connection may be what is gone
                for actor in self._actors:
                    if actor not in idle:
                        self._connection.ray.kill(actor.handle)
                for call in self._under_way:
                    if call.actor is None:
                        self._connection.ray.cancel(call.reference, force=True)
        # A reference that outlives its connection would release what the next one calls the same.
        self._actors, self._under_way, self._run = [], set(), None

    def submit(self, repetition: Repetition) -> None:
        with self._connection.reached():
            if not self._actors:  # a run that is complete needs none
                self._begin()
            actor = min(self._actors, key=lambda one: one.working)
            actor.working += 1
            reference = actor.handle.run_for.remote([self._run], pack_order(repetition))
            self._await(_Call(repetition, actor, reference, self._engine.deaths_in_actor))

    def _begin(self) -> None:
        engine, ray = self._engine, self._connection.ray
        cores = int(ray.cluster_resources().get("CPU", 1))
        count, room = self.share(engine.most_processes(cores))
        self._run = ray.put(self._equipment(room))
        self._until = time.monotonic() + _START_SECONDS
        for _ in range(count):
            actor = engine.take_kept(room) or _Actor(self._start(room), room)
            self._actors.append(actor)
            reference = actor.handle.place.remote()
            self._await(_Call(None, actor, reference, engine.deaths_in_actor))

    def _equipment(self, room: int) -> bytes:
        job, engine, benchmark = self.job, self._engine, self.job.setting.benchmark
        here = engine.address == LOCAL  # other machines get the files from Ray
        equipment = Equipment(
            pack_run(job.setting),
            job.domains,
            room,
            folders=tuple(sys.path) if here else (),
            modules=own_modules() if here else {},
            environment=needed_by_workers(engine.variables),
            checksums=benchmark.data_checksums(job.domains),
        )
        return pack(equipment)

    def _start(self, room: int) -> Any:
        kind = self._connection.ray.remote(RayWorker).options(
            num_cpus=0 if self._engine.force else _ACTOR,
            scheduling_strategy="SPREAD",
            max_concurrency=room + _CALLS_BESIDE,
            max_restarts=-1,
            max_task_retries=self._engine.deaths_in_actor - 1,
        )
        return kind.remote()

    def _await(self, call: _Call) -> None:
        """Take what a call returns, once it does, in the thread of Ray that brings it."""

        def arrived(answer: Future[Any]) -> None:
            self._arrived.append((call, answer))
            self._bell.set()

        self._under_way.add(call)
        call.reference.future().add_done_callback(arrived)

    def wait(self) -> None:
        self._connection.head.check()
        if not self.finished:
            self._bell.wait(LOOK_SECONDS)

    def stop(self) -> None:
        for actor in self._actors:
            actor.handle.stop.remote()

    def attend(self) -> None:
        self._bell.clear()
        with self._connection.reached():
            while self._arrived:
                call, answer = self._arrived.popleft()
                self._under_way.discard(call)
                self._answered(call, answer)
        if self._until is not None and time.monotonic() > self._until:
            raise WorkersUnavailableError(
                f"no worker process was there after {_START_SECONDS:g} s; are all cores of the "
                "cluster taken, or is the machine busy?"
            )

    def _answered(self, call: _Call, answer: Future[Any]) -> None:
        error = answer.exception()
        if call.actor and call.repetition:
            call.actor.working -= 1
        if error is not None:
            self._failed(call, error)
            return
        if call.repetition is None:
            place = answer.result()
        else:
            place, data = answer.result()
            self.receive(call.repetition, data)
        self._until = None
        if call.actor and call.actor.place != place:
            if call.actor.place:
                text = f"{call.actor.place} died; what was in it began again in {place}"
                self.note("died", call.actor.place.node, text)
            call.actor.place = place
            self.note_started(place)

    def _failed(self, call: _Call, error: BaseException) -> None:
        self._connection.raise_unless_death(error)
        if call.repetition is None:  # its repetitions fail as well
            return
        engine, why = self._engine, _in_a_line(error)
        if call.deaths >= engine.most_deaths:
            node = call.actor.place.node if call.actor and call.actor.place else "the cluster"
            self.abandon(call.repetition, call.deaths, node, why)
            return
        if call.actor and call.actor.place:
            self.note("died", call.actor.place.node, f"{call.actor.place} died: {why}")
            call.actor.place = None
        # Its process serves nobody else.
        alone = self._connection.ray.remote(max_calls=1)(run_alone).options(
            num_cpus=_TASK, max_retries=engine.most_deaths - call.deaths - 1
        )
        reference = alone.remote([self._run], pack_order(call.repetition))
        self._await(_Call(call.repetition, None, reference, engine.most_deaths))


def _in_a_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line for line in lines if "because" in line]
    return (reasons or lines or [type(error).__name__])[0]


MOST_DEATHS = 3


class RayEngine(RemoteEngine):
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
        variables: Sequence[str] = (),
        force: bool = False,
    ) -> None:
        check_address(address)
        super().__init__(processes, force=force)
        if most_deaths < 1:
            raise ConfigurationError(f"most_deaths is {most_deaths}; give at least 1")
        load_ray()  # raises if it is missing, before anything has begun
        self.address = address
        if processes is not None and address == LOCAL:
            self.processes = self.most_processes(usable_cores())
        self.most_deaths, self.variables = most_deaths, tuple(variables)
        # What was in a process that died is tried there once more before it is suspected.
        self.deaths_in_actor = min(2, most_deaths)
        self._entered = 0
        self._closing = ExitStack()
        self._connection: Connection | None = None

    def workers(self, job: Job) -> RayWorkers:
        """Return the workers of one run."""
        return RayWorkers(self, job)

    def shared(self, size: int) -> "RayEngine":
        """Return the context of several runs; see ``Engine``."""
        return self

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """Stay connected, at least as long as the context is open."""
        with self:
            modules = own_modules() if self.address != LOCAL else {}
            if self._connection is None or not self._connection.has(modules):
                self._disconnect()  # Ray takes files only with a new connection
                connecting = connect_ray(self.address, self.processes, modules)
                self._connection = self._closing.enter_context(connecting)
            yield self._connection

    def take_kept(self, room: int) -> _Actor | None:
        """Return an actor of an earlier run that has room for so many, and end smaller ones."""
        while self.kept:
            actor = self.kept.pop()
            if actor.room >= room:
                return actor
            self._end(actor)
        return None

    def _end(self, actor: _Actor) -> None:
        if self._connection and not self._connection.head.is_lost:
            with suppress(Exception):  # the connection may be what is gone
                self._connection.ray.kill(actor.handle)

    def _disconnect(self) -> None:
        for actor in self.kept:
            self._end(actor)
        self.kept, self._connection = [], None
        self._closing.close()

    def __enter__(self) -> "RayEngine":
        # A command enters the engine that it is given, which its caller may have entered before.
        self._entered += 1
        return self

    def __exit__(self, *exception: object) -> None:
        self._entered -= 1
        if not self._entered:
            self._disconnect()
