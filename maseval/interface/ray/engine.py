"""RayEngine: runs on all cores of this machine, or on a cluster that is there already.

A worker process is an actor of Ray, and a repetition a call of it. When its process or its machine
dies, another one is asked for, and the others do its work as long as there is no place for it. What
dies twice is a task of its own, which Ray tries as often as it may.
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
from maseval.core.engine.remote_workers import (
    LOOK_SECONDS,
    Assignment,
    RemoteEngine,
    RemoteWorkers,
)
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
# What was in a process that died is tried with others once more before it is suspected.
_DEATHS_TOGETHER = 2
# Beside its repetitions, an actor is asked where it is and told to stop.
_CALLS_BESIDE = 2
# How long the start of the first process may take.
_START_SECONDS = 600.0


@dataclass(eq=False)
class _Actor:
    """A worker process that Ray was asked for."""

    handle: Any
    room: int
    working: int = 0
    place: Place | None = None
    is_ready: bool = False


@dataclass(eq=False)
class _Call:
    """A request to an actor, or to a process of its own; None asks only where it is."""

    assignment: Assignment | None
    actor: _Actor | None
    reference: Any


class RayWorkers(RemoteWorkers):
    """The worker processes of one run on Ray."""

    def __init__(self, engine: "RayEngine", job: Job) -> None:
        super().__init__(job)
        self._engine = engine
        self.actors: list[_Actor] = []
        self._under_way: set[_Call] = set()
        self._arrived = deque[tuple[_Call, Future[Any]]]()
        self._bell = threading.Event()
        self._until: float | None = None
        """When the first process must be there; None once there was one."""
        self._connection: Connection
        self._room: int
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
        idle = [actor for actor in self.actors if actor.is_ready and not actor.working]
        self._engine.kept += idle
        if not self._connection.head.is_lost:  # a call would wait for a head that is gone
            with suppress(Exception):  # the connection may be what is gone
                for actor in self.actors:
                    if actor not in idle:
                        self._connection.ray.kill(actor.handle)
                for call in self._under_way:
                    if call.actor is None:
                        self._connection.ray.cancel(call.reference, force=True)
        # A reference that outlives its connection would release what the next one calls the same.
        self.actors, self._under_way, self._run = [], set(), None

    def submit(self, repetition: Repetition) -> None:
        with self._connection.reached():
            super().submit(repetition)

    def begin(self) -> None:
        engine, ray = self._engine, self._connection.ray
        cores = int(ray.cluster_resources().get("CPU", 1))
        count, self._room = self.share(engine.most_processes(cores))
        self._run = ray.put(self._equipment())
        # Ray itself waits for free cores without end.
        self._until = time.monotonic() + _START_SECONDS
        for _ in range(count):
            self._enlist(engine.take_kept(self._room) or self._start())

    def _equipment(self) -> bytes:
        job, engine, benchmark = self.job, self._engine, self.job.setting.benchmark
        here = engine.address == LOCAL  # other machines get the files from Ray
        equipment = Equipment(
            pack_run(job.setting),
            job.domains,
            self._room,
            folders=tuple(sys.path) if here else (),
            modules=own_modules() if here else {},
            environment=needed_by_workers(engine.variables),
            checksums=benchmark.data_checksums(job.domains),
        )
        return pack(equipment)

    def _start(self) -> _Actor:
        kind = self._connection.ray.remote(RayWorker).options(
            # With ``force`` there may be more processes than cores; Ray would wait for these.
            num_cpus=0 if self._engine.force else _ACTOR,
            scheduling_strategy="SPREAD",
            max_concurrency=self._room + _CALLS_BESIDE,
        )
        return _Actor(kind.remote(), self._room)

    def _enlist(self, actor: _Actor) -> None:
        """Count on a process once it says where it is."""
        actor.is_ready = False
        self.actors.append(actor)
        self._await(_Call(None, actor, actor.handle.place.remote()))

    def give(self, process: _Actor, assignment: Assignment) -> None:
        process.working += 1
        # The run in a list: a bare reference would be fetched anew for each order.
        order = pack_order(assignment.repetition)
        self._await(_Call(assignment, process, process.handle.run_for.remote([self._run], order)))

    def _await(self, call: _Call) -> None:
        """Take what a call returns, once it does, in the thread of Ray that brings it."""

        def arrived(answer: Future[Any]) -> None:
            self._arrived.append((call, answer))
            self._bell.set()

        self._under_way.add(call)
        call.reference.future().add_done_callback(arrived)

    def wait(self) -> None:
        self._connection.head.check()
        with self._connection.reached():
            self.hand_out(self.actors, self._room)
        if not self.finished:
            self._bell.wait(LOOK_SECONDS)

    def stop(self) -> None:
        for actor in self.actors:
            actor.handle.stop.remote()

    def attend(self) -> None:
        # Before looking, so that whatever arrives meanwhile rings again.
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
        actor, assignment = call.actor, call.assignment
        if (error := answer.exception()) is not None:
            self._connection.raise_unless_death(error)
            self._died(call, _in_a_line(error))
        elif assignment is not None:
            if actor is not None:
                actor.working -= 1
            self.receive(assignment.repetition, answer.result())
        elif actor is not None:
            self._until, actor.is_ready = None, True
            if actor.place is None:  # it is not from an earlier run
                actor.place = answer.result()
                self.note_started(actor.place)

    def _died(self, call: _Call, why: str) -> None:
        engine, assignment, node = self._engine, call.assignment, "the cluster"
        if (actor := call.actor) is not None and actor.place is not None:
            node = actor.place.node
        if actor in self.actors:  # of its calls, this is the first that fails
            self.actors.remove(actor)
            if actor.place is not None:
                self.note("died", node, f"{actor.place} died: {why}")
            self._enlist(self._start())
        if assignment is None:
            return
        assignment.deaths += 1
        if assignment.deaths >= engine.most_deaths:
            self.abandon(assignment.repetition, assignment.deaths, node, why)
        elif assignment.deaths < _DEATHS_TOGETHER:
            self.waiting.append(assignment)
        else:
            self._run_alone(assignment)

    def _run_alone(self, assignment: Assignment) -> None:
        """Let Ray try it as often as it may, in processes that serve nobody else."""
        left = self._engine.most_deaths - assignment.deaths
        # After one call the process ends, so that the next suspect does not share it.
        alone = self._connection.ray.remote(max_calls=1)(run_alone)
        alone = alone.options(num_cpus=_TASK, max_retries=left - 1)
        # Ray tells only of the last one.
        assignment.deaths += left - 1
        reference = alone.remote([self._run], pack_order(assignment.repetition))
        self._await(_Call(assignment, None, reference))


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
        self._entered = 0
        self._closing = ExitStack()
        self._connection: Connection | None = None

    def workers(self, job: Job) -> RayWorkers:
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
            actor: _Actor = self.kept.pop()
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
