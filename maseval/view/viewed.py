"""A run as the page shows it: an index that is read at once, and packets as they are asked for.

Its reports are read by ``reading.py``, where a ``RunReader`` knows the benchmark.
"""

import math
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from maseval.core.outcome import (
    Outcome,
    OutcomeKind,
    RecordedReport,
    Score,
    TaskKey,
    verdict_for,
)
from maseval.core.recorded import Shape, entries
from maseval.core.report import NO_VERDICT_STATUSES, TaskExecutionStatus
from maseval.report.index import (
    Entry,
    Overview,
    Trials,
    by_task,
    index_of,
    results_of,
)
from maseval.report.page import Packet, packet_of
from maseval.runs.config_file import LOG
from maseval.runs.recording import unrecorded_trials
from maseval.runs.verdict_check import (
    Misstatement,
    RunCheck,
    RunDoubt,
    SimulationDoubt,
    VerdictCheck,
    doubt_about,
    recall_check,
)
from maseval.stats.summary import Summary, summarise
from maseval.view.exceptions import NothingThereError
from maseval.view.reading import RunReader, RunSource

# How long verdicts are recomputed before others get the processor.
_AT_A_TIME = 1.0

ValueT = TypeVar("ValueT")


class ViewedRun:
    """The index and the packets of a run; may be asked from several threads."""

    def __init__(self, source: RunSource, reader: RunReader, title: str) -> None:
        self.source, self._reader, self._title = source, reader, title
        self._lock = threading.RLock()
        self.file = source.path / LOG if source.path.is_dir() else source.path
        self._labels: dict[int, tuple[str, ...]] = {}
        self._checking: RunCheck | None = None
        self._checked: dict[int, Misstatement | None] = {}
        self._check: VerdictCheck | None = None
        self._known: dict[int, Entry] | None = None
        self._places: list[int] = []
        self._derived: dict[str, Any] = {}
        """What was found out from all simulations, until there are others."""
        self._scores: Mapping[int, Score] = {}
        self._score_again = 0.0
        self.version = 0
        """Grows whenever there is something new."""

    def refresh(self) -> bool:
        """Read what is new, and return whether there was anything."""
        with self._lock:
            if not self.source.refresh() and self.version:
                return False
            self._take(self.source.growth() if self.version else None)
            self._derived.clear()
            self.version += 1
            return True

    def _take(self, added: Iterable[tuple[Sequence[int], Entry]] | None) -> None:
        """Add entries to those that are known; all are read anew if that is None."""
        known = self._known
        if known is None or added is None:
            self._known = None
            return
        for replaced, entry in added:
            known[entry.at] = self._with_labels(entry)
            self._places.append(entry.at)
            for at in replaced:
                known.pop(at, None)

    def _once(self, name: str, find: Callable[[], ValueT]) -> ValueT:
        """Return what was found, and find it if there are other simulations since."""
        with self._lock:
            if name not in self._derived:
                self._derived[name] = find()
            found: ValueT = self._derived[name]
            return found

    def entries(self) -> list[Entry]:
        return [*self._by_place().values()]

    def entries_after(self, place: int) -> list[Entry]:
        """Return the entries of reports beyond a place, in order."""
        with self._lock:
            known = self._by_place()
            places = self._places[bisect_right(self._places, place) :]
            return [known[at] for at in places if at in known]

    @property
    def last_place(self) -> int:
        """The place of the last report; 0 if there is none."""
        self._by_place()
        return self._places[-1] if self._places else 0

    def tally(self) -> dict[str, Any]:
        """Return the simulations with and without a verdict, and what all of them used.

        The cost is that of those whose cost is known; None if some are not and others are nothing.
        """

        def find() -> dict[str, Any]:
            rows = [entry.row for entry in self.entries()]
            failed = sum(row.status in NO_VERDICT_STATUSES for row in rows)
            tokens = sum(row.tokens for row in rows)
            cost = math.fsum(row.cost or 0.0 for row in rows)
            priced = cost or all(row.cost is not None for row in rows)
            counts = {"done": len(rows) - failed, "failed": failed, "tokens": tokens}
            return {**counts, "cost": cost if priced else None}

        return self._once("tally", find)

    def _by_place(self) -> dict[int, Entry]:
        with self._lock:
            if self._known is None:
                every = self.source.entries()
                if self._labels or self._checked or self.file.name != LOG:
                    every = [*map(self._with_labels, every)]
                self._known = {entry.at: entry for entry in every}
                self._places = sorted(self._known)
            return self._known

    def index(self) -> dict[str, object]:
        with self._lock:
            parts = self._parts()._replace(
                policies=self._reader.policies(self.source), unrecorded=self.unrecorded()
            )
            return index_of(self.tasks(), self._title, parts)

    def results(self) -> dict[str, object]:
        """Return the part of the index that is about all simulations together."""
        with self._lock:
            return results_of(self.entries(), self._title, self._parts())

    def _draw(self) -> Sequence[str]:
        return self._reader.plots(self.source, self._summarise()) if self.entries() else ()

    def _parts(self) -> Overview:
        """Return the part of the page above the simulations."""
        known = self.entries()
        labelled = self.labelled == len(known)

        def find() -> Overview:
            found = Overview()
            if known:
                found = self._reader.overview(self.source, known, self._summarise(), labelled)
            return self._with_check(found)

        return self._once(f"overview {labelled}", find)._replace(
            plots=self._once("plots", self._draw), benchmarks=self.source.settings()
        )

    def packet(self, domain: str, task: str, trial: str | None = None) -> Packet:
        """The details of a task's simulations, or of one, with explanations of what failed."""
        found = {
            e.at: (n, self._complete_report(e.at)) for n, e in self.trials(domain, task, trial)
        }
        self.learn({at: _labels_in(report) for at, (_, report) in found.items()})
        completed = [*found.values()]
        return packet_of(completed, partial(self._reader.timeline, self.source))

    def trials(
        self, domain: str, task: str, trial: str | None = None
    ) -> Sequence[tuple[str, Entry]]:
        """Return a task's simulations, or the one of that trial; raises if there is none."""
        found = self.tasks().get(TaskKey(domain, task), ())
        wanted = [(name, entry) for name, entry in found if trial in (None, name)]
        if not wanted:
            missing = f"task {task!r}" if trial is None else f"trial {trial!r} of task {task!r}"
            raise NothingThereError(f"the run has no {missing} in domain {domain!r}")
        return wanted

    def scores(self) -> Mapping[int, Score]:
        """pass^k with its interval; of a large run that goes on, as it was a moment ago."""
        with self._lock:
            if "summary" not in self._derived and time.monotonic() >= self._score_again:
                self._summarise()
            return self._scores

    def _summarise(self) -> Summary:
        """Return the summary of all simulations, made once however often it is asked for."""

        def find() -> Summary:
            began, run = time.monotonic(), self.source
            outcomes = [entry.row for entry in self.entries()]
            found = summarise(outcomes, planned=run.planned)
            self._scores, ended = found.overall.scores, time.monotonic()
            # So that a server spends a tenth of its time on this at most.
            self._score_again = ended + 9 * (ended - began)
            return found

        return self._once("summary", find)

    def tasks(self) -> Trials:
        """Return the simulations of each task, in the order of the page."""
        return self._once("tasks", lambda: by_task(self.entries(), self.unrecorded()))

    def unrecorded(self) -> dict[TaskKey, list[str]]:
        """Return the planned trials without a report, by task."""
        return self._once("unrecorded", lambda: unrecorded_trials(self.source))

    def _with_labels(self, entry: Entry) -> Entry:
        labels = self._labels.get(entry.at, ())
        if doubt := self._doubt_at(entry.at):
            labels = (*labels, doubt.label)
        if (new := self._checked.get(entry.at)) is not None:
            entry = entry._replace(row=_with_verdict(entry.row, new.passed))
        return entry._replace(labels=labels) if labels else entry

    def _complete_report(self, at: int) -> Shape:
        report, key = self.source.report_at(at), self.source.key_at(at)
        found = self._reader.complete_report(self.source, report, key)
        doubt = self._doubt_at(at)
        return {**found, "doubt": doubt and doubt.text}

    @property
    def doubt(self) -> RunDoubt | None:
        """The reason why the numbers are doubtful, if one is known by now."""
        return doubt_about(self.source, self._check)

    def _doubt_at(self, at: int) -> SimulationDoubt | None:
        found = self._checked.get(at)
        return self.source.doubt_at(at) if found is None else found.doubt

    def _with_check(self, overview: Overview) -> Overview:
        doubt = self.doubt
        if doubt is None or overview.summary is None:
            return overview
        reasons = doubt["reasons"]
        notes = [each for each in entries(overview.summary.get("notes")) if each not in reasons]
        return overview._replace(summary={**overview.summary, "notes": notes, "doubt": doubt})

    def check_verdicts(self) -> None:
        """Recompute the verdicts that are recorded, and mark those that do not hold.

        Nothing is computed if all were found to hold while the log was as it is.
        """
        if self._checking is None:
            known = recall_check(self.file)
            if known is not None and not known["reasons"]:
                return
            self._checking = self._reader.begin_check(self.source)
            if self._checking is None:
                return
        if not self.version:
            self.refresh()
        began, took_long = time.monotonic(), False
        for at in [entry.at for entry in self.entries() if entry.at not in self._checked]:
            report, key = self.source.report_at(at), self.source.key_at(at)
            self._checked[at] = self._reader.check_verdict(self._checking, self.source, report, key)
            if (spent := time.monotonic() - began) > _AT_A_TIME:
                time.sleep(spent)  # at most half of the time of one processor
                began, took_long = time.monotonic(), True
        if took_long:
            self._reader.keep_findings(self.source)
        before = self.doubt
        with self._lock:
            self._check = self._checking.finish()
            if self.doubt != before:
                self._relabel(at for at, found in self._checked.items() if found)
                self._derived.clear()
                self._score_again = 0.0

    @property
    def doubted(self) -> int:
        """The number of simulations whose recorded verdicts were found not to hold."""
        return 0 if self._check is None else len(self._check.differing)

    @property
    def labelled(self) -> int:
        return len(self._by_place().keys() & self._labels.keys())

    def without_labels(self) -> list[int]:
        """Return the places of reports whose labels are not known, those of failures first."""
        open_ones = [entry for entry in self.entries() if entry.at not in self._labels]
        ranked = sorted(open_ones, key=lambda entry: entry.outcome not in ("fail", "error"))
        return [entry.at for entry in ranked]

    def labels_of(self, at: int) -> tuple[str, ...]:
        """Return the labels of a report; what is not known is found, which takes a moment."""
        known = self._labels.get(at)
        return _labels_in(self._complete_report(at)) if known is None else known

    def learn(self, labels: Mapping[int, tuple[str, ...]]) -> None:
        """Add labels to the index."""
        with self._lock:
            self._labels = {**self._labels, **labels}
            self._relabel(labels)

    def _relabel(self, places: Iterable[int]) -> None:
        """Have the entries of these reports show the labels that are known by now."""
        known = self._by_place()
        known.update({at: self._with_labels(known[at]) for at in [*places] if at in known})
        self._derived.pop("tasks", None)

    def keep_findings(self) -> None:
        """Keep what the labels come from for the next start."""
        self._reader.keep_findings(self.source)


def _with_verdict(row: Outcome, passed: bool | None) -> Outcome:
    """Return a row with the recomputed verdict for the recorded one."""
    failed, success = TaskExecutionStatus.EVALUATION_FAILED, TaskExecutionStatus.SUCCESS
    status = (failed if passed is None else success).value
    kind: OutcomeKind = "error" if passed is None else "pass" if passed else "fail"
    passed, reason = verdict_for(kind, status)
    reward = None if passed is None else float(passed)
    return row._replace(kind=kind, status=status, passed=passed, reason=reason, reward=reward)


def _labels_in(completed: Shape) -> tuple[str, ...]:
    return tuple(RecordedReport(completed).labels)
