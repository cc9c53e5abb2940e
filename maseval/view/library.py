"""Library: the runs below one folder, found by their names, and the list of them all.

Runs and results files come and go, so they are found anew each time. The name of a run in an
address is its path below the folder that is viewed. Nothing outside of that folder can be named,
neither by ``..`` nor by a link, unless the library ``follows_links``, which no server does.

In the background, the recorded verdicts of every run in the list are recomputed, and those that do
not hold are marked. A run can be filtered by labels before any failure was opened. Both take at
most half of the time of one processor, one run after the other, and end when all is known. Results
files are judged one after the other; until then the list shows them without numbers.
"""

import logging
import os
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from maseval.app.benchmarks import all_support
from maseval.core.exceptions import MASEvalError
from maseval.core.storage.files import SUFFIX, FileState
from maseval.runs import RunState
from maseval.runs.annotations import annotations_or_problem, annotations_path
from maseval.runs.config_file import CONFIG, LOCK, LOG, is_run_folder
from maseval.runs.listing import change_time, run_state
from maseval.runs.lock import holder_of
from maseval.runs.log import kept_place
from maseval.view.requests import NothingThereError, Query
from maseval.view.rows import RunRow, counted, row_of, state_of_file
from maseval.view.viewed import ViewedRun

logger = logging.getLogger(__name__)

# A run that is open keeps its rows in memory.
_MOST_OPEN = 12
# The verdicts in a longer log are not recomputed for the list alone.
_QUICKLY_READ = 32 << 20


@dataclass
class _Opened:
    """A run that is open, and its configuration or file as it was then."""

    seen: FileState
    lock: threading.Lock
    run: ViewedRun | None = None


class _Files(NamedTuple):
    """All that the state of a run follows from; while it is the same, so is the state."""

    config: FileState
    log: FileState
    annotations: FileState
    check: FileState
    running: bool


class Library:
    """The runs below a folder; may be asked from several threads."""

    def __init__(self, root: Path, *, follows_links: bool = False) -> None:
        self.root = Path(os.path.abspath(root))
        self._follows_links = follows_links
        self._lock, self._listing = threading.Lock(), threading.Lock()
        self._open: dict[str, _Opened] = {}
        self._finder = Finder(self.root, follows_links)
        self._examining = BackgroundWork("maseval-labels")
        self._judging = BackgroundWork("maseval-judging")
        self._asked: dict[Path, FileState] = {}  # whose verdicts are checked for the list
        self._judged: dict[Path, tuple[FileState, RunState]] = {}
        self._states: dict[Path, tuple[_Files, RunState]] = {}

    def rows(self) -> list[RunRow]:
        """Return every run and results file, the latest first."""
        with self._listing:
            states = [self._state(path) for path in self._finder.find()]
        latest = sorted(states, key=lambda state: state.updated, reverse=True)
        return [row_of(self._name_of(state.path), state) for state in latest]

    def places(self) -> dict[str, Path]:
        """Return every run and results file by its name."""
        with self._listing:
            return {self._name_of(path): path for path in self._finder.find()}

    def path_of(self, name: str) -> Path:
        """Return the path of a run."""
        path = place_of(self.root, name, self._follows_links)
        if is_run_folder(path) or (path.is_file() and is_results(path)):
            return path
        raise NothingThereError(f"no run is called {name!r}")

    def run(self, name: str) -> ViewedRun:
        """Return a run as the page shows it, with all that there is by now."""
        path = self.path_of(name)
        run = self._open_run(path, name)
        run.refresh()
        return run

    def examine(self, run: ViewedRun) -> None:
        """Have the verdicts of a run checked and its failures labelled in the background."""
        if run.examined != run.version:
            run.examined = run.version
            self._examining.add(run, lambda: self._examine(run.source.path, run))

    def _examine(self, path: Path, opened: ViewedRun | None = None) -> None:
        try:
            # Whether verdicts hold matters more than why some are failures.
            (opened or self._view_run(path)).check_verdicts()
            if opened is not None:
                opened.label()
        except (MASEvalError, OSError, ValueError, LookupError, TypeError) as error:
            logger.warning("%s is not checked or labelled as a whole: %s", path, error)

    def _name_of(self, path: Path) -> str:
        """Return the name of a run: its path below the root, or ``.`` if it is that itself."""
        return path.relative_to(self.root).as_posix()

    def _open_run(self, path: Path, name: str) -> ViewedRun:
        """Return the run if it is open already; those that were not asked for lately are closed."""
        with self._lock:
            seen = FileState.now(path if path.is_file() else path / CONFIG)
            found = self._open.pop(name, None)
            if found is None or found.seen != seen:
                found = _Opened(seen, threading.Lock())
            self._open[name] = found
            while len(self._open) > _MOST_OPEN:
                del self._open[next(iter(self._open))]
        with found.lock:  # one that takes long to open does not keep others waiting
            if found.run is None:
                found.run = self._view_run(path)
            return found.run

    def _view_run(self, path: Path) -> ViewedRun:
        return ViewedRun(path, self._name_of(path))

    def _state(self, path: Path) -> RunState:
        """Return a run or results file as the list shows it."""
        if path.is_file():
            return self._state_of_file(path)
        files = _Files(
            FileState.now(path / CONFIG),
            FileState.now(path / LOG),
            FileState.now(annotations_path(path)),
            FileState.now(kept_place(path / LOG)),
            holder_of(path / LOCK) is not None,
        )
        known = self._states.get(path)
        if known is not None and known[0] == files:
            return known[1]
        # Only its log has grown, which is followed; the rest of its state need not be read again.
        if known is not None and known[0] == files._replace(log=known[0].log) and files.running:
            state = self._with_numbers(replace(known[1], updated=change_time(path / LOG)))
        else:
            state = self._state_of_folder(path, files)
        self._states[path] = files, state
        return state

    def _state_of_folder(self, path: Path, files: _Files) -> RunState:
        state = run_state(path)
        small = files.log.size <= _QUICKLY_READ
        unchecked = not files.running and not state.checked
        if small and unchecked and self._asked.get(path) != files.log:
            # Once for each log, as a check that fails would be repeated at every look.
            self._asked[path] = files.log
            self._examining.add(path, lambda: self._examine(path))
        return self._with_numbers(state) if files.running else state

    def _with_numbers(self, state: RunState) -> RunState:
        """Add the numbers of the log so far, of which only what is new is read."""
        try:
            return counted(state, self.run(self._name_of(state.path)))
        except MASEvalError as error:
            return replace(state, state="damaged", problem=state.problem or str(error))

    def _state_of_file(self, path: Path) -> RunState:
        """Return what is known of a results file, which is judged once in the background."""
        seen, known = FileState.now(path), self._judged.get(path)
        if known is None or known[0] != seen:
            known = seen, RunState(path, "reading", updated=change_time(path))
            self._judged[path] = known
            self._judging.add(path, lambda: self._judge(path))
        annotations, damage = annotations_or_problem(path)
        return replace(known[1], annotations=annotations, problem=known[1].problem or damage)

    def _judge(self, path: Path) -> None:
        seen = FileState.now(path)
        try:
            run = self._view_run(path)
            run.refresh()
            found = state_of_file(run)
        except (MASEvalError, OSError) as error:
            found = RunState(path, "damaged", updated=change_time(path), problem=str(error))
        self._judged[path] = seen, found


