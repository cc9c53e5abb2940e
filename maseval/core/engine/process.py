"""Process-wide settings that a run changes: thread switching, garbage collection, signals.

Runs may overlap, in one thread or in several. Each setting tracks all open requests and returns to
its original value when the last one ends. Ctrl-C is held back while a finished result is delivered.
"""

import gc
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import reduce
from types import FrameType
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")
Thresholds = tuple[int, int, int]
SignalHandler = Callable[[int, FrameType | None], object] | int


class _SharedSetting(Generic[ValueT]):
    """One setting; its value combines the original with every request that is still open."""

    def __init__(
        self,
        read: Callable[[], ValueT],
        write: Callable[[ValueT], None],
        combine: Callable[[ValueT, ValueT], ValueT],
    ) -> None:
        self._read = read
        self._write = write
        self._combine = combine
        self._lock = threading.Lock()
        self._requests: list[ValueT] = []
        self._original: ValueT

    @contextmanager
    def request(self, value: ValueT) -> Iterator[None]:
        with self._lock:
            if not self._requests:
                self._original = self._read()
            self._requests.append(value)
            self._apply()
        try:
            yield
        finally:
            with self._lock:
                self._requests.remove(value)
                self._apply()

    def _apply(self) -> None:
        self._write(reduce(self._combine, self._requests, self._original))


def _rarer(current: Thresholds, requested: Thresholds) -> Thresholds:
    if current[0] == 0:  # the process never collects
        return current
    first, second, third = map(max, zip(current, requested, strict=True))
    return first, second, third


def _set_switch_interval(seconds: float) -> None:
    # Python cuts off parts of a microsecond, and would lose one each time a value is put back.
    sys.setswitchinterval(seconds + 5e-7)


_switching = _SharedSetting(sys.getswitchinterval, _set_switch_interval, max)
_collecting = _SharedSetting(gc.get_threshold, lambda values: gc.set_threshold(*values), _rarer)

# By default Python looks for garbage after every 700 new objects, and now and then visits every
# live object. With a thousand simulations in flight that took a third of all the work and found
# nothing: what a repetition leaves behind is freed by reference counting.
_RARE: Thresholds = (200_000, 20, 50)
# About what a simulation itself holds. With fewer, each look finds what has just begun to be used.
_OBJECTS_IN_FLIGHT = 1_000


def switch_interval(seconds: float) -> AbstractContextManager[None]:
    """Let a thread keep the interpreter for at least ``seconds`` before another may take over."""
    return _switching.request(seconds)


# Of prctl, since Linux 6.16.
_FUTEX_HASH, _SET_SLOTS = 78, 1
_SLOTS = 4096


def spread_waiting_threads() -> None:
    """Let Linux keep waiting threads in many lists.

    It has 16 for a process on two cores, and goes through a whole list to wake one thread up. With
    thousands that wait for the interpreter this took up to half of all processor time, by chance:
    if the lock that each of them takes and leaves has its place in the list where they wait.
    """
    # Earlier kernels refuse it, and have one large table for all processes.
    with suppress(ImportError, AttributeError, OSError):
        if sys.platform == "linux":
            import ctypes  # not every Python has it, and few runs need it

            unused = ctypes.c_ulong(0)
            ctypes.CDLL(None).prctl(_FUTEX_HASH, _SET_SLOTS, ctypes.c_ulong(_SLOTS), unused, unused)


def rare_garbage_collection(in_flight: int = 1) -> AbstractContextManager[None]:
    """Collect garbage less often, by the number of simulations that run at once.

    A process that collects never, or even less, keeps to that.
    """
    return _collecting.request((max(_RARE[0], in_flight * _OBJECTS_IN_FLIGHT), *_RARE[1:]))


@contextmanager
def signal_handlers(handlers: Mapping[signal.Signals, SignalHandler]) -> Iterator[None]:
    """Handle signals this way; the handlers installed last win while they are in place.

    Does nothing outside the main thread, the only one in which Python allows it.
    """
    with ExitStack() as installed:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                installed.enter_context(_handle_signal(number, handler))
        yield


def end_signals(handle: SignalHandler) -> AbstractContextManager[None]:
    """Handle all signals that ask a process to end: Ctrl-C, SIGTERM, and SIGHUP.

    SIGHUP comes when a terminal is closed. What is still printed then goes nowhere, so that it does
    not fail. Where SIGHUP is ignored, as with ``nohup``, it stays so.
    """
    handlers: dict[signal.Signals, SignalHandler]
    handlers = {signal.SIGINT: handle, signal.SIGTERM: handle}
    hang_up: signal.Signals | None = getattr(signal, "SIGHUP", None)  # Windows has none
    if hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:

        def leave_terminal(number: int, frame: FrameType | None) -> None:
            _release_closed_terminal()
            if callable(handle):
                handle(number, frame)

        handlers[hang_up] = leave_terminal
    return signal_handlers(handlers)


def _release_closed_terminal() -> None:
    for stream in (0, 1, 2):
        with suppress(OSError):  # not open at all
            is_device = stat.S_ISCHR(os.fstat(stream).st_mode)
            if is_device and not os.isatty(stream):
                nowhere = os.open(os.devnull, os.O_RDWR)
                os.dup2(nowhere, stream)
                os.close(nowhere)


class _Installed:
    """One handler in place; two of the same function are still two."""

    def __init__(self, handler: SignalHandler) -> None:
        self.handler = handler


# For each signal its handlers in order of installation, below them the one that was there before.
_handlers: dict[signal.Signals, list[_Installed]] = {}


@contextmanager
def _handle_signal(number: signal.Signals, handler: SignalHandler) -> Iterator[None]:
    original = signal.getsignal(number)
    if original is None:  # installed from C: it could not be put back
        yield
        return
    stack = _handlers.setdefault(number, [_Installed(original)])
    mine = _Installed(handler)
    stack.append(mine)
    try:
        signal.signal(number, handler)
        yield
    finally:
        if stack[-1] is mine:
            signal.signal(number, stack[-2].handler)
        stack.remove(mine)
        if len(stack) == 1:
            del _handlers[number]


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
        """Yield a context in which Ctrl-C raises at once."""
        try:
            self._open = True
            if self._pending:
                self._pending = False
                raise KeyboardInterrupt
            yield
        finally:
            self._open = False
