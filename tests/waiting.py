"""Waiting in tests: for a condition, never for a time.

A loaded machine takes as long as it takes, so the deadline is generous; it only keeps a test that
waits for nothing from running forever.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

DEADLINE_SECONDS = 300


def wait_until(condition: Callable[[], object], what: str = "the condition") -> None:
    """Return as soon as ``condition()`` is true; fail if it never becomes so."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {DEADLINE_SECONDS} s in vain for {what}")
        time.sleep(0.01)


@contextmanager
def hang_ups_heeded() -> Iterator[None]:
    """Let SIGHUP end processes that are started here, even if these tests run under ``nohup``."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
