"""Workers on Ray: repetitions are sent to processes and their results collected.

The driver alone keeps count. A result is taken once, for the flight that is still awaited; one that
comes late, or a second time, is dropped.
"""

import math
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from types import ModuleType
from typing import Any

from maseval.core.context import Said
from maseval.core.engine.engines import Finished, Job, WorkerEvent
from maseval.core.engine.repetition import Repetition, RepetitionResult
from maseval.core.engine.shipping import ProcessSettings, WorkResult, worker_setting
from maseval.core.exceptions import MASEvalError, WorkerDiedError
from maseval.interface.ray.code import own_modules
from maseval.interface.ray.connection import connected
from maseval.interface.ray.dispatch import given_out, packed_orders, patience_of, send
from maseval.interface.ray.environment import needed_by_workers
from maseval.interface.ray.facts import Facts, NodeMismatchError, check_code, check_data
from maseval.interface.ray.flights import Backlog, Flight
from maseval.interface.ray.limiter import start_limits
from maseval.interface.ray.parcel import (
    WorkerExceptionError,
    can_be_sent,
    packed,
    packed_for_worker,
    unpacked,
    unpacked_reply,
)
from maseval.interface.ray.process import Process, ProcessLostError, Stage
from maseval.interface.ray.worker import Equipment

# Between two looks at whether the run is stopping.
_LONGEST_WAIT = 0.5
# What a process has done of a repetition that is late; it may hang itself.
_WAIT_FOR_LATE = 60.0
# A process that dies before it can do anything says that the next one will as well.
_MOST_FAILED_STARTS = 5


class WorkersUnavailableError(MASEvalError, RuntimeError):
    """No worker process can be started, or none stays alive."""


@dataclass(frozen=True)
class Limits:
    """How many processes, how often a repetition may lose its process, how long a start takes.

    Without a number there is one process for each core.
    """

    processes: int | None
    most_deaths: int
    start_seconds: float
    variables: tuple[str, ...] = ()


