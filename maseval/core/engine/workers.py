"""Workers: a repetition runs in the calling thread or in a worker thread."""

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Protocol

from maseval.core.engine.process import switch_interval
from maseval.core.engine.repetition import Repetition, RepetitionResult

RunRepetition = Callable[[Repetition], RepetitionResult]
Finished = tuple[Repetition, RepetitionResult]


class Workers(Protocol):
    """Runs repetitions.

    Waiting and taking are two steps, so that Ctrl-C while waiting loses no finished result.
    """

    size: int

    def open(self) -> AbstractContextManager[None]:
        """The context around all other calls; nothing is started afterwards."""

    def submit(self, repetition: Repetition) -> None:
        """Start a repetition; at most ``size`` may be unfinished."""

    def wait(self, timeout: float | None) -> None:
        """Return when a repetition has finished, or after ``timeout`` seconds."""

    def take(self) -> Finished | None:
        """A finished repetition, if there is one."""

    def give_up(self, repetition: Repetition) -> RepetitionResult | None:
        """Replace the worker of this repetition, which is late.

        Returns what it has done so far; it is never taken. None if it is not late after all,
        because it was begun again in the meantime.
        """


class CallingThread:
    """Runs one repetition at a time, in the thread that waits for it."""

    size = 1

    def __init__(self, run: RunRepetition) -> None:
        self._run = run
        self._work: Repetition | None = None
        self._finished: Finished | None = None

    def open(self) -> AbstractContextManager[None]:
        return nullcontext()

    def submit(self, repetition: Repetition) -> None:
        self._work = repetition

    def wait(self, timeout: float | None) -> None:
        repetition, self._work = self._work, None
        if repetition:
            self._finished = repetition, self._run(repetition)

    def take(self) -> Finished | None:
        finished, self._finished = self._finished, None
        return finished

    def give_up(self, repetition: Repetition) -> RepetitionResult:
        raise AssertionError("what runs in the calling thread is finished before it can be late")


# A thread that waits for the interpreter asks for it again after each switch interval. With a
# thousand of them, Python's 5 ms would leave the machine little time for anything else.
_INTERVAL_PER_THREAD = 0.0001


class Threads:
    """Runs up to ``size`` repetitions at once.

    The threads are daemons: one that hangs forever blocks neither the run nor the exit of the
    process.
    """

    def __init__(self, run: RunRepetition, size: int) -> None:
        self.size = size
        self._run = run
        self._work: queue.SimpleQueue[Repetition | None] = queue.SimpleQueue()
        self._finished: deque[Finished] = deque()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._threads = 0
        self._busy = 0

    @contextmanager
    def open(self) -> Iterator[None]:
        with switch_interval(min(self.size * _INTERVAL_PER_THREAD, 0.1)):
            try:
                yield
            finally:
                self._work.put(None)

    def submit(self, repetition: Repetition) -> None:
        self._busy += 1
        if self._busy > self._threads:
            threading.Thread(target=self._serve, daemon=True, name="maseval-worker").start()
            self._threads += 1
        self._work.put(repetition)

    def _serve(self) -> None:
        while (repetition := self._work.get()) is not None:
            if not repetition.context.abandoned:
                self._finished.append((repetition, self._run(repetition)))
                self._bell.put(None)
            if repetition.context.abandoned:
                return  # another thread has taken this one's place
        self._work.put(None)  # for the next thread

    def wait(self, timeout: float | None) -> None:
        limit = None if timeout is None else min(timeout, threading.TIMEOUT_MAX)
        with suppress(queue.Empty):
            self._bell.get(timeout=limit)
            while True:  # handle all finished repetitions in the same round
                self._bell.get_nowait()

    def take(self) -> Finished | None:
        while self._finished:
            repetition, outcome = self._finished.popleft()
            if not repetition.context.abandoned:
                self._busy -= 1
                return repetition, outcome
        return None

    def give_up(self, repetition: Repetition) -> RepetitionResult:
        outcome = repetition.given_up()
        self._busy -= 1
        self._threads -= 1
        return outcome
