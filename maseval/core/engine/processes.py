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
import pickle
import signal
import struct
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from maseval.core.engine.dispatch import ProcessLostError
from maseval.core.engine.engines import Job
from maseval.core.engine.remote_workers import Limits, RemoteWorkers
from maseval.core.engine.worker import Worker
from maseval.core.engine.worker_setup import code_facts
from maseval.core.exceptions import ConfigurationError

# Beside a call that waits: others that must be answered meanwhile.
_CALLS_AT_ONCE = 8
_THREADS = Path("/proc/self/task")
# A new Python imports the program that started it, and must not start others by that.
_WAY_TO_BEGIN = " before it began; let your program run it under if __name__ == '__main__':"

# Before each answer: a mark, which other bytes do not have, its size, and the call's number.
_MARK = b"maseval:"
_HEAD = struct.Struct("!8sQQ")
_MOST_AT_ONCE = 1_000_000
_END_SECONDS = 5.0

BatchT = TypeVar("BatchT")
ResultT = TypeVar("ResultT")


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
        # The pipe stays open as long as a process that an agent forked there lives.
        self.end = os.pidfd_open(self._process.pid or 0) if hasattr(os, "pidfd_open") else None
        self._numbers = itertools.count()
        self._calls: dict[int, Call] = {}
        self._received = bytearray()
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
                if not (part := os.read(self.pipe.fileno(), _MOST_AT_ONCE)):
                    raise EOFError
                self._received += part
                self._take_answers()
            if self._process.exitcode is not None and not self.pipe.poll():
                raise EOFError
        except (EOFError, OSError):
            self._process.join(_END_SECONDS)
            if self._process.is_alive():  # foreign code in it closed its pipe
                self._process.kill()
                self._process.join()
            code = self._process.exitcode
            way = _WAY_TO_BEGIN if code == 1 and not self._has_begun else ""
            self._end(ProcessLostError(_end_in_words(code) + way))

    def _take_answers(self) -> None:
        # ``Connection.recv`` would wait for the rest of what foreign bytes announce.
        try:
            while self._received:
                if not _MARK.startswith(self._received[: len(_MARK)]):
                    raise ValueError
                if len(self._received) < _HEAD.size:
                    return
                _, size, number = _HEAD.unpack_from(self._received)
                end = _HEAD.size + size
                if len(self._received) < end:
                    return
                answer = pickle.loads(self._received[_HEAD.size : end])
                del self._received[:end]
                self._has_begun = True
                self._calls.pop(number).end(answer)
        except Exception:  # whatever the bytes amount to
            self._process.kill()
            self._end(ProcessLostError("it was ended, as foreign code in it wrote to its pipe"))

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
            if self.end is not None:
                os.close(self.end)
        for call in self._calls.values():
            call.end(self._lost)
        self._calls.clear()


def wait_for_calls(calls: Iterable[Call], timeout: float | None) -> list[Call]:
    """Wait until one call is over, or ``timeout`` seconds; return all that are."""
    every = list(calls)
    if not any(call.is_over for call in every):
        children: dict[Any, ChildProcess] = {call.child.pipe: call.child for call in every}
        children |= {call.child.end: call.child for call in every if call.child.end is not None}
        for ready in connection.wait(list(children), timeout):
            children[ready].receive()
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
            data = pickle.dumps(found, pickle.HIGHEST_PROTOCOL)
            with turn, suppress(BrokenPipeError, ConnectionResetError):
                _write(pipe, _HEAD.pack(_MARK, len(data), number) + data)
        except BaseException:  # methods do not raise: whoever waits must not wait for ever
            try:
                sys.excepthook(*sys.exc_info())
            finally:  # which needs memory
                os._exit(1)

    threads = ThreadPoolExecutor(_CALLS_AT_ONCE)
    with suppress(EOFError, OSError):
        while True:
            threads.submit(answer, *pipe.recv())
    os._exit(0)  # nobody waits for what is still being done


def _write(pipe: Connection, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(pipe.fileno(), left) :]


def _leave_signals_to_parent() -> None:
    # Ctrl-C and a closed terminal reach all processes; the parent decides what becomes of this one.
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGHUP):
        # Not SIG_IGN, which programs that are started from here would keep.
        signal.signal(number, lambda number, frame: None)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end_in_words(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-code).name}"
    return f"it ended with exit code {code}"


# A repetition whose process died so often is to blame.
_MOST_DEATHS = 3
_START_SECONDS = 600.0
# One is worked on, and the next one is there when it is finished.
_FOR_EACH = 2


class _Applier:
    """Applies a function to batches, one at a time, in a process of its own."""

    def __init__(self, function: Callable[[Any], object]) -> None:
        self._function = function
        self._turn = threading.Lock()

    def apply(self, batch: Any) -> object:
        """Return the result; None if there was an exception, for the caller to decide."""
        with self._turn, suppress(Exception):
            return self._function(batch)
        return None


def map_in_forks(
    function: Callable[[BatchT], ResultT], batches: Iterable[BatchT], processes: int
) -> Generator[tuple[BatchT, ResultT | None], None, None]:
    """Yield each batch with its result, in order; only a few are in memory at once.

    None stands for what raised an exception, or ended its process: the caller does it here. Only
    where ``may_fork`` is True, as neither the function nor what it holds is sent.
    """
    children: list[ChildProcess] = []
    under_way: deque[tuple[BatchT, Call]] = deque()

    def finish_first() -> tuple[BatchT, ResultT | None]:
        batch, call = under_way.popleft()
        try:
            return batch, call.answer()
        except ProcessLostError:
            with suppress(ValueError):  # another of its batches came first
                children.remove(call.child)
            return batch, None

    try:
        for batch in batches:
            busy = Counter(call.child for _, call in under_way if not call.is_over)
            if len(children) < processes and all(map(busy.get, children)):
                children.append(ChildProcess(partial(_Applier, function)))
            child = min(children, key=lambda each: busy[each])
            under_way.append((batch, child.call("apply", batch)))
            if len(under_way) >= _FOR_EACH * processes:
                yield finish_first()
        while under_way:
            yield finish_first()
    finally:
        end_all(children)


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
            code_facts()  # which all of them would find by themselves
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
