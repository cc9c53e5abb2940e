"""Ctrl-C, held back while a finished result is delivered."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from maseval.core.engine.process import signal_handlers


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
        """A context in which Ctrl-C raises at once."""
        try:
            self._open = True
            if self._pending:
                self._pending = False
                raise KeyboardInterrupt
            yield
        finally:
            self._open = False
