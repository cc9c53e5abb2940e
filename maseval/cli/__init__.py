"""The command ``maseval``: one file for each subcommand, which parses, calls and prints.

This file is what the installed command loads first. The commands take a moment to load, in which
somebody may already press Ctrl-C, so they are loaded by ``main``, once that is taken care of.
"""

import atexit
import codecs
import gc
import io
import os
import signal
import sys

__all__ = ["main"]

INTERRUPTED = 130

_SPELLING = "maseval"
# Signs of our own texts, for streams that cannot carry them.
_SPELLED = {
    **{"→": "->", "←": "<-", "…": "...", "–": "-", "—": "-", "−": "-", "·": "-", "•": "*"},  # noqa: RUF001
    **{"≤": "<=", "≥": ">=", "±": "+/-", "×": "x", "✓": "+", "✗": "-", "\N{NO-BREAK SPACE}": " "},  # noqa: RUF001
    **{"‘": "'", "’": "'", "“": '"', "”": '"', "¹": "^1", "²": "^2", "³": "^3", "⁴": "^4"},  # noqa: RUF001
}


def main() -> None:
    """Run the installed command ``maseval``."""
    prepare_streams()
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
        sys.exit(INTERRUPTED)


def _leave(number: int, frame: object) -> None:
    # An exception would be raised inside of some module, which may take it for its own.
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)


def prepare_streams() -> None:
    """Let the standard streams take every text, whatever their encoding, and even if closed.

    The encoding stays that of the system: a terminal or the next command expects it. A character
    that it lacks is spelled out (``->``) or escaped (``\\u2708``).
    """
    codecs.register_error(_SPELLING, _spell_out)
    for name, errors in (("stdin", "replace"), ("stdout", _SPELLING), ("stderr", _SPELLING)):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _spell_out(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    spelled = (_SPELLED.get(one) or _escape(one) for one in lacking)
    return "".join(spelled), error.end


def _escape(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode("ascii")
