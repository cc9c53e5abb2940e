"""Child processes of this one, and functions that are applied in several at once.

A ``ChildProcess`` sends and receives values. A process with a single thread forks itself: nothing
is imported again. One with several may not, as a lock that another thread holds would stay locked
for ever; it starts a new Python. A child ends by itself when this process does, however that
happens; a pool of ``concurrent.futures`` would outlive a process that is killed.

What only Linux has is asked for here and nowhere else in the engine. Without it, as on macOS, every
child is a new Python, and its end is noticed up to a second later.
"""

import gc
import multiprocessing
import os
import pickle
import queue
import signal
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

_THREADS = Path("/proc/self/task")
# A new Python imports the program that started it, and must not start others by that.
_WAY_TO_BEGIN = " before it began; let your program run it under if __name__ == '__main__':"

# Before each value: a mark, which other bytes do not have, and its size.
_MARK = b"maseval:"
_HEAD = struct.Struct("!8sQ")
_MOST_AT_ONCE = 1_000_000
# A process whose pipe has ended has the first to end itself. The second lies between two looks
# for the end of one, where the system does not report it.
_END_SECONDS = 5.0
_LOOK_SECONDS = 1.0

BatchT = TypeVar("BatchT")
ResultT = TypeVar("ResultT")


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Channel:
    """The way from a child to its parent, and back."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def received(self) -> Iterator[Any]:
        """Yield what the parent sends, until it ends."""
        with suppress(EOFError, OSError):
            while True:
                yield self._pipe.recv()

    def send(self, value: object) -> None:
        """Send a value; only one thread may do so."""
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        left = memoryview(_HEAD.pack(_MARK, len(data)) + data)
        # No parent, no reader: whoever receives sees the end of the pipe as well.
        with suppress(BrokenPipeError, ConnectionResetError):
            while left:
                left = left[os.write(self._pipe.fileno(), left) :]


class ChildProcess:
    """A process that runs ``serve`` with its channel; what is sent is pickled."""

    def __init__(self, serve: Callable[[Channel], None]) -> None:
        forks = may_fork()
        self.lost = ""
        """Why nothing more comes from it."""
        # Can be read when there is a value, or when the process has ended.
        self.pipe, theirs = multiprocessing.Pipe()
        start = multiprocessing.get_context("fork" if forks else "spawn").Process  # type: ignore[attr-defined]
        given = (serve, theirs, self.pipe if forks else None)
        self._process: BaseProcess = start(target=_serve, args=given, daemon=True)
        self._process.start()
        # While this process held that end as well, it would never see it closed.
        theirs.close()
        # The pipe stays open as long as a process that an agent forked there lives.
        self.end = os.pidfd_open(self.number) if hasattr(os, "pidfd_open") else None
        self._received = bytearray()
        self._has_begun = forks

    @property
    def number(self) -> int:
        return self._process.pid or 0

    def send(self, value: object) -> None:
        with suppress(OSError):  # it has ended, as whoever receives will see
            self.pipe.send(value)

    def receive(self) -> list[Any]:
        """Return what it has sent; nothing comes any more where ``lost`` says why."""
        values: list[Any] = []
        try:
            while not self.lost and self.pipe.poll():
                if not (part := os.read(self.pipe.fileno(), _MOST_AT_ONCE)):
                    raise EOFError
                self._received += part
                values += self._taken()
            if not self.lost and self._process.exitcode is not None and not self.pipe.poll():
                raise EOFError
        except (EOFError, OSError):
            self._process.join(_END_SECONDS)
            if self._process.is_alive():
                self.kill("foreign code in it closed the pipe to the process that began it")
            else:
                code = self._process.exitcode
                way = _WAY_TO_BEGIN if code == 1 and not self._has_begun else ""
                self.kill(_end_in_words(code) + way)
        return values

    def _taken(self) -> Iterator[Any]:
        # ``Connection.recv`` would wait for the rest of what foreign bytes announce.
        try:
            while self._received:
                if not _MARK.startswith(self._received[: len(_MARK)]):
                    raise ValueError
                if len(self._received) < _HEAD.size:
                    return
                end = _HEAD.size + _HEAD.unpack_from(self._received)[1]
                if len(self._received) < end:
                    return
                value = pickle.loads(self._received[_HEAD.size : end])
                del self._received[:end]
                self._has_begun = True
                yield value
        except Exception:  # whatever the bytes amount to
            self.kill("it was ended, as foreign code in it wrote to its pipe")

    def kill(self, why: str = "it was ended") -> None:
        """End the process at once; ``join`` waits until it is gone."""
        self._process.kill()
        if not self.lost:
            self.lost = why
            self.pipe.close()
            if self.end is not None:
                os.close(self.end)

    def join(self) -> None:
        self._process.join()


def wait_for(children: Iterable[ChildProcess], timeout: float | None) -> None:
    """Wait until one of them has sent something or ended, or for ``timeout`` seconds.

    It may return earlier: where the system does not report the end of a process, look for it.
    """
    given = list(children)
    if any(child.end is None for child in given):
        timeout = _LOOK_SECONDS if timeout is None else min(timeout, _LOOK_SECONDS)
    ends = [end for child in given for end in (child.pipe, child.end) if end is not None]
    if not any(child.lost for child in given):
        connection.wait(ends, timeout)


def end_all(children: Sequence[ChildProcess]) -> None:
    """End processes at once, and wait until they are gone; large ones take their time."""
    for child in children:
        child.kill()
    for child in children:
        child.join()


def may_fork() -> bool:
    """Return True if children of this process begin with all that it has in memory."""
    # Also threads that Python does not know of count here; only Linux has such a list.
    return _THREADS.is_dir() and len(os.listdir(_THREADS)) == 1


def _serve(serve: Callable[[Channel], None], pipe: Connection, others: Connection | None) -> None:
    """Serve until the other end of the pipe is closed, as it is when its process ends."""
    if others is not None:  # the fork has it as well, and would keep it open
        others.close()
        gc.freeze()  # what was there before is no garbage of this process
    _leave_signals_to_parent()
    _or_end(serve, Channel(pipe))
    os._exit(0)  # nobody waits for what is still being done


def _or_end(work: Callable[..., None], *args: object) -> None:
    """Do it; an exception ends the process, as whoever waits must not wait for ever."""
    try:
        work(*args)
    except BaseException:
        try:
            sys.excepthook(*sys.exc_info())
        finally:  # which needs memory
            os._exit(1)


def _leave_signals_to_parent() -> None:
    # Ctrl-C and a closed terminal reach all processes; the parent decides what becomes of this one.
    # A fork has the parent's, whose event loop would be woken by the signals of its children.
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


def start_thread(target: Callable[[], None]) -> None:
    threading.Thread(target=_or_end, args=(target,), daemon=True, name="maseval-worker").start()


# One is worked on, and the next one is there when it is finished.
_FOR_EACH = 2


def _apply(function: Callable[[Any], object], channel: Channel) -> None:
    """Send the result of each batch; None if there was an exception, for the parent to decide."""
    batches: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def work() -> None:
        while True:
            batch, result = batches.get(), None
            with suppress(Exception):
                result = function(batch)
            channel.send(result)

    # So that this one sees the end of the parent whatever the function does.
    start_thread(work)
    for batch in channel.received():
        batches.put(batch)


class _Applier(ChildProcess):
    """Applies a function to batches, one at a time."""

    def __init__(self, function: Callable[[Any], object]) -> None:
        super().__init__(partial(_apply, function))
        self._results = deque[Any]()
        self._sent = 0

    def give(self, batch: object) -> None:
        self.send(batch)
        self._sent += 1

    def busy(self) -> int:
        """Return how many batches it has yet to work on."""
        self._results += self.receive()
        return self._sent - len(self._results)

    def result(self) -> Any:
        """Wait for the next result; None if there was an exception, or the process has ended."""
        while not self._results and not self.lost:
            wait_for([self], None)
            self._results += self.receive()
        self._sent -= 1
        return self._results.popleft() if self._results else None


def map_in_forks(
    function: Callable[[BatchT], ResultT], batches: Iterable[BatchT], processes: int
) -> Generator[tuple[BatchT, ResultT | None], None, None]:
    """Yield each batch with its result, in order; only a few are in memory at once.

    None stands for what raised an exception, or ended its process: the caller does it here. Only
    where ``may_fork`` is True, as neither the function nor what it holds is sent.
    """
    children: list[_Applier] = []
    under_way: deque[tuple[BatchT, _Applier]] = deque()

    def finish_first() -> tuple[BatchT, ResultT | None]:
        batch, child = under_way.popleft()
        return batch, child.result()

    try:
        for batch in batches:
            alive = [child for child in children if not child.lost]
            # Another one only when all have something to do: short lists need few processes.
            if len(alive) < processes and all(child.busy() for child in alive):
                children.append(_Applier(function))
                alive.append(children[-1])
            child = min(alive, key=_Applier.busy)
            child.give(batch)
            under_way.append((batch, child))
            if len(under_way) >= _FOR_EACH * processes:
                yield finish_first()
        while under_way:
            yield finish_first()
    finally:
        end_all(children)
