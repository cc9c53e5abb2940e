"""ProcessEngine: several processes on this machine, and nothing to install."""

import platform
import queue
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from maseval.core.engine.children import (
    Channel,
    ChildProcess,
    end_all,
    may_fork,
    start_thread,
    usable_cores,
    wait_for,
)
from maseval.core.engine.engines import Job, WorkersUnavailableError
from maseval.core.engine.own_modules import own_modules
from maseval.core.engine.parcel import Equipment, pack, pack_order, pack_run
from maseval.core.engine.remote_workers import (
    LOOK_SECONDS,
    Assignment,
    RemoteEngine,
    RemoteWorkers,
)
from maseval.core.engine.worker import Place, Worker
from maseval.core.words import count_of

# A repetition whose process died so often is to blame.
_MOST_DEATHS = 3
# A process that dies before it can do anything says that the next one will as well.
_MOST_FAILED_STARTS = 5

Order = tuple[int, bytes]
"""A number of our own, and what ``pack_order`` makes of a repetition."""
Answer = tuple[int, bytes | str]
"""The number of an order and what ``run`` returned, or ``_BEGUN`` and what ``begin`` did."""
_BEGUN = 0


def _work(channel: Channel) -> None:
    """Be a worker, until the parent ends."""
    worker, threads = Worker(), 0
    # Unlike a SimpleQueue it wakes a thread for each order at once. There each wakes up when the
    # last has its turn, and is then behind all others that want theirs.
    orders: queue.Queue[Order] = queue.Queue()
    done: queue.SimpleQueue[Answer] = queue.SimpleQueue()

    def run() -> None:
        while True:
            number, order = orders.get()
            done.put((number, worker.run(order)))

    start_thread(lambda: _send_all(done, channel))
    for what, given in channel.received():
        if what == "begin":
            begun = worker.begin(given)
            # To start one later would take two turns, which come late when hundreds want theirs.
            while threads < worker.room:
                start_thread(run)
                threads += 1
            done.put((_BEGUN, begun))
        elif what == "run":
            for order in given:
                orders.put(order)
        else:
            worker.stop()


def _send_all(done: queue.SimpleQueue[Answer], channel: Channel) -> None:
    # What was finished since its last turn goes in one write: each costs another turn.
    while True:
        some = [done.get()]
        with suppress(queue.Empty):
            while True:
                some.append(done.get_nowait())
        channel.send(some)


class WorkerProcess(ChildProcess):
    """A worker process of this machine, what it is working on, and what is to be sent to it."""

    def __init__(self) -> None:
        super().__init__(_work)
        self.place = Place(self.number, platform.node())
        self.is_new, self.is_ready, self.is_alone = True, False, False
        self.work: dict[int, Assignment] = {}
        self.orders: list[Order] = []

    @property
    def working(self) -> int:
        return len(self.work)

    def begin(self, equipment: bytes, *, alone: bool) -> None:
        self.is_ready, self.is_alone = False, alone
        self.send(("begin", equipment))


