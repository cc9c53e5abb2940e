"""Servers that run until they are told to end."""

import signal
from contextlib import AbstractContextManager
from types import FrameType
from typing import NoReturn

from maseval.core.engine.process import signal_handlers


def ended_by_signals() -> AbstractContextManager[None]:
    """Both signals raise, also in a background job, where a shell has Ctrl-C ignored."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    return signal_handlers({signal.SIGINT: end, signal.SIGTERM: end})
