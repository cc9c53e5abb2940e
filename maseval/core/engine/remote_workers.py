"""RemoteWorkers: repetitions are sent to processes, and their results collected.

The driver alone keeps count. A result is taken once, for the assignment that is still awaited; one
that comes late, or a second time, is dropped.
"""

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from maseval.core.engine.dispatch import (
    Assignment,
    Backlog,
    Carrier,
    Process,
    ProcessLostError,
    hand_out,
    send,
)
from maseval.core.engine.engines import Finished, Job, WorkerEvent, WorkersUnavailableError
from maseval.core.engine.parcel import (
    ProcessSettings,
    WorkerExceptionError,
    WorkerReply,
    WorkResult,
    can_be_sent,
    pack,
    pack_for_worker,
    unpack,
    worker_setting,
)
from maseval.core.engine.repetition import Repetition, RepetitionResult
from maseval.core.engine.worker import Equipment
from maseval.core.engine.worker_setup import (
    NodeMismatchError,
    check_same,
    code_facts,
    needed_by_workers,
    own_modules,
)
from maseval.core.exceptions import MASEvalError, WorkerDiedError
from maseval.core.words import count_of

# Between two looks at whether the run is stopping.
_LONGEST_WAIT = 0.5
# What a process has done of a repetition that is late; it may hang itself.
_WAIT_FOR_LATE = 60.0
# A process that dies before it can do anything says that the next one will as well.
_MOST_FAILED_STARTS = 5


@dataclass(frozen=True)
class Limits:
    """The number of processes, of deaths around a repetition, and of seconds for the start.

    Without a number of processes there is one for each core, and with ``force`` there may be more.
    """

    processes: int | None
    most_deaths: int
    start_seconds: float
    variables: tuple[str, ...] = ()
    force: bool = False


