"""The two streams that commands print on."""

import os
import sys

from rich.console import Console
from rich.padding import Padding

_WIDTH_OF_FILES = 120


def stdout() -> Console:
    """Results; in a pipe or file as wide as tables need."""
    return _console(sys.stdout.isatty())


def stderr() -> Console:
    """Progress and problems."""
    return _console(sys.stderr.isatty(), stderr=True)


def _console(is_terminal: bool, *, stderr: bool = False) -> Console:
    # Made anew each time, because tests and pipes exchange the streams. Where nobody says how
    # wide the output may be, tables are not squeezed into the 80 columns that rich assumes.
    console = Console(stderr=stderr, soft_wrap=False, emoji=False)
    if not is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OF_FILES
    return console


def indented(text: str, columns: int) -> Padding:
    """The text with a margin that its further lines keep."""
    return Padding(text, (0, 0, 0, columns), expand=False)
