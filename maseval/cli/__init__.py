"""The command ``maseval``: one file for each subcommand, which parses, calls and prints.

This file is what the installed command loads first. The commands take a moment to load, in which
somebody may already press Ctrl-C, so they are loaded by ``main``, once that is taken care of.
"""

import atexit
import gc
import io
import os
import signal
import sys

__all__ = ["main"]

INTERRUPTED = 130
_UNFINISHED = (INTERRUPTED, 3)  # see docs/running.md


def main() -> None:
    """Run the installed command ``maseval``."""
    prepare_streams()
    # A command has little garbage: looking for it as often as usual, and once more at the end,
    # takes a sixth of its time.
    gc.set_threshold(200_000)
    atexit.register(gc.freeze)
    try:
        before = signal.getsignal(signal.SIGINT)
        # Somebody who runs us in a process of his own may have a handler, which stays.
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, _leave)
        from maseval.cli.app import run_command
        from maseval.core.engine.process_settings import refuse_early_success

        allow_success = refuse_early_success()
        # All modules are loaded, so from here on an exception finds its way to the handler below.
        signal.signal(signal.SIGINT, before)
        run_command(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        _leave_soon(INTERRUPTED)
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        # Only now: an os._exit(0) before this was somebody else's, and no success.
        if not end.code:
            allow_success()
        _leave_soon(end.code)
        raise


def _leave_soon(code: object) -> None:
    """Limit how long threads that an agent left behind may keep the process from ending."""
    # As Python does at its end: None means success, and a text means failure.
    number = code if isinstance(code, int) else int(code is not None)
    signal.signal(signal.SIGALRM, lambda *about: os._exit(number))
    # Whoever broke a run off does not want to wait for the threads of its agents.
    signal.setitimer(signal.ITIMER_REAL, 1.0 if number in _UNFINISHED else 30.0)


def _leave(number: int, frame: object) -> None:
    # An exception would be raised inside of some module, which may take it for its own.
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)


def prepare_streams() -> None:
    """Let the standard streams take every text, whatever their encoding, and even if closed.

    The encoding stays that of the system: a terminal or the next command expects it. A character
    that it lacks is escaped (``\\u2708``).
    """
    escape = "backslashreplace"
    for name, errors in (("stdin", "replace"), ("stdout", escape), ("stderr", escape)):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
