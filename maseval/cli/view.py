"""``maseval view``, and ``--view`` of a run: the page, kept for as long as it is read."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from maseval import commands
from maseval.cli.console import ended_by_signals, inert, print_unreadable, stderr, stdout, telling
from maseval.cli.groups import examples
from maseval.cli.options import argument, flag, option
from maseval.core.exceptions import ConfigurationError
from maseval.core.words import count_of

EXAMPLES = examples(
    ("maseval view", "all runs below ./runs, in the browser"),
    ("maseval view last", "the latest run, live while it is running"),
    ("maseval view theirs.json", "a results file of tau2-bench, its rewards recomputed"),
    ("maseval view /data/runs --edit", "another folder; tags, notes and remarks can be changed"),
    ("maseval view --host 0.0.0.0 --no-browser", "for other machines, who need the token"),
    ("maseval view --export site", "all runs as a folder of pages that needs no server"),
)


def view(
    folder: Path | None = argument(
        None, "A folder of runs, or a run or results file to begin with.", show_default="./runs"
    ),
    port: int = option(8766, "0 is any that is free.", "--port", "-p"),
    host: str = option("127.0.0.1", "Where to listen; other machines need the token it prints."),
    edit: bool = flag("Let the page change tags, notes and remarks.", "--edit"),
    browser: bool = option(True, "Open the page in the browser.", "--browser/--no-browser"),
    export: Path | None = option(
        None, "Write a folder of pages that need no server, and serve nothing."
    ),
) -> None:
    """Browse all runs of a folder in the browser; running ones are live.

    The page is served on this machine only, and it is read-only, unless options say otherwise.

    Ctrl-C ends it.
    """
    if export is not None:
        if edit:
            raise ConfigurationError("--edit needs a server, which a site of --export has not")
        return write_site(export, folder)
    server, address, root = commands.view(folder, host=host, port=port, edit=edit)
    serve(server, address, root, browser=browser)


def write_site(target: Path, folder: Path | None) -> None:
    """Write a site, and say what is in it and where it begins."""
    with ended_by_signals(), telling() as show:
        site = commands.export_site(target, folder, on_progress=show)
    print_unreadable(f"{name}: {why}" for name, why in site.unreadable.items())
    console = stdout()
    console.print(
        f"Wrote {count_of(site.runs, 'run')} with {count_of(site.simulations, 'simulation')} "
        f"({site.bytes / 1e6:.1f} MB); open [bold]{inert(str(site.folder / 'index.html'))}[/]",
        soft_wrap=True,
    )


def serve(server: Any, address: str, root: Path, *, browser: bool) -> None:
    """Serve until Ctrl-C."""
    with ended_by_signals(), suppress(KeyboardInterrupt), server:
        console = stdout()
        console.print(
            f"Viewing {inert(str(root))} at [bold]{inert(address)}[/]; Ctrl-C ends it.",
            soft_wrap=True,
        )
        if browser:
            import webbrowser

            webbrowser.open(address)
        server.wait()


class Watching:
    """Shows the address when a run begins; after the run the same page stays, in a terminal."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._port = 0

    def on_view(self, address: str) -> None:
        """Say where the page is, and open it if somebody is there."""
        self._port = urlsplit(address).port or 0
        _say_on_stderr(f"Watch it at [bold]{inert(address)}[/]")
        if _somebody_is_there():
            import webbrowser

            webbrowser.open(address)

    def stay(self, run: Path) -> None:
        """Serve the finished run until Ctrl-C, unless nobody could press it."""
        if not (self._wanted and _somebody_is_there()):
            return
        viewer = commands.view(run, port=self._port)
        with ended_by_signals(), suppress(KeyboardInterrupt), viewer.server:
            _say_on_stderr(f"The page stays at [bold]{inert(viewer.address)}[/] (Ctrl-C ends it)")
            viewer.server.wait()


def _somebody_is_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _say_on_stderr(words: str) -> None:
    stderr().print(words, soft_wrap=True)
