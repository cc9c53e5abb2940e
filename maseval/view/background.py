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
from collections.abc import Callable, Hashable
from pathlib import Path
from weakref import WeakKeyDictionary

from maseval.core.exceptions import MASEvalError
from maseval.core.storage.files import FileState
from maseval.runs.log import kept_about
from maseval.view.rows import RunFacts, facts_of
from maseval.view.viewed import ViewedRun

logger = logging.getLogger(__name__)

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