Answer = Callable[[Library, Query], object]
"""Answers a GET; what it returns is sent as JSON, and a ``MASEvalError`` becomes a refusal in its
words. It is called in threads, so that several may run at once."""


def place_of(root: Path, name: str, follows_links: bool = False) -> Path:
    """Return the path that a name stands for; raises if it is not below ``root``."""
    parts = PurePosixPath(name).parts
    odd = "\0" in name or not name or name.startswith("/") or ".." in parts
    if (
        odd
        or (os.sep != "/" and os.sep in name)
        or os.path.isabs(name)
        or PurePosixPath(name).as_posix() != name
    ):
        raise NothingThereError(f"no run is called {name!r}")
    # Looked at where it leads to, as a link below the root may point anywhere.
    path = root / name
    if not (_is_inside(root, path) or (follows_links and is_run_folder(path))):
        raise NothingThereError(f"no run is called {name!r}")
    return path


def _is_inside(root: Path, path: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):  # not there, a loop of links, not a name
        return False


# Deeper than anybody sorts runs, and more than anybody keeps in one place.
_DEEPEST = 6
_MOST_ENTRIES = 50_000
# Where tau2-bench 1.0 keeps the parts of a results file that lies beside it.
_PARTS = "simulations"


def is_results(path: Path) -> bool:
    """Return True for a results file of an installed benchmark; looks at its start only."""
    return any(each.holds_results(path) for each in all_support())


class Finder:
    """Looks through a folder; which files are results files is asked once for each."""

    def __init__(self, root: Path, follows_links: bool = False) -> None:
        self._root, self._follows_links = root, follows_links
        self._known: dict[Path, tuple[FileState, bool]] = {}

    def find(self) -> list[Path]:
        """Return every run folder and results file; links lead to run folders at most."""
        self._left = _MOST_ENTRIES
        return list(self._below(self._root, _DEEPEST))

    def _below(self, folder: Path, depth: int) -> Iterator[Path]:
        if is_run_folder(folder):
            yield folder
            return
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            return
        in_parts = any(entry.name == "results.json" for entry in entries)
        for entry in entries:
            self._left -= 1
            being_made = entry.name.startswith(".") and entry.name.endswith(SUFFIX)
            if self._left >= 0 and not being_made:
                deeper = 0 if in_parts and entry.name == _PARTS else depth
                yield from self._in_entry(entry, deeper)

    def _in_entry(self, entry: os.DirEntry[str], depth: int) -> Iterator[Path]:
        path = Path(entry.path)
        if os.path.isdir(path) and is_run_folder(path):
            if self._follows_links or not entry.is_symlink() or _is_inside(self._root, path):
                yield path
        elif entry.name.startswith("."):
            return
        elif entry.is_dir(follow_symlinks=False):
            if depth:
                yield from self._below(path, depth - 1)
        elif entry.name.endswith(".json") and entry.is_file(follow_symlinks=False):
            yield from self._if_results(path)

    def _if_results(self, path: Path) -> Iterator[Path]:
        seen = FileState.now(path)
        if self._known.get(path, (None, False))[0] != seen:
            self._known[path] = seen, is_results(path)
        if self._known[path][1]:
            yield path


class BackgroundWork:
    """Calls the latest first, one at a time, in a thread that ends when there are no more."""

    def __init__(self, name: str) -> None:
        self._name, self._lock = name, threading.Lock()
        self._waiting: dict[Hashable, Callable[[], object]] = {}
        self._at_work = False

    def add(self, key: Hashable, call: Callable[[], object]) -> None:
        """Have something done, once however often it is asked for before its turn."""
        with self._lock:
            self._waiting.pop(key, None)
            self._waiting[key] = call
            if not self._at_work:
                self._at_work = True
                threading.Thread(target=self._work, daemon=True, name=self._name).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                # Somebody waits for the run that was opened last; the others are only in the list.
                key = next(reversed(self._waiting), None)
                self._at_work = key is not None
                if key is None:
                    return
                call = self._waiting.pop(key)
            call()
