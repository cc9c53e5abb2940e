"""Tells a run's callbacks what happens; a callback that fails is logged and never stops a run."""

import logging
from collections.abc import Iterable
from typing import Any

from maseval.core.callbacks.base import BenchmarkCallback, CallbackHandler

logger = logging.getLogger("maseval.core.benchmark")


class Announcer:
    """Calls one hook of every callback, in order, from the thread that runs the benchmark."""

    def __init__(self, callbacks: Iterable[BenchmarkCallback], handler: CallbackHandler) -> None:
        self._callbacks = list(callbacks)
        self._handler = handler

    def announce(self, hook: str, *args: Any, **named: Any) -> None:
        """Call ``hook`` with all arguments, then ``on_event`` with the hook's name."""
        for callback in self._callbacks:
            self._call(callback, hook, *args, *named.values())
            self._call(callback, "on_event", hook, **named)
        for function in self._handler.callbacks:
            self._guarded(
                getattr(function, "__qualname__", repr(function)), function, hook, **named
            )

    def _call(self, callback: object, method: str, *args: Any, **kwargs: Any) -> None:
        function = getattr(callback, method, None)
        if function is not None:
            self._guarded(f"{type(callback).__name__}.{method}", function, *args, **kwargs)

    def _guarded(self, name: str, function: Any, *args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except Exception as error:  # a user's callback: it observes, it does not decide
            logger.exception("Callback %s() failed: %s", name, error)