class ProcessWorkers(RemoteWorkers):
    """The worker processes of one run; those that the engine keeps come first."""

    def __init__(self, engine: "ProcessEngine", job: Job) -> None:
        super().__init__(job)
        self._engine = engine
        self._suspects = deque[Assignment]()
        self._processes: list[WorkerProcess] = []
        self._failed_starts = 0
        self._count, self._room = self.share(engine.most_processes(usable_cores()))
        self._run: bytes

    @contextmanager
    def open(self) -> Iterator[None]:
        try:
            yield
        finally:
            # One that has not begun yet does so in the next run: it reads in the order of sending.
            idle = [process for process in self._processes if not process.work and not process.lost]
            end_all([process for process in self._processes if process not in idle])
            self._engine.keep(idle)

    def begin(self) -> None:
        # Once for all of them, as it may be large.
        self._run = pack_run(self.job.setting)
        for _ in range(self._count):
            self._start()

    def _start(self, *, alone: bool = False) -> WorkerProcess:
        process = self._engine.kept.pop() if self._engine.kept else WorkerProcess()
        self._processes.append(process)
        room = 1 if alone else self._room
        folders = tuple(sys.path)
        equipment = Equipment(self._run, self.job.domains, room, folders, own_modules())
        process.begin(pack(equipment), alone=alone)
        return process

    def wait(self) -> None:
        alone = [process for process in self._processes if process.is_alone]
        for _ in range(min(len(self._suspects), self._count - len(alone))):
            alone.append(self._start(alone=True))
        for process in alone:
            if self._suspects and process.is_ready and not process.work:
                self.give(process, self._suspects.popleft())
        self.hand_out([process for process in self._processes if not process.is_alone], self._room)
        for process in self._processes:
            # All together, so that each begins before any goes on.
            if process.orders:
                process.send(("run", process.orders))
                process.orders = []
        if not self.finished:
            wait_for(self._processes, LOOK_SECONDS)

    def give(self, process: WorkerProcess, assignment: Assignment) -> None:
        process.work[assignment.number] = assignment
        process.orders.append((assignment.number, pack_order(assignment.repetition)))

    def stop(self) -> None:
        for process in self._processes:
            process.send(("stop", None))

    def attend(self) -> None:
        for process in [*self._processes]:
            for some in process.receive():
                for number, data in some:
                    if number == _BEGUN:
                        self._welcome(process, data)
                    else:
                        self.receive(process.work.pop(number).repetition, data)
            if process.lost:
                self._replace(process)

    def _welcome(self, process: WorkerProcess, problem: str) -> None:
        # What keeps one from its work, such as a module that is missing, keeps all of them from it.
        if problem:
            self._fail(f"{process.place} cannot begin: {problem}")
        if process.is_new:
            self.note_started(process.place)
        process.is_new, process.is_ready, self._failed_starts = False, True, 0

    def _replace(self, process: WorkerProcess) -> None:
        self._processes.remove(process)
        process.join()
        place, why = process.place, process.lost
        if process.is_ready:
            lost_with_it = count_of(len(process.work), "simulation")
            self.note("died", place.node, f"{place} died with {lost_with_it} in it: {why}")
        else:
            self._failed_starts += 1
        if self._failed_starts >= _MOST_FAILED_STARTS:
            self._fail(
                f"worker processes die as soon as they start, {self._failed_starts} in a row: {why}"
            )
        for assignment in process.work.values():
            assignment.deaths += 1
            if assignment.deaths < _MOST_DEATHS:
                # Any of those in it may have killed it: from now on each has a process of its own.
                self._suspects.append(assignment)
            else:
                self.abandon(assignment.repetition, assignment.deaths, place.node, why)
        # In place of one that worked alone, ``wait`` starts another if there are suspects left.
        if not process.is_alone:
            self._start()

    def _fail(self, why: str) -> None:
        end_all(self._processes)
        self._processes.clear()
        raise WorkersUnavailableError(why)


class ProcessEngine(RemoteEngine):
    """Processes of this machine, each with many repetitions at once.

    Args:
        processes: How many; by default one for each core that this process may use.
        force: Start as many as that, even if there are fewer cores.
    """

    def __init__(self, processes: int | None = None, *, force: bool = False) -> None:
        super().__init__(processes, force=force)
        self._is_shared = False

    @contextmanager
    def shared(self, size: int) -> Iterator[None]:
        """Fork the processes of several runs now; see ``Engine``."""
        self._is_shared = True
        number = min(self.most_processes(usable_cores()), size)
        if may_fork():
            self.kept += [WorkerProcess() for _ in range(number)]
        try:
            yield
        finally:
            self._is_shared = False
            self.keep(())

    def keep(self, processes: Sequence[WorkerProcess]) -> None:
        """Take back the processes of a run that have nothing to do."""
        self.kept += processes
        if not self._is_shared:
            end_all(self.kept)
            self.kept.clear()

    def workers(self, job: Job) -> ProcessWorkers:
        return ProcessWorkers(self, job)
