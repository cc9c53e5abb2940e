"""A run as the page shows it: an index that is read at once, and packets as they are asked for.

Its reports are read by ``reading.py``. What its benchmark knows of them (titles, explanations,
verdicts that are recomputed) comes from the commands that show it elsewhere.
"""

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from maseval.app.results.examined import REVIEW, VERDICT, ExaminedRun, RunFindings, examine_run
from maseval.app.results.explained import Review, complete_report
from maseval.app.results.recording import facts_of
from maseval.app.results.report import drawings, page_summary
from maseval.core.outcome import (
    Outcome,
    OutcomeKind,
    RecordedReport,
    Simulation,
    TaskKey,
    verdict_for,
)
from maseval.core.recorded import Shape
from maseval.core.report import NO_VERDICT_STATUSES, Report, TaskExecutionStatus
from maseval.core.tracing import JsonObject
from maseval.report.index import Entry, Overview, Trials, by_task, index_of, results_of
from maseval.report.page import Packet, packet_of
from maseval.runs.config_file import LOG
from maseval.runs.recording import unrecorded_trials
from maseval.runs.verdict_check import (
    Misstatement,
    RunDoubt,
    SimulationDoubt,
    VerdictCheck,
    doubt_about,
    recall_check,
)
from maseval.stats.plots import Drawing
from maseval.stats.summary import Summary, summarise
from maseval.view.query import NothingThereError
from maseval.view.reading import IndexedRun, JudgedFile, RunSource

# How long verdicts are recomputed before others get the processor.
_AT_A_TIME = 1.0
# How long labels are gathered before the page hears of them.
_GATHERED = 1.0

ValueT = TypeVar("ValueT")


class _Counted(NamedTuple):
    """The sums over the entries of a run up to a place, to which later ones are added."""

    entries: Mapping[int, Entry] = MappingProxyType({})
    place: int = 0
    done: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0


