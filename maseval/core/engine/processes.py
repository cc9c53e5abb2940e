"""ProcessEngine: all cores of this machine, by processes of our own and nothing to install.

A ``ChildProcess`` answers calls of the methods of an object. A process with a single thread forks
itself: nothing is imported again. One with several may not, as a lock that another thread holds
would stay locked for ever; it starts a new Python. A child ends by itself when this process does,
however that happens; a pool of ``concurrent.futures`` would outlive a process that is killed.
"""

import gc
import itertools
import multiprocessing
import os
import platform
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from maseval.core.engine.dispatch import ProcessLostError
from maseval.core.engine.engines import Job, MappedBatch
from maseval.core.engine.parcel import pack, unpack
from maseval.core.engine.remote_workers import Limits, RemoteWorkers
from maseval.core.engine.worker import Worker
from maseval.core.engine.worker_setup import code_hash
from maseval.core.exceptions import ConfigurationError, WorkerDiedError

# Beside a call that waits: others that must be answered meanwhile.
_CALLS_AT_ONCE = 8
_THREADS = Path("/proc/self/task")
# A new Python imports the program that started it, and must not start others by that.
_WAY_TO_BEGIN = " before it began; let your program run it under if __name__ == '__main__':"


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Call:
    def __init__(self, child: "ChildProcess") -> None:
        self.child = child
        self.is_over = False
        self._answer: Any = None

    @property
    def is_lost(self) -> bool:
        return isinstance(self._answer, ProcessLostError)

    def end(self, answer: Any) -> None:
        self.is_over, self._answer = True, answer

    def answer(self, timeout: float | None = None) -> Any:
        """Wait for the answer; raise ``ProcessLostError`` if there is none, or ``TimeoutError``."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self.is_over:
            left = None if until is None else until - time.monotonic()
            if left is not None and left < 0:
                raise TimeoutError
            wait_for_calls([self], left)
        if self.is_lost:
            raise self._answer
        return self._answer


class ChildProcess:
    """A process that makes an object and answers calls of its methods, several at once.

    The object, what is sent and what comes back must be such that they can be pickled.
    """

    def __init__(self, make: Callable[[], object]) -> None:
        forks = may_fork()
        # Can be read when there is an answer, or when the process has ended.
        self.pipe, theirs = multiprocessing.Pipe()
        start = multiprocessing.get_context("fork" if forks else "spawn").Process  # type: ignore[attr-defined]
        given = (make, theirs, self.pipe if forks else None)
        self._process: BaseProcess = start(target=_serve, args=given, daemon=True)
        self._process.start()
        theirs.close()
        self._numbers = itertools.count()
        self._calls: dict[int, Call] = {}
        self._lost: ProcessLostError | None = None
        self._has_begun = forks

    def call(self, method: str, *args: object) -> Call:
        call = Call(self)
        if self._lost is not None:
            call.end(self._lost)
            return call
        number = next(self._numbers)
        self._calls[number] = call
        try:
            self.pipe.send((number, method, args))
        except OSError:
            self.receive()
        return call

    def receive(self) -> None:
        if self._lost is not None:
            return
        try:
            while self.pipe.poll():
                number, answer = self.pipe.recv()
                self._has_begun = True
                self._calls.pop(number).end(answer)
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode
            way = _WAY_TO_BEGIN if code == 1 and not self._has_begun else ""
            self._end(ProcessLostError(_end_in_words(code) + way))

    def kill(self) -> None:
        """End the process at once; ``join`` waits until it is gone."""
        self._process.kill()
        self._end(ProcessLostError("it was ended"))

    def join(self) -> None:
        self._process.join()

    def _end(self, lost: ProcessLostError) -> None:
        if self._lost is None:
            self._lost = lost
            self.pipe.close()
        for call in self._calls.values():
            call.end(self._lost)
        self._calls.clear()


def wait_for_calls(calls: Iterable[Call], timeout: float | None) -> list[Call]:
    """Wait until one call is over, or ``timeout`` seconds; return all that are."""
    every = list(calls)
    if not any(call.is_over for call in every):
        children = {call.child.pipe: call.child for call in every}
        for ready in connection.wait(list(children), timeout):
            children[ready].receive()  # type: ignore[index]
    return [call for call in every if call.is_over]


def end_all(children: Sequence[ChildProcess]) -> None:
    """End processes at once, and wait until they are gone; large ones take their time."""
    for child in children:
        child.kill()
    for child in children:
        child.join()


def may_fork() -> bool:
    """Return True if children of this process begin with all that it has in memory."""
    # Also threads that Python does not know of count here; other systems do not tell.
    return sys.platform == "linux" and _THREADS.is_dir() and len(os.listdir(_THREADS)) == 1


def _serve(make: Callable[[], object], pipe: Connection, others: Connection | None) -> None:
    """Answer calls until the other end of the pipe is closed, as it is when its process ends."""
    if others is not None:  # the fork has it as well, and would keep it open
        others.close()
        gc.freeze()  # what was there before is no garbage of this process
    _leave_signals_to_parent()
    target, turn = make(), threading.Lock()

    def answer(number: int, method: str, args: tuple[object, ...]) -> None:
        try:
            found = getattr(target, method)(*args)
            # No parent, no reader: the loop below sees the end of the pipe as well.
            with turn, suppress(BrokenPipeError, ConnectionResetError):
                pipe.send((number, found))
        except BaseException:  # methods do not raise: whoever waits must not wait for ever
            sys.excepthook(*sys.exc_info())
            os._exit(1)

    threads = ThreadPoolExecutor(_CALLS_AT_ONCE)
    with suppress(EOFError, OSError):
        while True:
            threads.submit(answer, *pipe.recv())
    os._exit(0)  # nobody waits for what is still being done


def _leave_signals_to_parent() -> None:
    # Ctrl-C and a closed terminal reach all processes; the parent decides what becomes of this one.
    signal.set_wakeup_fd(-1)
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            # Not SIG_IGN, which programs that are started from here would keep.
            signal.signal(getattr(signal, name), lambda number, frame: None)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end_in_words(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-code).name}"
    return f"it ended with exit code {code}"


Function = Callable[[Sequence[Any]], Any]

# A batch or a repetition whose process died so often is to blame.
_MOST_DEATHS = 3
_START_SECONDS = 600.0
# One is worked on, and the next one is there when it is finished.
_FOR_EACH = 2


class _Applier:
    """Applies a function to batches, one at a time, in a process of its own."""

    def __init__(self, function: Function | bytes) -> None:
        self._function = function
        self._turn = threading.Lock()

    def apply(self, values: bytes) -> bytes | None:
        """Return the packed result; None if there was an exception, for the caller to decide."""
        with self._turn, suppress(Exception):
            function = self._function
            if isinstance(function, bytes):
                function = self._function = unpack(function)
            return pack(function(unpack(values)))
        return None


@dataclass
class _Batch:
    values: Sequence[Any]
    call: Call
    deaths: int = 0


class _ProcessMap:
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
            # Packed, so that a function which a process cannot import is an error of its batches.
            function = self._function if may_fork() else pack(self._function)
            self._children.append(ChildProcess(partial(_Applier, function)))
        child = min(self._children, key=lambda each: busy[each])
        return child.call("apply", pack(values))

    def _next(self) -> Iterator[MappedBatch[Any, Any]]:
        first = self._under_way[0]
        try:
            result: bytes | None = first.call.answer()
        except ProcessLostError as lost:
            self._replace_dead(first, lost)
            return
        self._under_way.popleft()
        found = None if result is None else unpack(result)
        yield MappedBatch(first.values, found, platform.node())

    def _replace_dead(self, first: _Batch, lost: ProcessLostError) -> None:
        """Begin again what was lost; the batch that was worked on is to blame, not the others."""
        dead = first.call.child
        self._children.remove(dead)
        first.deaths += 1
        if first.deaths >= _MOST_DEATHS:
            self._divide(first, lost)
        for batch in self._under_way:
            if batch.call.child is dead and batch.call.is_lost:
                batch.call = self._start(batch.values)

    def _divide(self, batch: _Batch, lost: ProcessLostError) -> None:
        """Try the values of a batch one by one; raise if there is only one."""
        if len(batch.values) == 1:
            raise WorkerDiedError(
                f"the process that worked on {batch.values[0]!s} died {_MOST_DEATHS} times "
                f"({lost}); find out what kills it: too little memory, or a library that crashes"
            )
        self._under_way.popleft()
        for value in reversed(batch.values):
            self._under_way.appendleft(_Batch([value], self._start([value])))


class LocalCarrier(AbstractContextManager["LocalCarrier"]):
    """Starts worker processes on this machine for one run; see ``Carrier``.

    Those that are ``forked`` already come first; all end with the run.
    """

    def __init__(self, forked: list[ChildProcess]) -> None:
        self.cores = usable_cores()
        self._started: list[ChildProcess] = []
        self._forked = forked

    def __exit__(self, *error: object) -> None:
        end_all(self._started)

    def start(self) -> ChildProcess:
        self._started.append(self._forked.pop() if self._forked else ChildProcess(Worker))
        return self._started[-1]

    def share(self, value: object) -> object:
        return value

    def call(self, process: ChildProcess, method: str, *args: object) -> Call:
        return process.call(method, *args)

    def wait(self, calls: Sequence[Call], timeout: float) -> Sequence[Call]:
        return wait_for_calls(calls, timeout)

    def reply(self, call: Call, timeout: float | None = None) -> Any:
        return call.answer(timeout)

    def kill(self, process: ChildProcess) -> None:
        process.kill()

    def is_down(self, node_id: str) -> bool:
        return False


class ProcessEngine:
    """Processes of this machine, each with many repetitions at once.

    Args:
        processes: How many; by default one for each core that this process may use.
        force: Start as many as that, even if there are fewer cores.
    """

    def __init__(self, processes: int | None = None, *, force: bool = False) -> None:
        if processes is not None and processes < 1:
            raise ConfigurationError(f"processes is {processes}; give at least 1")
        wanted = processes or usable_cores()
        self.processes = wanted if force else min(wanted, usable_cores())
        self._force = force
        self._forked: list[ChildProcess] = []

    @contextmanager
    def forked_for(self, sizes: Iterable[int]) -> Iterator[None]:
        """Fork the processes of runs now; see ``Engine``."""
        if may_fork():
            code_hash()  # which all of them would find by themselves
            processes = sum(min(self.processes, size) for size in sizes)
            self._forked += [ChildProcess(Worker) for _ in range(processes)]
        try:
            yield
        finally:
            end_all(self._forked)
            self._forked.clear()

    def workers(self, job: Job) -> RemoteWorkers:
        limits = Limits(self.processes, _MOST_DEATHS, _START_SECONDS, force=self._force)
        return RemoteWorkers(job, limits, partial(LocalCarrier, self._forked))

    def __getstate__(self) -> dict[str, object]:
        # The options of a run hold it, and are sent to the workers with its benchmark.
        return {**vars(self), "_forked": []}

    def mapped(
        self, function: Function, batches: Iterable[Sequence[Any]]
    ) -> Generator[MappedBatch[Any, Any], None, None]:
        """Yield the results of a function of batches, in their order; see ``MappingEngine``."""
        return _ProcessMap(function, self.processes).over(batches)
