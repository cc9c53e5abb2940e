"""Notifies a run's callbacks; a callback that fails is logged and never stops a run.

One exception: before anything has run, a callback may refuse the run because of its configuration,
for example because its output file exists.
"""

import logging
from collections.abc import Callable, Iterable

from maseval.core.callbacks.base import BenchmarkCallback, CallbackHandler
from maseval.core.exceptions import ConfigurationError, OutputExistsError

# The name that users know: it is the benchmark's run in which a callback failed.
logger = logging.getLogger("maseval.core.benchmark")


_REFUSALS = (ConfigurationError, OutputExistsError)


class Announcer:
    """Calls one hook of every callback, in order, in the thread that runs the benchmark.

    A callback's ``on_event``, and each function of ``handler``, receives the hook's name and its
    arguments by keyword.
    """

    def __init__(self, callbacks: Iterable[BenchmarkCallback], handler: CallbackHandler) -> None:
        self._callbacks = list(callbacks)
        self._handler = handler

    def announce(self, hook: str, benchmark: object, **told: object) -> None:
        """Call ``hook`` with the benchmark and its arguments."""
        for callback in self._callbacks:
            name = type(callback).__name__
            _call(f"{name}.{hook}", getattr(callback, hook, None), benchmark, *told.values())
            _call(f"{name}.on_event", getattr(callback, "on_event", None), hook, **told)
        for function in tuple(self._handler.callbacks):
            _call(getattr(function, "__qualname__", repr(function)), function, hook, **told)


def _call(
    name: str, function: Callable[..., object] | None, *args: object, **kwargs: object
) -> None:
    if function is None:
        return
    try:
        function(*args, **kwargs)
    except Exception as error:  # a user's callback: it observes, it does not decide
        if name.endswith(".on_run_start") and isinstance(error, _REFUSALS):
            raise
        logger.exception("Callback %s() failed: %s", name, error)
