"""Labelling: the labels of failures, found in the background for the runs that somebody opened.

So a run can be filtered by them before any failure was opened. It takes at most half of the time of
one processor, one run after the other, and ends when all is known.
"""

import logging
import threading
import time
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from maseval.core.exceptions import MASEvalError
from maseval.view.labels_file import Labels
from maseval.view.viewed import ViewedRun

logger = logging.getLogger(__name__)

# How long labels are gathered before the page hears of them, and how many a run gets at most.
_GATHERED = 1.0
_MOST = 20_000


class Labelling:
    """The runs whose failures are to be labelled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[ViewedRun, None] = {}
        self._looked_at: WeakKeyDictionary[ViewedRun, int] = WeakKeyDictionary()
        self._at_work = False

    def wish(self, run: ViewedRun) -> None:
        """Have the failures of a run labelled, unless nothing came since the last time."""
        with self._lock:
            if self._looked_at.get(run) == run.version:
                return
            self._looked_at[run] = run.version
            self._waiting[run] = None
            if not self._at_work:
                self._at_work = True
                threading.Thread(target=self._work, daemon=True, name="maseval-labels").start()

    def _work(self) -> None:
        for run in self._runs():
            try:
                _label(run)
            except (MASEvalError, OSError, ValueError, LookupError, TypeError) as error:
                logger.warning("the failures of %s have no labels: %s", run.source.path, error)

    def _runs(self) -> Iterator[ViewedRun]:
        while True:
            with self._lock:
                run = next(iter(self._waiting), None)
                self._at_work = run is not None
                if run is None:
                    return
                del self._waiting[run]
            yield run


def _label(run: ViewedRun) -> None:
    waiting = run.unlabelled()[:_MOST]
    found: Labels = {}
    began, took_long = time.monotonic(), False
    for at in waiting:
        found[at] = run.labels_of(at)
        spent = time.monotonic() - began
        if spent > _GATHERED:
            run.learn(found)
            time.sleep(spent)
            found, began, took_long = {}, time.monotonic(), True
    run.learn(found)
    if took_long:  # else they are found again sooner than anybody notices
        run.keep_labels()
