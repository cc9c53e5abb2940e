"""Count the files that a command goes through: ``python -m scripts.ways``.

Each command runs twice in one process; the second time, every function that is entered is noted,
in all threads. A file counts once, however many of its functions are entered, and a move is a call
from one file of the package into another. Long ways are hard to follow, so they have limits.
"""

import contextlib
import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import maseval
from maseval.cli.app import app
from maseval.commands import tau2

PACKAGE = str(Path(maseval.__file__).parent) + os.sep
LIMITS = {"tau2 run": 85, "show": 74, "show again": 35, "score": 55}


class Way(NamedTuple):
    """The files that a command entered, and how often it went from one to another."""

    files: frozenset[str]
    moves: int


def follow(action: Callable[[], object]) -> Way:
    """Return the way through the package while an action runs."""
    files: set[str] = set()
    moves = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal moves
        if event != "call" or frame.f_code.co_name in ("<module>", "<lambda>"):
            return
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE):
            return
        files.add(file.removeprefix(PACKAGE))
        before = frame.f_back
        moves += before is not None and before.f_code.co_filename not in (file, __file__)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # as documented
    return Way(frozenset(files), moves)


def command(*arguments: str) -> Callable[[], None]:
    """Return an action that runs a command and prints nothing."""

    def run() -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            app(list(arguments), standalone_mode=False)

    return run


def measure(root: Path) -> dict[str, Way]:
    """Return the way of each command that has a limit."""
    noisy = {"agent": "noisy", "agent_args": {"error_rate": 1.0}, "domain": "retail"}
    tau2.run(**noisy, num_tasks=3, output=root / "run")
    tau2.export(root / "run", root / "file.json")
    task = ("--domain", "retail", "--task-id", "1", "--agent", "noisy")
    actions = {
        "tau2 run": lambda number: command(
            "tau2", "run", *task, "--output", str(root / f"{number}")
        ),
        # Another simulation each time: what is found about one is kept.
        "show": lambda number: command("show", str(root / "run"), str(number), "0"),
        "show again": lambda _: command("show", str(root / "run"), "1", "0"),
        "score": lambda _: command("score", str(root / "file.json")),
    }
    found = {}
    for name, action in actions.items():
        action(1)()  # what is loaded and kept the first time is no part of the way
        found[name] = follow(action(2))
    return found


def main() -> None:
    """Print the figures, and with ``--files`` the files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, way in measure(Path(folder)).items():
            print(f"{name}: {len(way.files)} files (at most {LIMITS[name]}), {way.moves} moves")
            if "--files" in sys.argv:
                print("  " + "\n  ".join(sorted(way.files)))


if __name__ == "__main__":
    main()