class RemoteWorkers:
    """Up to ``size`` repetitions in several processes, here or on other machines."""

    def __init__(
        self, job: Job, limits: Limits, open_carrier: Callable[[], AbstractContextManager[Carrier]]
    ) -> None:
        self.size = job.size
        self._job = job
        self._limits = limits
        self._numbers = count(1)
        self._assignments: dict[Repetition, Assignment] = {}
        self._processes: list[Process] = []
        self._finished: deque[Finished] = deque()
        self._failed_starts = self._refused = 0
        self._all_started = False
        self._said_stop = False
        self._open_carrier, self._opened = open_carrier, ExitStack()
        self._count: int
        self._backlog: Backlog
        self._carrier: Carrier
        self._modules: Any
        self._equipment: bytes
        self._checksums: Mapping[str, str]

    # The protocol of workers.

    @contextmanager
    def open(self) -> Iterator[None]:
        with self._opened:
            try:
                yield
            finally:
                for process in self._processes:
                    process.kill()
                # A reference that outlives its connection would release what the next one calls
                # the same.
                self._processes, self._modules = [], None

    def submit(self, repetition: Repetition) -> None:
        if not self._processes:  # a run that is complete needs none
            self._begin()
        assignment = Assignment(next(self._numbers), repetition)
        self._assignments[repetition] = assignment
        # It is sent with others when the driver has nothing else to do.
        self._backlog.add(assignment)

    def wait(self, timeout: float | None) -> None:
        if not self._finished:
            self._dispatch()
            limit = _LONGEST_WAIT if timeout is None else min(timeout, _LONGEST_WAIT)
            pending = [one.pending for one in self._processes if one.pending is not None]
            self._carrier.wait(pending, limit)

    def take(self) -> Finished | None:
        if not self._finished and self._processes:
            self._attend()
        return self._finished.popleft() if self._finished else None

    def give_up(self, repetition: Repetition) -> RepetitionResult | None:
        assignment = self._assignments.get(repetition)
        if assignment is None or not assignment.is_late:  # finished meanwhile, or begun again
            return None
        holder = next(
            (one for one in self._processes if assignment.number in one.assignments), None
        )
        if holder is None:
            return None
        try:
            done = holder.give_up(assignment, _WAIT_FOR_LATE)
        except ProcessLostError as lost:
            self._replace_dead(holder, lost)
            return None
        except TimeoutError:
            self._forget(assignment)
            self._replace_dead(holder, ProcessLostError(f"no answer in {_WAIT_FOR_LATE:g} s"))
            error, usage = repetition.context.timeout_error(), repetition.abandon()
            return repetition.outcome(error, usage=usage)
        if done is None:
            return None
        self._forget(assignment)
        reply: WorkerReply = unpack(done)
        return reply.deliveries[0].to_result(repetition)

    # The life of processes.

    def _begin(self) -> None:
        setting, wanted = self._job.setting, self._job.domains
        self._checksums = setting.benchmark.data_checksums(wanted)
        shared = pack_for_worker("the benchmark", worker_setting(setting), _WAY_FOR_BENCHMARK)
        self._carrier = self._opened.enter_context(self._open_carrier())
        cores = self._carrier.cores
        most = self._limits.processes or cores
        if not self._limits.force:
            most = min(most, cores)
        self._count = max(1, min(most, self.size, self._job.repetitions))
        self._backlog = Backlog(math.ceil(self.size / self._count))
        variables = needed_by_workers(self._limits.variables)
        around = pack(ProcessSettings.current(can_be_sent))
        self._equipment = pack(
            Equipment(shared, around, self._backlog.room, wanted, variables, tuple(sys.path))
        )
        self._modules = self._carrier.share(own_modules())
        self._start_all()

    def _start_all(self) -> None:
        until = time.monotonic() + self._limits.start_seconds
        for _ in range(self._count):
            self._start_process(quarantine=False)
        while any(not one.is_ready for one in self._processes):
            if time.monotonic() > until:
                raise WorkersUnavailableError(
                    f"not all of {self._count} worker processes were ready after "
                    f"{self._limits.start_seconds:g} s; is the machine busy, or out of memory?"
                )
            self.wait(None)
            self._attend()
        self._all_started = True

    def _attend(self) -> None:
        """Give out what waits, and see to every process that has replied."""
        if not self._said_stop and self._job.setting.stopping():
            self._said_stop = True
            for process in self._processes:
                process.call("stop")
        # Only now: the orders that replace what was finished are sent with the next call.
        self._dispatch()
        pending = {one.pending: one for one in self._processes if one.pending is not None}
        for process in [pending[each] for each in self._carrier.wait(list(pending), 0)]:
            self._take_reply(process)

    def _take_reply(self, process: Process) -> None:
        try:
            self._answer(process, process.reply())
        except ProcessLostError as lost:
            self._replace_dead(process, lost)
        except NodeMismatchError as error:
            self._refuse(process, error)

    def _answer(self, process: Process, reply: Any) -> None:
        if not process.is_ready:
            process.place, theirs, ready = reply
            check_same(process.place.node, theirs, code_facts(), _WAY_FOR_CODE)
            checksums = unpack(ready)
            if isinstance(checksums, str):
                raise WorkersUnavailableError(f"{process} cannot begin: {checksums}")
            check_same(process.place.node, checksums, self._checksums, _WAY_FOR_DATA)
            self._failed_starts = 0
            self._note("started", process, f"{process} started")
            process.is_ready = True
            return
        answer: WorkerReply = unpack(reply)
        for delivery in answer.deliveries:
            self._receive(process, delivery)
        for number, why in answer.unread.items():
            if assignment := process.assignments.get(number):
                self._end(assignment, WorkerExceptionError(why))

    def _receive(self, process: Process, delivery: WorkResult) -> None:
        assignment = process.assignments.pop(delivery.number, None)
        if assignment is None:  # it was given up in the meantime
            return
        self._forget(assignment)
        self._finished.append((assignment.repetition, delivery.to_result(assignment.repetition)))

    def _refuse(self, process: Process, error: NodeMismatchError) -> None:
        """Turn a process away: at the start of a run that is an error, later it is noted."""
        self._remove(process)
        self._note("refused", process, str(error))
        self._refused += 1
        if not self._all_started or not self._processes:
            raise error
        if self._refused <= _MOST_FAILED_STARTS:
            self._start_process(quarantine=process.quarantine)

    def _replace_dead(self, process: Process, lost: ProcessLostError) -> None:
        self._remove(process)
        if not process.is_ready:
            self._failed_start(str(lost), process, blamed=not lost.machine_down)
            return
        assignments, process.assignments = list(process.assignments.values()), {}
        down = lost.machine_down or self._carrier.is_down(process.place.node_id)
        what = f"{process.place.node} went down" if down else f"{process} died"
        lost_with_it = count_of(len(assignments), "simulation")
        self._note("died", process, f"{what} with {lost_with_it} in it: {lost}")
        for assignment in assignments:
            assignment.count_death(machine_down=down)
            if assignment.is_hopeless(self._limits.most_deaths):
                self._abandon(process, assignment)
            else:
                self._backlog.add(assignment)
        self._start_process(quarantine=process.quarantine)

    def _failed_start(self, why: str, process: Process, *, blamed: bool = True) -> None:
        self._failed_starts += blamed
        if self._failed_starts >= _MOST_FAILED_STARTS:
            way = _WAY_FOR_TOKENS if _NOT_REACHED in why else ""
            raise WorkersUnavailableError(
                f"worker processes die as soon as they start, {self._failed_starts} in a row: "
                f"{why}{way}"
            )
        self._start_process(quarantine=process.quarantine)

    def _start_process(self, *, quarantine: bool) -> None:
        process = Process(self._carrier, quarantine=quarantine)
        process.ask("begin", code_facts(), self._modules, self._equipment)
        self._processes.append(process)

    def _remove(self, process: Process) -> None:
        process.kill()
        self._processes.remove(process)

    # Assignments.

    def _dispatch(self) -> None:
        send(hand_out(self._processes, self._backlog))
        quarantined = sum(one.quarantine for one in self._processes)
        for _ in range(min(self._backlog.suspects, self._count - quarantined)):
            self._start_process(quarantine=True)

    def _forget(self, assignment: Assignment) -> None:
        self._assignments.pop(assignment.repetition, None)
        for process in self._processes:
            process.assignments.pop(assignment.number, None)

    def _abandon(self, process: Process, assignment: Assignment) -> None:
        repetition, times = assignment.repetition, assignment.deaths + assignment.moves
        name = f"task {str(repetition.task.id)!r}, repetition {repetition.repeat_idx}"
        error = WorkerDiedError(
            f"the process in which it took place died {times} times, the last time on "
            f"{process.place.node}; find out what kills the process there: too little memory, or a "
            "library that crashes"
        )
        self._note("given_up", process, f"gave up on {name}: its process died {times} times")
        self._end(assignment, error)

    def _end(self, assignment: Assignment, error: MASEvalError) -> None:
        self._forget(assignment)
        repetition = assignment.repetition
        repetition.context.registry.close()
        self._finished.append((repetition, repetition.outcome(error, "setup")))

    def _note(self, kind: Any, process: Process, text: str) -> None:
        self._job.note(WorkerEvent(kind, process.place.node, text))


# What Ray says if its head cannot ask this process whether it still needs a worker.
_NOT_REACHED = "all references to the actor were removed"
_WAY_FOR_TOKENS = (
    " If Ray authenticates by token here and not there, or the other way round, set RAY_AUTH_MODE "
    "to what the cluster has: 'token' or 'disabled'"
)
_WAY_FOR_CODE = "install the same Python and the same maseval on every machine"
_WAY_FOR_DATA = "fetch the data of the same release there, and verify it"
_WAY_FOR_BENCHMARK = "let its for_worker() leave out what holds it, or run it with engine='threads'"
