"""Work in the background: verdicts of runs checked, failures labelled, results files judged.

The recorded verdicts of every run in the list are recomputed, and those that do not hold are
marked. A run can be filtered by labels before any failure was opened. Both take at most half of the
time of one processor, one run after the other, and end when all is known.

Results files are judged one after the other; until then the list shows them without numbers. The
numbers are kept in the cache of this machine for as long as the file is the same.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from weakref import WeakKeyDictionary

from maseval.core.exceptions import MASEvalError
from maseval.core.storage.files import FileState
from maseval.runs.log import kept_about
from maseval.view.rows import RunFacts, facts_of
from maseval.view.viewed import ViewedRun

logger = logging.getLogger(__name__)

# How long labels are gathered before the page hears of them.
_GATHERED = 1.0


class RunExaminer:
    """Checks the verdicts of runs, and labels the failures of opened ones, in its own thread."""

    def __init__(self, open_run: Callable[[Path], ViewedRun]) -> None:
        self._open_run = open_run
        self._lock = threading.Lock()
        self._waiting: dict[ViewedRun | Path, None] = {}
        self._labelled: WeakKeyDictionary[ViewedRun, int] = WeakKeyDictionary()
        self._listed: dict[Path, FileState] = {}
        self._at_work = False

    def request(self, run: ViewedRun) -> None:
        """Have an opened run examined, unless nothing came since the last time."""
        with self._lock:
            if self._labelled.get(run) != run.version:
                self._labelled[run] = run.version
                self._add(run)

    def request_check(self, path: Path, log: FileState) -> None:
        """Have the verdicts of a run checked once while its log is as it is."""
        with self._lock:
            if self._listed.get(path) != log:
                self._listed[path] = log
                self._add(path)

    def _add(self, run: ViewedRun | Path) -> None:
        self._waiting[run] = None
        if not self._at_work:
            self._at_work = True
            threading.Thread(target=self._work, daemon=True, name="maseval-labels").start()

    def _work(self) -> None:
        for each in self._next_runs():
            path = each if isinstance(each, Path) else each.source.path
            try:
                if isinstance(each, Path):
                    self._open_run(each).check_verdicts()
                else:  # whether verdicts hold matters more than why some are failures
                    each.check_verdicts()
                    _label(each)
            except (MASEvalError, OSError, ValueError, LookupError, TypeError) as error:
                logger.warning("%s is not checked or labelled as a whole: %s", path, error)

    def _next_runs(self) -> Iterator[ViewedRun | Path]:
        while True:
            with self._lock:
                run = next(iter(self._waiting), None)
                self._at_work = run is not None
                if run is None:
                    return
                del self._waiting[run]
            yield run


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
    """Judges every results file once, in a thread of its own."""

    def __init__(self, open_run: Callable[[Path], ViewedRun]) -> None:
        self._open_run = open_run
        self._known: dict[Path, tuple[FileState, SummaryOrProblem]] = {}
        self._waiting: SimpleQueue[Path] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def of(self, path: Path) -> SummaryOrProblem:
        seen = FileState.now(path)
        known = self._known.get(path)
        if known is not None and known[0] == seen:
            return known[1]
        kept = _load_summary(path, seen)
        self._known[path] = seen, (kept, None)
        if kept is None:
            self._waiting.put(path)
            self._start()
        return kept, None

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._judge, daemon=True, name="maseval-judging")
            self._thread.start()

    def _judge(self) -> None:
        while True:
            path = self._waiting.get()
            seen = FileState.now(path)
            self._known[path] = seen, self._summarise(path, seen)

    def _summarise(self, path: Path, seen: FileState) -> SummaryOrProblem:
        try:
            run = self._open_run(path)
            run.refresh()
            found = facts_of(run)
        except (MASEvalError, OSError) as error:
            return None, str(error)
        _save_summary(path, seen, found)
        return found, None


def _save_summary(path: Path, seen: FileState, found: RunFacts) -> None:
    known = kept_about(path)
    known.put(_SUMMARY, [_SUMMARY_FORMAT, seen, found])
    known.save()


def _load_summary(path: Path, seen: FileState) -> RunFacts | None:
    match kept_about(path).get(_SUMMARY):
        case [form, state, dict(found)] if (form, state) == (_SUMMARY_FORMAT, [*seen]):
            return found
    return None
