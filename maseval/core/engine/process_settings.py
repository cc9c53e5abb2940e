"""Process-wide settings that a run changes: thread switching and signals.

Ctrl-C is held back while a finished result is delivered.
"""

import faulthandler
import os
import resource
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from types import FrameType
from typing import NoReturn

SignalHandler = Callable[[int, FrameType | None], object] | int

_lock = threading.Lock()
_open_contexts = 0
_usual_interval = 0.0


@contextmanager
def switch_interval(seconds: float) -> Iterator[None]:
    """Let a thread keep the interpreter for at least ``seconds`` before another may take over.

    Runs may overlap: the longest interval holds, and the original returns with the last end.
    """
    global _open_contexts, _usual_interval
    with _lock:
        present = sys.getswitchinterval()
        if not _open_contexts:
            _usual_interval = present
        _open_contexts += 1
        _set_switch_interval(max(present, seconds))
    try:
        yield
    finally:
        with _lock:
            _open_contexts -= 1
            if not _open_contexts:
                _set_switch_interval(_usual_interval)


def _set_switch_interval(seconds: float) -> None:
    # Python cuts off parts of a microsecond, and would lose one each time a value is put back.
    sys.setswitchinterval(seconds + 5e-7)


@contextmanager
def signal_handlers(handlers: Mapping[signal.Signals, SignalHandler]) -> Iterator[None]:
    """Handle signals this way within the context.

    Does nothing outside the main thread, the only one in which Python allows it.
    """
    before: dict[signal.Signals, SignalHandler] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                original = signal.getsignal(number)
                if original is not None:  # else installed from C: it could not be put back
                    before[number] = original
                    signal.signal(number, handler)
        yield
    finally:
        for number, original in before.items():
            signal.signal(number, original)


# A process in which no thread has its turn for so long stands still for ever.
_STANDSTILL_SECONDS = 30.0
_BEAT_SECONDS = 1.0


@contextmanager
def ended_by_standstill(seconds: float | None = None) -> Iterator[None]:
    """Within the context, end the process if a thread waits for its turn for so many seconds.

    Python 3.11 tries for ever to handle a lack of memory where a process may not have more
    (``ulimit -v``), and no other thread has its turn: neither a handler of signals nor a deadline.
    """
    over, limit = threading.Event(), _STANDSTILL_SECONDS if _has_memory_limit() else seconds

    def beat() -> None:
        while not over.is_set():
            with suppress(RuntimeError, MemoryError):  # there is too little for what watches
                faulthandler.dump_traceback_later(limit or 0, exit=True, file=sys.__stderr__ or 2)
                over.wait(_BEAT_SECONDS)
        faulthandler.cancel_dump_traceback_later()

    if limit is not None:
        with suppress(RuntimeError):
            threading.Thread(target=beat, daemon=True, name="maseval-beat").start()
    try:
        yield
    finally:
        over.set()


# After each switch interval a thread that waits for the interpreter goes to the end of the queue.
# Within this one each of thousands has a turn: otherwise those that wait longest, as they have yet
# to begin, are overtaken again and again.
_INTERVAL_PER_THREAD, _LONGEST_INTERVAL = 0.001, 5.0


@contextmanager
def many_threads(number: int, *, standstill: float | None = None) -> Iterator[None]:
    """Let so many threads take their turns, and end the process where none has one any more."""
    interval = min(number * _INTERVAL_PER_THREAD, _LONGEST_INTERVAL)
    with switch_interval(interval), ended_by_standstill(standstill):
        yield


@cache
def _has_memory_limit() -> bool:
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def refuse_early_success() -> Callable[[], None]:
    """Let ``os._exit(0)`` of somebody's code end this process with 1; return what allows it again.

    A process that is forked from here may end as it likes.
    """
    leave, process, is_refused = os._exit, os.getpid(), True

    def leave_early(status: int) -> NoReturn:
        if is_refused and status == 0 and os.getpid() == process:
            os.write(2, b"Error: somebody's code ended the process by os._exit(0)\n")
            status = 1
        leave(status)

    def allow() -> None:
        nonlocal is_refused
        is_refused = False
        if os._exit is leave_early:
            os._exit = leave

    os._exit = leave_early
    return allow


def end_after(seconds: float) -> None:
    """Let the system end this process after so many seconds, whatever it does."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def end_signals(handle: SignalHandler) -> AbstractContextManager[None]:
    """Handle all signals that ask a process to end: Ctrl-C, SIGTERM, and SIGHUP.

    SIGHUP comes when a terminal is closed. What is still printed then goes nowhere, so that it does
    not fail. Where SIGHUP is ignored, as with ``nohup``, it stays so.
    """
    handlers: dict[signal.Signals, SignalHandler]
    handlers = {signal.SIGINT: handle, signal.SIGTERM: handle}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:

        def leave_terminal(number: int, frame: FrameType | None) -> None:
            for stream in (0, 1, 2):
                with suppress(OSError):  # not open at all
                    is_device = stat.S_ISCHR(os.fstat(stream).st_mode)
                    if is_device and not os.isatty(stream):
                        nowhere = os.open(os.devnull, os.O_RDWR)
                        os.dup2(nowhere, stream)
                        os.close(nowhere)
            if callable(handle):
                handle(number, frame)

        handlers[signal.SIGHUP] = leave_terminal
    return signal_handlers(handlers)


class HeldInterrupts:
    """Within the context, Ctrl-C raises only where it is let through.

    A pending one raises at the next such place, or on leaving; a second one raises at once, so that
    something that hangs can still be stopped. Does nothing outside the main thread, or where the
    signal already has another handler.
    """

    def __init__(self) -> None:
        self._pending = False
        self._open = False
        self._installed = ExitStack()

    def __enter__(self) -> "HeldInterrupts":
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._installed.enter_context(signal_handlers({signal.SIGINT: self._handle}))
        return self

    def __exit__(self, *exception: object) -> None:
        self._installed.close()
        if self._pending and not any(exception):
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._open or self._pending:
            raise KeyboardInterrupt
        self._pending = True

    @contextmanager
    def let_through(self) -> Iterator[None]:
        try:
            self._open = True
            if self._pending:
                self._pending = False
                raise KeyboardInterrupt
            yield
        finally:
            self._open = False