class ViewedRun:
    """The index and the packets of a run; may be asked from several threads."""

    def __init__(self, path: Path, title: str) -> None:
        self.source: RunSource = IndexedRun(path) if path.is_dir() else JudgedFile(path)
        self._examined, self._title = ExaminedRun(self.source, self.source.support), title
        self._lock = threading.RLock()
        self.file = path / LOG if path.is_dir() else path
        self._labels: dict[int, tuple[str, ...]] = {}
        self._checking: VerdictCheck | None = None
        self._checked: dict[int, Misstatement | None] = {}
        self._check: VerdictCheck | None = None
        self._derived: dict[str, Any] = {}
        """What was found out from all simulations, until there are others."""
        self._counted = _Counted()
        self._pass_1: JsonObject | None = None
        self._score_again = 0.0
        self.version = 0
        """Grows whenever there is something new."""
        self.examined = 0
        """The version whose labels were last asked for."""

    def refresh(self) -> None:
        """Read what is new."""
        with self._lock:
            if self.source.refresh() or not self.version:
                self._derived.clear()
                self.version += 1

    def _once(self, name: str, find: Callable[[], ValueT]) -> ValueT:
        """Return what was found, and find it if there are other simulations since."""
        with self._lock:
            if name not in self._derived:
                self._derived[name] = find()
            found: ValueT = self._derived[name]
            return found

    def entries(self) -> Sequence[Entry]:
        def find() -> Sequence[Entry]:
            every = self.source.entries.values()
            if not (self._labels or self._checked or self.source.doubts):
                return [*every]
            return [*map(self._with_labels, every)]

        return self._once("entries", find)

    def entries_after(self, place: int) -> list[Entry]:
        """Return the entries of reports beyond a place, in order."""
        with self._lock:
            known = self.source.entries
            later = [*takewhile(lambda at: at > place, reversed(known))]
            return [self._with_labels(known[at]) for at in reversed(later)]

    @property
    def last_place(self) -> int:
        """The place of the last report; 0 if there is none."""
        with self._lock:
            return next(reversed(self.source.entries), 0)

    def tally(self) -> dict[str, Any]:
        """Return the simulations with and without a verdict, and what all of them used.

        The cost is that of those whose cost is known; None if some are not and others are nothing.
        """

        def find() -> dict[str, Any]:
            known, before = self.source.entries, self._counted
            if before.entries is not known:
                before = _Counted(known)
            new = self.entries_after(before.place)
            if before.done + len(new) != len(known):  # one takes the place of another
                before, new = _Counted(known), [*self.entries()]
            rows = [entry.row for entry in new]
            self._counted = now = _Counted(
                known,
                self.last_place,
                before.done + len(rows),
                before.failed + sum(row.status in NO_VERDICT_STATUSES for row in rows),
                before.tokens + sum(row.tokens for row in rows),
                math.fsum((before.cost, *(row.cost or 0.0 for row in rows))),
                before.unpriced + sum(row.cost is None for row in rows),
            )
            cost = now.cost if now.cost or not now.unpriced else None
            counts = {"done": now.done - now.failed, "failed": now.failed, "tokens": now.tokens}
            return {**counts, "cost": cost}

        return self._once("tally", find)

    def index(self) -> dict[str, object]:
        with self._lock:
            parts = self._parts()._replace(
                policies=self.source.support.policies(self.source), unrecorded=self.unrecorded()
            )
            return index_of(self.tasks(), self._title, parts)

    def results(self) -> dict[str, object]:
        """Return the part of the index that is about all simulations together."""
        with self._lock:
            return results_of(self.entries(), self._title, self._parts())

    def _parts(self) -> Overview:
        """Return the part of the page above the simulations."""
        labelled = self.labelled == len(self.entries())
        overview = self._once(f"overview {labelled}", lambda: self._overview(labelled))
        return overview._replace(
            plots=self._once("plots", self._draw), benchmarks=self.source.settings
        )

    def _draw(self) -> Sequence[Drawing]:
        return drawings(self.source, self._summarise()) if self.entries() else ()

    def _overview(self, labelled: bool) -> Overview:
        """Return the numbers and facts of a run; some go by labels, once all are known."""
        run, support, known = self.source, self.source.support, self.entries()
        if not known:
            return Overview()
        ones = [each.simulation for each in known if labelled]
        examined = {one: self._examined.examine(one, REVIEW) for one in ones}
        found = RunFindings(run, [each.row for each in known], None, examined)
        summary = page_summary(found, self.doubt, self._summarise())
        return Overview(summary, support.task_findings(run), facts_of(run.config.values))

    def packet(self, domain: str, task: str, trial: str | None = None) -> Packet:
        """The details of a task's simulations, or of one, with explanations of what failed."""
        found = {
            e.at: (n, self._complete_report(e.at)) for n, e in self.trials(domain, task, trial)
        }
        self.learn({at: _labels_in(report) for at, (_, report) in found.items()})
        timeline = self.source.support.timeline
        return packet_of([*found.values()], lambda report: timeline(cast(Report, report)))

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

    def pass_1(self) -> JsonObject | None:
        """pass^1 with its interval; of a large run that goes on, as it was a moment ago."""
        with self._lock:
            if "summary" not in self._derived and time.monotonic() >= self._score_again:
                self._summarise()
            return self._pass_1

    def _summarise(self) -> Summary:
        """Return the summary of all simulations, made once however often it is asked for."""

        def find() -> Summary:
            began = time.monotonic()
            rows = [entry.row for entry in self.entries()]
            found = summarise(rows, planned=self.source.planned)
            self._pass_1, ended = found.overall.pass_1, time.monotonic()
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
        """Return a report with all that is shown of it: the task's title, and why it failed."""
        run, support, doubt = self.source, self.source.support, self._doubt_at(at)
        report, key = run.report_at(at), run.key_at(at)
        found = self._examined.examine(Simulation.of(report), REVIEW, report, key)
        title = support.task_title(report)
        shown = complete_report(report, title, found.review or Review())
        return {**shown, "doubt": doubt and doubt.text}

    @property
    def doubt(self) -> RunDoubt | None:
        """The reason why the numbers are doubtful, if one is known by now."""
        return doubt_about(self.source, self._check)

    def _doubt_at(self, at: int) -> SimulationDoubt | None:
        found = self._checked.get(at)
        return self.source.doubts.get(at) if found is None else found.doubt

    def check_verdicts(self) -> None:
        """Recompute the verdicts that are recorded, and mark those that do not hold.

        Nothing is computed if all were found to hold while the log was as it is.
        """
        if self._checking is None:
            known = recall_check(self.file)
            if known is not None and not known["reasons"]:
                return
            self._checking = self._examined.begin_check()
        checking = self._checking
        if checking is None or checking.obstacle:
            return
        if not self.version:
            self.refresh()
        began, took_long = time.monotonic(), False
        for at in [entry.at for entry in self.entries() if entry.at not in self._checked]:
            report, key = self.source.report_at(at), self.source.key_at(at)
            found = self._examined.examine(Simulation.of(report), VERDICT, report, key)
            if found.line is not None and not checking.obstacle:
                checking.add(found.line, found.verdict, found.obstacle)
            self._checked[at] = found.verdict
            if (spent := time.monotonic() - began) > _AT_A_TIME:
                time.sleep(spent)  # at most half of the time of one processor
                began, took_long = time.monotonic(), True
        if took_long:
            self.keep_findings()
        before = self.doubt
        with self._lock:
            self._check, self._counted = checking.finish(), _Counted()
            if self.doubt != before:
                self._derived.clear()
                self._score_again = 0.0

    def examine_all(self) -> None:
        """Find out and keep all that can be kept about a run, with all cores."""
        support = self.source.support
        if self.file.name == LOG and support.findings_version(self.source) is not None:
            examine_run(self.source, REVIEW)
        self.check_verdicts()

    @property
    def doubted(self) -> int:
        """The number of simulations whose recorded verdicts were found not to hold."""
        return 0 if self._check is None else len(self._check.differing)

    @property
    def labelled(self) -> int:
        with self._lock:
            return len(self.source.entries.keys() & self._labels.keys())

    def label(self) -> None:
        """Find the labels that are not known, those of failures first, and keep what was found."""
        waiting = [entry for entry in self.entries() if entry.at not in self._labels]
        found: dict[int, tuple[str, ...]] = {}
        began, took_long = time.monotonic(), False
        for entry in sorted(waiting, key=lambda each: each.outcome not in ("fail", "error")):
            found[entry.at] = self.labels_of(entry.at)
            spent = time.monotonic() - began
            if spent > _GATHERED:
                self.learn(found)
                time.sleep(spent)
                found, began, took_long = {}, time.monotonic(), True
        self.learn(found)
        if took_long:  # else they are found again sooner than anybody notices
            self.keep_findings()

    def labels_of(self, at: int) -> tuple[str, ...]:
        """Return the labels of a report; what is not known is found, which takes a moment."""
        known = self._labels.get(at)
        return _labels_in(self._complete_report(at)) if known is None else known

    def learn(self, labels: Mapping[int, tuple[str, ...]]) -> None:
        """Add labels to the index."""
        with self._lock:
            self._labels = {**self._labels, **labels}
            for name in ("entries", "tasks"):
                self._derived.pop(name, None)

    def keep_findings(self) -> None:
        """Keep what the labels come from for the next start."""
        self._examined.save()


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