class RayWorkers:
    """Up to ``size`` repetitions in several processes, here or on other machines.

    A ``connection`` that is given stays open after the run.
    """

    def __init__(
        self, job: Job, address: str, limits: Limits, connection: ExitStack | None = None
    ) -> None:
        self.size = job.size
        self.finished_by_node = Counter[str]()
        self._job = job
        self._address = address
        self._limits = limits
        self._numbers = count(1)
        self._flights: dict[Repetition, Flight] = {}
        self._processes: list[Process] = []
        self._finished: deque[Finished] = deque()
        self._failed_starts = self._refused = 0
        self._all_started = False
        self._said_stop = False
        self._own_connection = ExitStack()
        self._connection = self._own_connection if connection is None else connection
        self._count: int
        self._backlog: Backlog
        self._ray: ModuleType
        self._modules: Any
        self._equipment: bytes
        self._shared_limits: Any = None
        self._checksums: Mapping[str, str]

    @property
    def in_flight(self) -> dict[str, int]:
        """How many repetitions each node has; may be read from any thread."""
        now = Counter[str]()
        for process in tuple(self._processes):
            if process.stage is Stage.WORKING:
                now[process.place.node] += len(process.flights)
        return dict(now)

    # The protocol of workers.

    @contextmanager
    def open(self) -> Iterator[None]:
        with self._own_connection:
            try:
                yield
            finally:
                self._end_all()

    def submit(self, repetition: Repetition) -> None:
        if not self._processes:  # a run that is complete needs none
            self._begin()
        flight = Flight(next(self._numbers), repetition)
        self._flights[repetition] = flight
        self._backlog.add(flight)  # it is sent with others when the driver has nothing else to do

    def wait(self, timeout: float | None) -> None:
        if not self._finished:
            self._dispatch()
            limit = _LONGEST_WAIT if timeout is None else min(timeout, _LONGEST_WAIT)
            pending = [one.pending for one in self._processes if one.pending is not None]
            self._ray.wait(pending, timeout=limit)

    def take(self) -> Finished | None:
        if not self._finished and self._processes:
            self._attend()
        return self._finished.popleft() if self._finished else None

    def give_up(self, repetition: Repetition) -> RepetitionResult | None:
        flight = self._flights.get(repetition)
        if flight is None or not flight.is_late:  # finished meanwhile, or begun again
            return None
        holder = next((one for one in self._processes if flight.number in one.flights), None)
        if holder is None:
            return None
        try:
            done = holder.give_up(flight, _WAIT_FOR_LATE)
        except ProcessLostError as lost:
            self._bury(holder, lost)
            return None
        except self._ray.exceptions.GetTimeoutError:
            self._forget(flight)
            self._bury(holder, ProcessLostError(f"no answer in {_WAIT_FOR_LATE:g} s"))
            return _cut_off(repetition)
        if done is None:
            return None
        self._forget(flight)
        return unpacked_reply(done).deliveries[0].to_result(repetition)

    # The life of processes.

    def _begin(self) -> None:
        setting, wanted = self._job.setting, self._job.domains
        self._checksums = setting.benchmark.data_checksums(wanted)
        shared = packed_for_worker("the benchmark", worker_setting(setting), _WAY_FOR_BENCHMARK)
        way = connected(self._address, self._limits.processes)
        self._ray = self._connection.enter_context(way)
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        self._count = max(1, min(self._limits.processes or cores, self.size))
        self._backlog = Backlog(math.ceil(self.size / self._count))
        variables = needed_by_workers(self._limits.variables)
        around = packed(ProcessSettings.current(can_be_sent))
        self._equipment = packed(
            Equipment(shared, around, self._backlog.room, wanted, variables, tuple(sys.path))
        )
        self._modules = self._ray.put(own_modules())
        self._shared_limits = start_limits(self._ray)
        self._start_all()

    def _start_all(self) -> None:
        until = time.monotonic() + self._limits.start_seconds
        for _ in range(self._count):
            self._processes.append(Process(self._ray, quarantine=False))
        while any(one.stage is not Stage.WORKING for one in self._processes):
            if time.monotonic() > until:
                raise WorkersUnavailableError(
                    f"{self._count} worker processes were not ready after "
                    f"{self._limits.start_seconds:g} s; is the cluster busy, or out of memory?"
                )
            self.wait(None)
            self._attend()
        self._all_started = True

    def _end_all(self) -> None:
        for process in self._processes:
            process.kill()
        # A reference that outlives its connection would release what the next one calls the same.
        self._processes, self._modules = [], None
        if self._shared_limits is not None:
            self._ray.kill(self._shared_limits, no_restart=True)
            self._shared_limits = None

    def _attend(self) -> None:
        """Give out what waits, and see to every process that has replied."""
        if not self._said_stop and self._job.setting.stopping():
            self._said_stop = True
            for process in self._processes:
                process.stop()
        # Only now: the orders that replace what was finished are sent with the next call.
        self._dispatch()
        pending = {one.pending: one for one in self._processes if one.pending is not None}
        ready, _ = self._ray.wait(list(pending), num_returns=len(pending), timeout=0)
        for process in [pending[each] for each in ready]:
            self._hear(process)
        for process in tuple(self._processes):
            try:
                for flights, why in process.unread():
                    self._sort_out(process, flights, why)
            except ProcessLostError as lost:
                self._bury(process, lost)

    def _hear(self, process: Process) -> None:
        try:
            self._answer(process, process.reply())
        except ProcessLostError as lost:
            self._bury(process, lost)
        except NodeMismatchError as error:
            self._refuse(process, error)

    def _answer(self, process: Process, reply: Any) -> None:
        match process.stage:
            case Stage.STARTING:
                process.place, theirs = reply
                check_code(process.place.node, theirs, Facts.here())
                process.equip(self._modules, self._equipment, self._shared_limits)
            case Stage.EQUIPPING:
                told = unpacked(reply)
                if isinstance(told, str):
                    raise WorkersUnavailableError(f"{process} cannot begin: {told}")
                check_data(process.place.node, told, self._checksums)
                self._failed_starts = 0
                self._note("started", process, f"{process} started")
                process.stage = Stage.WORKING
            case Stage.WORKING:
                heard = process.understood(reply)
                for delivery in heard.deliveries:
                    self._receive(process, delivery)
                for number, said in heard.said.items():
                    self._pass_on(process.flights.get(number), said)

    def _receive(self, process: Process, delivery: WorkResult) -> None:
        flight = process.flights.pop(delivery.number, None)
        if flight is None:  # it was given up in the meantime
            return
        self._forget(flight)
        self.finished_by_node[process.place.node] += 1
        self._finished.append((flight.repetition, delivery.to_result(flight.repetition)))

    def _pass_on(self, flight: Flight | None, said: Said) -> None:
        """Let whoever watches the run know what was said last."""
        if flight is not None:
            self._job.setting.conversations.note(flight.key, said)

    def _refuse(self, process: Process, error: NodeMismatchError) -> None:
        """At the start of a run it is for the user to decide; later the others carry on."""
        self._remove(process)
        self._note("refused", process, str(error))
        self._refused += 1
        if not self._all_started or not self._processes:
            raise error
        if self._refused <= _MOST_FAILED_STARTS:
            self._processes.append(Process(self._ray, quarantine=process.quarantine))

    def _bury(self, process: Process, lost: ProcessLostError) -> None:
        """A process died: what was in it is begun again, and another takes its place."""
        self._remove(process)
        if process.stage is not Stage.WORKING:
            self._failed_start(str(lost), process, blamed=not lost.machine_down)
            return
        flights, process.flights = list(process.flights.values()), {}
        down = lost.machine_down or self._is_down(process)
        what = f"{process.place.node} went down" if down else f"{process} died"
        self._note("died", process, f"{what} with {_simulations(len(flights))}: {lost}")
        for flight in flights:
            flight.survived(machine_down=down)
            if flight.is_hopeless(self._limits.most_deaths):
                self._abandon(process, flight)
            else:
                self._backlog.add(flight)
        self._processes.append(Process(self._ray, quarantine=process.quarantine))

    def _failed_start(self, why: str, process: Process, *, blamed: bool = True) -> None:
        self._failed_starts += blamed
        if self._failed_starts >= _MOST_FAILED_STARTS:
            way = _WAY_FOR_TOKENS if _NOT_REACHED in why else ""
            raise WorkersUnavailableError(
                f"worker processes die as soon as they start, {self._failed_starts} in a row: "
                f"{why}{way}"
            )
        self._processes.append(Process(self._ray, quarantine=process.quarantine))

    def _remove(self, process: Process) -> None:
        process.kill()
        self._processes.remove(process)

    def _is_down(self, process: Process) -> bool:
        nodes = {node["NodeID"]: node["Alive"] for node in self._ray.nodes()}
        return not nodes.get(process.place.node_id, False)

    # Flights.

    def _dispatch(self) -> None:
        given = given_out(self._processes, self._backlog)
        for process in self._processes:
            if process.stage is Stage.WORKING:
                send(process, given.get(process, []), patience_of(len(self._processes)))
        quarantined = sum(one.quarantine for one in self._processes)
        for _ in range(min(self._backlog.suspects, self._count - quarantined)):
            self._processes.append(Process(self._ray, quarantine=True))

    def _sort_out(self, process: Process, flights: Sequence[Flight], why: str) -> None:
        """Of flights that cannot be read there together, find out which one is the reason."""
        awaited = [flight for flight in flights if flight.number in process.flights]
        for flight in awaited:
            if len(flights) == 1:
                self._end(flight, WorkerExceptionError(why))
            else:
                process.submit([flight], packed_orders([flight]))

    def _forget(self, flight: Flight) -> None:
        self._job.setting.conversations.forget(flight.key)
        self._flights.pop(flight.repetition, None)
        for process in self._processes:
            process.flights.pop(flight.number, None)

    def _abandon(self, process: Process, flight: Flight) -> None:
        repetition, times = flight.repetition, flight.deaths + flight.moves
        name = f"task {str(repetition.task.id)!r}, repetition {repetition.repeat_idx}"
        error = WorkerDiedError(
            f"the process in which it took place died {times} times, the last time on "
            f"{process.place.node}; look for what ends the process there: too little memory, or a "
            "library that crashes"
        )
        self._note("given_up", process, f"{name} is given up: its process died {times} times")
        self._end(flight, error)

    def _end(self, flight: Flight, error: MASEvalError) -> None:
        """Report a flight that no process will finish."""
        self._forget(flight)
        flight.repetition.context.registry.close()
        self._finished.append((flight.repetition, flight.repetition.outcome(error, "setup")))

    def _note(self, kind: Any, process: Process, text: str) -> None:
        self._job.note(WorkerEvent(kind, process.place.node, text))


# What Ray says if its head cannot ask this process whether it still needs a worker.
_NOT_REACHED = "all references to the actor were removed"
_WAY_FOR_TOKENS = (
    " If Ray authenticates by token here and not there, or the other way round, set RAY_AUTH_MODE "
    "to what the cluster has: 'token' or 'disabled'"
)
_WAY_FOR_BENCHMARK = "let its for_worker() leave out what holds it, or run it with engine='threads'"


def _cut_off(repetition: Repetition) -> RepetitionResult:
    """A repetition that is late, in a process that does not say what it has done."""
    error = repetition.context.timeout_error()
    usage = repetition.abandon()
    return repetition.outcome(error, usage=usage)


def _simulations(number: int) -> str:
    return "1 simulation in it" if number == 1 else f"{number} simulations in it"
