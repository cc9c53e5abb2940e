"""``--view``: the page of a run, opened while it is running and kept for as long as it is read."""

import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from maseval import commands
from maseval.cli.console import inert, stderr
from maseval.cli.signals import ended_by_signals


class Watching:
    """Shows the address when a run begins; after the run the same page stays, in a terminal."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._port = 0

    def on_view(self, address: str) -> None:
        """Say where the page is, and open it if somebody is there."""
        self._port = urlsplit(address).port or 0
        _say(f"Watch it at [bold]{inert(address)}[/]")
        if _somebody_is_there():
            webbrowser.open(address)

    def stay(self, run: Path) -> None:
        """Serve the finished run until Ctrl-C, unless nobody could press it."""
        if not (self._wanted and _somebody_is_there()):
            return
        viewer = commands.view(run, port=self._port)
        with ended_by_signals(), suppress(KeyboardInterrupt), viewer.server:
            _say(f"The page stays at [bold]{inert(viewer.address)}[/] (Ctrl-C ends it)")
            viewer.server.wait()


def _somebody_is_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _say(words: str) -> None:
    stderr().print(words, highlight=False, soft_wrap=True)
