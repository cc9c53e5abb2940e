"""ProcessEngine: all cores of this machine, by processes of our own and nothing to install."""

import logging
import platform
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from maseval.core.engine.child import (
    Call,
    ChildLostError,
    ChildProcess,
    end_all,
    may_fork,
    usable_cores,
    wait_for_calls,
)
from maseval.core.engine.dispatch import ProcessLostError
from maseval.core.engine.engines import Job, MappedBatch
from maseval.core.engine.parcel import pack, unpack
from maseval.core.engine.remote_workers import Limits, RemoteEngine, RemoteWorkers
from maseval.core.engine.worker import Worker
from maseval.core.engine.worker_setup import code_hash
from maseval.core.exceptions import ConfigurationError, WorkerDiedError

logger = logging.getLogger(__name__)

Function = Callable[[Sequence[Any]], Any]

# A batch or a repetition whose process died so often is to blame.
_MOST_DEATHS = 3
_START_SECONDS = 600.0
# One is worked on, and the next one is there when it is finished.
_FOR_EACH = 2


class _Reply(NamedTuple):
    """The answer of a function to a batch; without a result, it raised an exception."""

    result: bytes | None
    problem: str = ""


class _Applier:
    """Applies a function to batches, one at a time, in a process of its own."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._turn = threading.Lock()

    def apply(self, values: bytes) -> _Reply:
        with self._turn:
            try:
                return _Reply(pack(self._function(unpack(values))))
            except Exception as error:  # for the caller to decide
                return _Reply(None, f"{type(error).__name__}: {error}")


@dataclass
class _Batch:
    """A batch that is worked on."""

    values: Sequence[Any]
    call: Call
    deaths: int = 0


class _ProcessMap:
    """Applies one function to batches of values in several processes."""

    def __init__(self, function: Function, processes: int) -> None:
        self._function = function
        self._most = processes
        self._children: list[ChildProcess] = []
        self._under_way: deque[_Batch] = deque()

    def over(
        self, batches: Iterable[Sequence[Any]]
    ) -> Generator[MappedBatch[Any, Any], None, None]:
        try:
            for values in batches:
                self._under_way.append(_Batch(values, self._start(values)))
                if len(self._under_way) >= _FOR_EACH * self._most:
                    yield from self._next()
            while self._under_way:
                yield from self._next()
        finally:
            end_all(self._children)

    def _start(self, values: Sequence[Any]) -> Call:
        busy = Counter(batch.call.child for batch in self._under_way if not batch.call.is_over)
        if len(self._children) < self._most and all(map(busy.get, self._children)):
            self._children.append(ChildProcess(partial(_Applier, self._function)))
        child = min(self._children, key=lambda each: busy[each])
        return child.call("apply", pack(values))

    def _next(self) -> Iterator[MappedBatch[Any, Any]]:
        first = self._under_way[0]
        try:
            reply: _Reply = first.call.answer()
        except ChildLostError as lost:
            self._replace_dead(first, lost)
            return
        self._under_way.popleft()
        if reply.result is None:
            logger.info("in process %d: %s", first.call.child.pid, reply.problem)
        result = None if reply.result is None else unpack(reply.result)
        yield MappedBatch(first.values, result, platform.node())

    def _replace_dead(self, first: _Batch, lost: ChildLostError) -> None:
        """Begin again what was lost; the batch that was worked on is to blame, not the others."""
        dead = first.call.child
        self._children.remove(dead)
        first.deaths += 1
        if first.deaths >= _MOST_DEATHS:
            self._divide(first, lost)
        for batch in self._under_way:
            if batch.call.child is dead and batch.call.is_lost:
                batch.call = self._start(batch.values)

    def _divide(self, batch: _Batch, lost: ChildLostError) -> None:
        """Try the values of a batch one by one; raise if there is only one."""
        if len(batch.values) == 1:
            raise WorkerDiedError(
                f"the process that worked on {batch.values[0]!s} died {_MOST_DEATHS} times "
                f"({lost}); look for what ends it: too little memory, or a library that crashes"
            )
        self._under_way.popleft()
        for value in reversed(batch.values):
            self._under_way.appendleft(_Batch([value], self._start([value])))


@contextmanager
def local_carrier(forked: list[ChildProcess]) -> Iterator["LocalCarrier"]:
    """Start processes for one run, those that are ``forked`` already first; all end with it."""
    carrier = LocalCarrier(forked)
    try:
        yield carrier
    finally:
        end_all(carrier.started)


class LocalCarrier:
    """Starts worker processes on this machine; see ``Carrier``."""

    limits: Any = None

    def __init__(self, forked: list[ChildProcess]) -> None:
        self.cores = usable_cores()
        self.started: list[ChildProcess] = []
        self._forked = forked

    def start(self) -> ChildProcess:
        self.started.append(self._forked.pop() if self._forked else ChildProcess(Worker))
        return self.started[-1]

    def share(self, value: object) -> object:
        return value

    def call(self, process: ChildProcess, method: str, *args: object) -> Call:
        return process.call(method, *args)

    def wait(self, calls: Sequence[Call], timeout: float) -> Sequence[Call]:
        return wait_for_calls(calls, timeout)

    def reply(self, call: Call, timeout: float | None = None) -> Any:
        try:
            return call.answer(timeout)
        except ChildLostError as lost:
            raise ProcessLostError(str(lost)) from lost

    def kill(self, process: ChildProcess) -> None:
        process.kill()

    def is_down(self, node_id: str) -> bool:
        return False


class ProcessEngine(RemoteEngine):
    """Processes of this machine, each with many repetitions at once.

    Args:
        processes: How many; by default one for each core that this process may use.
    """

    def __init__(self, processes: int | None = None) -> None:
        if processes is not None and processes < 1:
            raise ConfigurationError(f"processes is {processes}; give at least 1")
        self.processes = processes or usable_cores()
        self._forked: list[ChildProcess] = []

    @contextmanager
    def forked_for(self, runs: int) -> Iterator[None]:
        """Fork the processes of so many runs now; see ``ForkingEngine``."""
        if may_fork():
            code_hash()  # which all of them would find by themselves
            self._forked += [ChildProcess(Worker) for _ in range(runs * self.processes)]
        try:
            yield
        finally:
            end_all(self._forked)
            self._forked.clear()

    def workers(self, job: Job) -> RemoteWorkers:
        """Return the workers of one run."""
        limits = Limits(self.processes, _MOST_DEATHS, _START_SECONDS)
        self._workers = RemoteWorkers(job, limits, partial(local_carrier, self._forked))
        return self._workers

    def __getstate__(self) -> dict[str, object]:
        # The options of a run hold it, and are sent to the workers with its benchmark.
        return {**vars(self), "_workers": None, "_forked": []}

    def mapped(
        self, function: Function, batches: Iterable[Sequence[Any]]
    ) -> Generator[MappedBatch[Any, Any], None, None]:
        """Yield the results of a function of batches, in their order; see ``MappingEngine``."""
        return _ProcessMap(function, self.processes).over(batches)
