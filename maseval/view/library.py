"""Library: the runs below one folder, found by their names, and the list of them all.

Runs and results files come and go, so they are found anew each time. The name of a run in an
address is its path below the folder that is viewed. Nothing outside of that folder can be named,
neither by ``..`` nor by a link, unless the library ``follows_links``, which no server does.

In the background, the recorded verdicts of every run in the list are recomputed, and those that do
not hold are marked. A run can be filtered by labels before any failure was opened. Both take at
most half of the time of one processor, one run after the other, and end when all is known. Results
files are judged one after the other; until then the list shows them without numbers. The numbers
are kept in the cache of this machine for as long as the file is the same.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from weakref import WeakKeyDictionary

from maseval.core.exceptions import MASEvalError
from maseval.core.storage.files import SUFFIX, FileState
from maseval.runs.annotations import annotations_path
from maseval.runs.config_file import CONFIG, LOCK, LOG, is_run_folder
from maseval.runs.listing import run_state
from maseval.runs.lock import holder_of
from maseval.runs.log import kept_about, kept_place
from maseval.runs.verdict_check import recall_check
from maseval.view.exceptions import NothingThereError
from maseval.view.reading import IndexedRun, JudgedFile, RunReader
from maseval.view.rows import (
    RunFacts,
    RunRow,
    changed_at,
    facts_of,
    numbers_of,
    row_of_file,
    row_of_folder,
)
from maseval.view.viewed import ViewedRun

logger = logging.getLogger(__name__)

_MOST_OPEN = 12
# A longer log is not read for the list alone, unless its run is running or open anyway.
_QUICKLY_READ = 32 << 20


@dataclass
class _Opened:
    """A run that is open, and its configuration or file as it was then."""

    seen: FileState
    lock: threading.Lock
    run: ViewedRun | None = None


class _Files(NamedTuple):
    """All that the row of a run is made of; while it is the same, so is the row."""

    config: FileState
    log: FileState
    annotations: FileState
    check: FileState
    running: bool


class Library:
    """The runs below a folder; may be asked from several threads."""

    def __init__(self, root: Path, reader: RunReader, *, follows_links: bool = False) -> None:
        self.root = Path(os.path.abspath(root))
        self._follows_links = follows_links
        self.reader = reader
        self._lock, self._listing = threading.Lock(), threading.Lock()
        self._open: dict[str, _Opened] = {}
        self._finder = Finder(self.root, reader.is_results, follows_links)
        self._judge = ResultsFileJudge(self._view_run)
        self._examiner = RunExaminer(self._view_run)
        self._rows: dict[Path, tuple[_Files, RunRow]] = {}

    def rows(self) -> list[RunRow]:
        """Return every run and results file, the latest first."""
        with self._listing:
            rows = [self._row(path) for path in self._finder.find()]
        return sorted(rows, key=lambda row: row["updated"], reverse=True)

    def places(self) -> dict[str, Path]:
        """Return every run and results file by its name."""
        with self._listing:
            return {name_of(self.root, path): path for path in self._finder.find()}

    def path_of(self, name: str) -> Path:
        """Return the path of a run."""
        path = place_of(self.root, name, self._follows_links)
        if is_run_folder(path) or (path.is_file() and self.reader.is_results(path)):
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
        self._examiner.request(run)

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
        reader, name = self.reader, name_of(self.root, path)
        if path.is_dir():
            return ViewedRun(IndexedRun(path, reader.title), reader, name)
        return ViewedRun(JudgedFile(reader.open_results(path), reader), reader, name)

    def _row(self, path: Path) -> RunRow:
        is_file = path.is_file()
        files = _Files(
            FileState.now(path if is_file else path / CONFIG),
            FileState.now(path / LOG),
            FileState.now(annotations_path(path)),
            FileState.now(kept_place(path / LOG)),
            not is_file and holder_of(path / LOCK) is not None,
        )
        known = self._rows.get(path)
        if known is not None and known[0] == files:
            return known[1]
        name = name_of(self.root, path)
        if is_file:
            row = row_of_file(name, path, *self._judge.of(path))
        elif known is not None and known[0] == files._replace(log=known[0].log) and files.running:
            row = self._with_numbers({**known[1], "updated": changed_at(path / LOG)})
        else:
            row = self._row_of_folder(name, path, files)
        if not is_file or row["planned"]:
            self._rows[path] = files, row
        return row

    def _row_of_folder(self, name: str, path: Path, files: _Files) -> RunRow:
        state = run_state(path)
        row = row_of_folder(name, state)
        small = files.log.size <= _QUICKLY_READ
        if small and not files.running and recall_check(path / LOG) is None:
            self._examiner.request_check(path, files.log)
        counted = state.pass_1 is not None and state.state != "damaged"
        quick = files.running or small or name in self._open
        if not quick or (counted and not files.running):
            return row
        found = self._with_numbers(row)
        return {**found, "pass_1": state.recomputed or found["pass_1"]}

    def _with_numbers(self, row: RunRow) -> RunRow:
        """Add the numbers of the log so far, for a run that did not write them down itself."""
        try:
            return {**row, **numbers_of(self.run(row["name"]))}
        except MASEvalError as error:
            return {**row, "state": "damaged", "problem": row["problem"] or str(error)}


def name_of(root: Path, path: Path) -> str:
    """Return the name of a run: its path below ``root``, or ``.`` if it is that folder itself."""
    return path.relative_to(root).as_posix()


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


class Finder:
    """Looks through a folder; which files are results files is asked once for each."""

    def __init__(
        self, root: Path, is_results: Callable[[Path], bool], follows_links: bool = False
    ) -> None:
        self._root, self._is_results, self._follows_links = root, is_results, follows_links
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
            if self._left < 0 or (entry.name.startswith(".") and entry.name.endswith(SUFFIX)):
                continue
            path = Path(entry.path)
            if os.path.isdir(path) and is_run_folder(path):
                if self._follows_links or not entry.is_symlink() or _is_inside(self._root, path):
                    yield path
            elif entry.name.startswith("."):
                continue
            elif entry.is_dir(follow_symlinks=False):
                if depth and not (in_parts and entry.name == _PARTS):
                    yield from self._below(path, depth - 1)
            elif entry.name.endswith(".json") and entry.is_file(follow_symlinks=False):
                yield from self._if_results(path)

    def _if_results(self, path: Path) -> Iterator[Path]:
        seen = FileState.now(path)
        if self._known.get(path, (None, False))[0] != seen:
            self._known[path] = seen, self._is_results(path)
        if self._known[path][1]:
            yield path


# How long labels are gathered before the page hears of them.
_GATHERED = 1.0


class BackgroundWork:
    """Calls one after the other, in a thread that ends when there are no more."""

    def __init__(self, name: str) -> None:
        self._name, self._lock = name, threading.Lock()
        self._waiting: dict[Hashable, Callable[[], object]] = {}
        self._at_work = False

    def add(self, key: Hashable, call: Callable[[], object]) -> None:
        """Have something done, once however often it is asked for before its turn."""
        with self._lock:
            self._waiting[key] = call
            if not self._at_work:
                self._at_work = True
                threading.Thread(target=self._work, daemon=True, name=self._name).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                key = next(iter(self._waiting), None)
                self._at_work = key is not None
                if key is None:
                    return
                call = self._waiting.pop(key)
            call()


class RunExaminer:
    """Checks the verdicts of runs, and labels the failures of opened ones."""

    def __init__(self, open_run: Callable[[Path], ViewedRun]) -> None:
        self._open_run = open_run
        self._work = BackgroundWork("maseval-labels")
        self._labelled: WeakKeyDictionary[ViewedRun, int] = WeakKeyDictionary()
        self._listed: dict[Path, FileState] = {}

    def request(self, run: ViewedRun) -> None:
        """Have an opened run examined, unless nothing came since the last time."""
        if self._labelled.get(run) != run.version:
            self._labelled[run] = run.version
            self._work.add(run, lambda: self._examine(run))

    def request_check(self, path: Path, log: FileState) -> None:
        """Have the verdicts of a run checked once while its log is as it is."""
        if self._listed.get(path) != log:
            self._listed[path] = log
            self._work.add(path, lambda: self._examine(path))

    def _examine(self, run: ViewedRun | Path) -> None:
        path = run if isinstance(run, Path) else run.source.path
        try:
            opened = self._open_run(run) if isinstance(run, Path) else run
            opened.check_verdicts()  # matters more than why some are failures
            if opened is run:
                _label(opened)
        except (MASEvalError, OSError, ValueError, LookupError, TypeError) as error:
            logger.warning("%s is not checked or labelled as a whole: %s", path, error)


def _label(run: ViewedRun) -> None:
    found: dict[int, tuple[str, ...]] = {}
    began, took_long = time.monotonic(), False
    for at in run.without_labels():
        found[at] = run.labels_of(at)
        spent = time.monotonic() - began
        if spent > _GATHERED:
            run.learn(found)
            time.sleep(spent)
            found, began, took_long = {}, time.monotonic(), True
    run.learn(found)
    if took_long:  # else they are found again sooner than anybody notices
        run.keep_findings()


_SUMMARY_FORMAT = 6
_SUMMARY = "summary"

SummaryOrProblem = tuple[RunFacts | None, str | None]
"""The numbers of a file, or why there are none."""


class ResultsFileJudge:
    """Judges every results file once."""

    def __init__(self, open_run: Callable[[Path], ViewedRun]) -> None:
        self._open_run = open_run
        self._work = BackgroundWork("maseval-judging")
        self._known: dict[Path, tuple[FileState, SummaryOrProblem]] = {}

    def of(self, path: Path) -> SummaryOrProblem:
        seen = FileState.now(path)
        known = self._known.get(path)
        if known is not None and known[0] == seen:
            return known[1]
        kept = _load_summary(path, seen)
        self._known[path] = seen, (kept, None)
        if kept is None:
            self._work.add(path, lambda: self._judge(path))
        return kept, None

    def _judge(self, path: Path) -> None:
        seen = FileState.now(path)
        try:
            run = self._open_run(path)
            run.refresh()
            found = facts_of(run)
        except (MASEvalError, OSError) as error:
            self._known[path] = seen, (None, str(error))
            return
        known = kept_about(path)
        known.put(_SUMMARY, [_SUMMARY_FORMAT, seen, found])
        known.save()
        self._known[path] = seen, (found, None)


def _load_summary(path: Path, seen: FileState) -> RunFacts | None:
    match kept_about(path).get(_SUMMARY):
        case [form, state, dict(found)] if (form, state) == (_SUMMARY_FORMAT, [*seen]):
            return found
    return None
