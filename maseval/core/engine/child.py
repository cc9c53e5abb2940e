"""ChildProcess: a process of its own on this machine, in which the methods of an object are called.

A process with a single thread forks itself: nothing is imported again. One with several may not, as
a lock that another thread holds would stay locked for ever; it starts a new Python. A child ends by
itself when this process does, however that happens.
"""

import gc
import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from maseval.core.exceptions import MASEvalError

# Beside a call that waits: others that must be answered meanwhile.
_CALLS_AT_ONCE = 8
_THREADS = Path("/proc/self/task")
# A new Python imports the program that started it, and must not start others by that.
_WAY_TO_BEGIN = " before it began; let your program run it under if __name__ == '__main__':"


class ChildLostError(MASEvalError, RuntimeError):
    """The process ended before it answered."""


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Call:
    """A call of a method in a child."""

    def __init__(self, child: "ChildProcess") -> None:
        self.child = child
        self.is_over = False
        self._answer: Any = None

    @property
    def is_lost(self) -> bool:
        """True if the process ended before it answered."""
        return isinstance(self._answer, ChildLostError)

    def end(self, answer: Any) -> None:
        self.is_over, self._answer = True, answer

    def answer(self, timeout: float | None = None) -> Any:
        """Wait for the answer; raise ``ChildLostError`` if there is none, or ``TimeoutError``."""
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
        self._pipe, theirs = multiprocessing.Pipe()
        start = multiprocessing.get_context("fork" if forks else "spawn").Process  # type: ignore[attr-defined]
        given = (make, theirs, self._pipe if forks else None)
        self._process: BaseProcess = start(target=_serve, args=given, daemon=True)
        self._process.start()
        theirs.close()
        self._numbers = itertools.count()
        self._calls: dict[int, Call] = {}
        self._lost: ChildLostError | None = None
        self._has_begun = forks

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid or 0

    @property
    def pipe(self) -> Connection:
        """The pipe that can be read when there is an answer, or when the process has ended."""
        return self._pipe

    def call(self, method: str, *args: object) -> Call:
        """Begin to call a method."""
        call = Call(self)
        if self._lost is not None:
            call.end(self._lost)
            return call
        number = next(self._numbers)
        self._calls[number] = call
        try:
            self._pipe.send((number, method, args))
        except OSError:
            self.receive()
        return call

    def receive(self) -> None:
        """Take all answers that are there."""
        if self._lost is not None:
            return
        try:
            while self._pipe.poll():
                number, answer = self._pipe.recv()
                self._has_begun = True
                self._calls.pop(number).end(answer)
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode
            way = _WAY_TO_BEGIN if code == 1 and not self._has_begun else ""
            self._end(ChildLostError(_end_in_words(code) + way))

    def kill(self) -> None:
        """End the process at once; ``join`` waits until it is gone."""
        self._process.kill()
        self._end(ChildLostError("it was ended"))

    def join(self) -> None:
        self._process.join()

    def _end(self, lost: ChildLostError) -> None:
        if self._lost is None:
            self._lost = lost
            self._pipe.close()
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
    """Tell whether children of this process begin with all that it has in memory."""
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
            with turn:
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
