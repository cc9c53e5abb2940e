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
from typing import NoReturn

__all__ = ["main"]

INTERRUPTED = 130
_exit = os._exit
_UNFINISHED = (INTERRUPTED, 3)  # see docs/running.md


def main() -> None:
    """Run the installed command ``maseval``."""
    prepare_streams()
    _refuse_early_success()
    # A command has little garbage: looking for it as often as usual, and once more at the end,
    # takes a sixth of its time.
    gc.set_threshold(200_000)
    atexit.register(gc.freeze)
    try:
        before = signal.getsignal(signal.SIGINT)
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, _leave)
        from maseval.cli.app import run_command

        signal.signal(signal.SIGINT, before)
        run_command(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        _leave_soon(INTERRUPTED)
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        _leave_soon(end.code)
        raise


def _refuse_early_success() -> None:
    """Let ``os._exit(0)`` of somebody's code end the command with 1: it did not end by itself."""
    process = os.getpid()

    def leave_early(status: int) -> NoReturn:
        if status == 0 and os.getpid() == process:  # a forked process may end as it likes
            os.write(2, b"Error: somebody's code ended the process by os._exit(0)\n")
            status = 1
        _exit(status)

    os._exit = leave_early


def _leave_soon(code: object) -> None:
    """Limit how long threads that an agent left behind may keep the process from ending."""
    number = code if isinstance(code, int) else int(code is not None)
    if number == 0:
        os._exit = _exit  # all is done
    signal.signal(signal.SIGALRM, lambda *about: _exit(number))
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
