"""Ctrl-C, held back while a finished result is being delivered."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class HeldInterrupts:
    """Between entering and leaving, Ctrl-C raises only where it is let through.

    One that was held back raises at the next such place, or on leaving; a second one raises at
    once, lest something that hangs could not be stopped. Does nothing outside the main thread, or
    where somebody else handles the signal.
    """

    def __init__(self) -> None:
        self._pending = False
        self._open = False
        self._installed = False

    def __enter__(self) -> "HeldInterrupts":
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            self._installed = True
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._pending and not any(exception):
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._open or self._pending:
            raise KeyboardInterrupt
        self._pending = True

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """A stretch in which Ctrl-C raises at once."""
        try:
            self._open = True
            if self._pending:
                self._pending = False
                raise KeyboardInterrupt
            yield
        finally:
            self._open = False
