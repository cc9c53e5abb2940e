"""A run as the page shows it: an index that is read at once, and packets as they are asked for.

The rows of the index are the index lines of the log; a report is read when it is shown, or to name
what its task is about. What its benchmark knows of reports (titles, explanations, verdicts that are
recomputed) comes from the commands that show it elsewhere.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar, cast

from maseval.app.benchmarks import support_for
from maseval.app.results.examined import (
    REVIEW,
    VERDICT,
    ExaminedRun,
    RecomputedRun,
    RunFindings,
    examine_run,
)
from maseval.app.results.explained import Review, complete_report, labels_of
from maseval.app.results.names import open_recording
from maseval.app.results.recording import facts_of
from maseval.app.results.report import TaskTitles, drawings, page_summary, shared_settings
from maseval.core.exceptions import MASEvalError
from maseval.core.index_line import IndexLine
from maseval.core.outcome import Simulation, TaskKey, total_cost
from maseval.core.recorded import Shape
from maseval.core.report import NO_VERDICT_STATUSES, Report
from maseval.core.tracing import JsonObject
from maseval.report.index import (
    Entry,
    Overview,
    Trials,
    by_task,
    index_of,
    indexed_entry,
    results_of,
)
from maseval.report.page import Packet, packet_of
from maseval.runs.config_file import LOG
from maseval.runs.recording import (
    LoggedRun,
    Recording,
    index_line_in,
    simulations_in_order,
    unrecorded_trials,
)
from maseval.runs.verdict_check import (
    RunDoubt,
    SimulationDoubt,
    VerdictCheck,
    doubt_about,
    doubt_in,
    recall_check,
)
from maseval.stats.plots import Drawing
from maseval.stats.summary import Summary, summarise
from maseval.view.requests import NothingThereError

# How long something is found out before others get the processor, and the page hears of it.
_AT_A_TIME = 1.0

ValueT = TypeVar("ValueT")
Labels = tuple[str, ...]


@dataclass
class _Viewed:
    """A simulation by its last report, and what was found out about that."""

    entry: Entry
    doubt: SimulationDoubt | None = None
    labels: Labels | None = None
    is_checked: bool = False

    def mark(self) -> None:
        """Have the row show what was found."""
        doubt = () if self.doubt is None else (self.doubt.label,)
        self.entry = self.entry._replace(labels=(*(self.labels or ()), *doubt))


def _sharing_time(waiting: Iterable[ValueT], pause: Callable[[], object]) -> Iterator[ValueT]:
    """Yield what waits to be worked on, and rest for as long as that takes, once a second.

    ``pause`` is called before each rest. What comes after the last one is found again sooner than
    anybody notices.
    """
    began = time.monotonic()
    for each in waiting:
        yield each
        spent = time.monotonic() - began
        if spent > _AT_A_TIME:
            pause()
            time.sleep(spent)  # at most half of the time of one processor
            began = time.monotonic()


class ViewedRun:
    """The index and the packets of a run; may be asked from several threads."""

    def __init__(self, path: Path, title: str) -> None:
        self.source: Recording = LoggedRun(path) if path.is_dir() else open_recording(path)
        self._support = support_for(self.source)
        self._examined, self._title = ExaminedRun(self.source, self._support), title
        self._titles = TaskTitles(self._examined)
        self._lock = threading.RLock()
        self.file = path / LOG if path.is_dir() else path
        self._viewed: dict[Simulation, _Viewed] = {}
        """Each simulation, in the order of the places of their reports."""
        self._checking: VerdictCheck | None = None
        self._check: VerdictCheck | None = None
        self._derived: dict[str, Any] = {}
        """What was found out from all simulations, until there are others."""
        self._pass_1: JsonObject | None = None
        self._score_again = 0.0
        self._unexplained: str | None = None
        """Why failures cannot be explained here, such as data that is not on this machine."""
        self.version = 0
        """Grows whenever there is something new."""
        self.examined = 0
        """The version whose labels were last asked for."""

    def refresh(self) -> None:
        """Read what is new."""
        with self._lock:
            new = self._read_new()
            if new is None and self.version:
                return
            tasks = self._titles.known
            for one in sorted(new or (), key=self._place_of):
                self._show(one)
            if self._titles.known > tasks:
                self.keep_findings()
            if len(self._viewed) > len(self.source.recorded):
                for gone in self._viewed.keys() - {*self.source.recorded}:
                    del self._viewed[gone]
            self._derived.clear()
            self.version += 1

    def _read_new(self) -> Collection[Simulation] | None:
        """Return the simulations with a new report; a file that has changed is opened anew."""
        if isinstance(self.source, LoggedRun):
            return self.source.refresh()
        return None if self.version else simulations_in_order(self.source)

    def _place_of(self, one: Simulation) -> int:
        """Return the place of a report: later ones have greater numbers, also in other servers."""
        if isinstance(self.source, LoggedRun):
            return self.source.contents.places[one].offset
        # A file has no places, and all of it is read at once.
        return len(self._viewed)

    def _show(self, one: Simulation) -> None:
        """Add a simulation, in place of what was known of it."""
        self._viewed.pop(one, None)  # its new report stands behind all others
        doubt = None
        if not isinstance(self.source, LoggedRun):  # a log says nothing against itself
            doubt = doubt_in(self.source.report(one))
        self._viewed[one] = viewed = _Viewed(self._entry_of(index_line_in(self.source, one)), doubt)
        viewed.mark()

    def _entry_of(self, line: IndexLine) -> Entry:
        one = line.outcome.simulation
        return indexed_entry(line, self._place_of(one), self._titles.note(one))

    def _once(self, name: str, find: Callable[[], ValueT]) -> ValueT:
        """Return what was found, and find it if there are other simulations since."""
        with self._lock:
            if name not in self._derived:
                self._derived[name] = find()
            found: ValueT = self._derived[name]
            return found

    def entries(self) -> Sequence[Entry]:
        return self._once("entries", lambda: [each.entry for each in self._viewed.values()])

    def entries_after(self, place: int) -> list[Entry]:
        """Return the entries of reports beyond a place, in order."""
        with self._lock:
            every = (each.entry for each in reversed(self._viewed.values()))
            return [*takewhile(lambda entry: entry.at > place, every)][::-1]

    @property
    def last_place(self) -> int:
        """The place of the last report; 0 if there is none."""
        with self._lock:
            return next((each.entry.at for each in reversed(self._viewed.values())), 0)

    def tally(self) -> Mapping[str, Any]:
        """Return the simulations with and without a verdict, and what all of them used."""

        def add_up() -> Mapping[str, Any]:
            rows = [each.entry.row for each in self._viewed.values()]
            failed = sum(row.status in NO_VERDICT_STATUSES for row in rows)
            return {
                "done": len(rows) - failed,
                "failed": failed,
                "cost": total_cost(row.cost for row in rows),
                "tokens": sum(row.tokens for row in rows),
            }

        return self._once("tally", add_up)

    def index(self) -> dict[str, object]:
        with self._lock:
            parts = self._parts()._replace(
                policies=self._support.policies(self.source), unrecorded=self.unrecorded()
            )
            return index_of(self.tasks(), self._title, parts)

    def results(self) -> dict[str, object]:
        """Return the part of the index that is about all simulations together."""
        with self._lock:
            return results_of(self.entries(), self._title, self._parts())

    def _parts(self) -> Overview:
        """Return the part of the page above the simulations."""
        labelled = self.labelled == len(self._viewed)
        overview = self._once(f"overview {labelled}", lambda: self._overview(labelled))
        return overview._replace(
            plots=self._once("plots", self._draw), benchmarks=shared_settings([self.source])
        )

    def _draw(self) -> Sequence[Drawing]:
        return drawings(self.source, self._summarise()) if self.entries() else ()

    def _overview(self, labelled: bool) -> Overview:
        """Return the numbers and facts of a run; some go by labels, once all are known."""
        run, known = self.source, self.entries()
        if not known:
            return Overview()
        explained = labelled and self._unexplained is None
        ones = [each.row.simulation for each in known if explained]
        examined = {one: self._examined.examine(one, REVIEW) for one in ones}
        found = RunFindings(run, [each.row for each in known], None, examined)
        # Until all labels are known, numbers that count them would change with every look.
        summary = page_summary(found, self.doubt, self._summarise())
        if self._unexplained is not None:
            summary["notes"].append(f"Failures are not explained: {self._unexplained}")
        return Overview(summary, self._support.task_findings(run), facts_of(run.config.values))

    def packet(self, domain: str, task: str, trial: str | None = None) -> Packet:
        """The details of a task's simulations, or of one, with explanations of what failed."""
        shown = list[tuple[str, Shape]]()
        for name, entry in self.trials(domain, task, trial):
            report, labels = self._complete_report(entry)
            shown.append((name, report))
            if labels is not None:
                self.learn([(entry, labels)])
        timeline = self._support.timeline
        return packet_of(shown, lambda report: timeline(cast(Report, report)))

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

    def _complete_report(self, entry: Entry) -> tuple[Shape, Labels | None]:
        """Return a report with all that is shown of it, such as why it failed, and its labels.

        What was recorded can be read where nothing can be explained, as without a release's data.
        """
        one = entry.row.simulation
        report, doubt = self.source.report(one), self._viewed[one].doubt
        title = self._titles.title(one)
        shown: Shape = {**report, "title": title, "doubt": doubt and doubt.text}
        try:
            review = self._examined.examine(one, REVIEW, report).review or Review()
        except MASEvalError as error:
            return {**shown, "unexplained": str(error)}, None
        return complete_report(cast(Report, shown), title, review), tuple(labels_of(review))

    @property
    def doubt(self) -> RunDoubt | None:
        """The reason why the numbers are doubtful, if one is known by now."""
        return doubt_about(self.source, self._check)

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
        recomputed = RecomputedRun(self.source, checking)
        waiting = self._lacking(lambda each: not each.is_checked)
        for viewed in _sharing_time(waiting, self.keep_findings):
            one = viewed.entry.row.simulation
            found = self._examined.examine(one, VERDICT)
            if not checking.obstacle:
                checking.add(viewed.entry.row, found.verdict, found.obstacle)
            viewed.is_checked = True
            if found.verdict is not None:
                self._correct(viewed, found.verdict.doubt, recomputed.index_line(one))
        before = self.doubt
        with self._lock:
            self._check = checking.finish()
            if self.doubt != before:
                self._derived.clear()
                self._score_again = 0.0

    def _lacking(self, lacks: Callable[[_Viewed], bool]) -> list[_Viewed]:
        with self._lock:
            return [each for each in self._viewed.values() if lacks(each)]

    def _correct(self, viewed: _Viewed, doubt: SimulationDoubt, line: IndexLine) -> None:
        """Show the verdict that holds in place of the recorded one."""
        with self._lock:
            # Else it was run again meanwhile.
            if self._viewed.get(line.outcome.simulation) is viewed:
                viewed.entry, viewed.doubt = self._entry_of(line), doubt
                viewed.mark()

    def examine_all(self) -> None:
        """Find out and keep all that can be kept about a run, with all cores."""
        support = self._support
        if self.file.name == LOG and support.findings_version(self.source) is not None:
            examine_run(self.source, REVIEW)
        self.check_verdicts()

    @property
    def doubted(self) -> int:
        """The number of simulations whose recorded verdicts were found not to hold."""
        return 0 if self._check is None else len(self._check.differing)

    @property
    def labelled(self) -> int:
        """The number of simulations whose labels are known; all, if nothing more can be found."""
        if self._unexplained is not None:
            return len(self._viewed)
        return len(self._viewed) - len(self._lacking(lambda each: each.labels is None))

    def label(self) -> None:
        """Find the labels that are not known, those of failures first, and keep what was found."""
        waiting = [each.entry for each in self._lacking(lambda each: each.labels is None)]
        # The page says why simulations failed, and nothing about the others.
        waiting.sort(key=lambda entry: entry.outcome not in ("fail", "error"))
        found = list[tuple[Entry, Labels]]()

        def tell() -> None:
            self.learn(found)
            found.clear()
            self.keep_findings()

        for entry in _sharing_time(waiting, tell):
            try:
                found.append((entry, self.labels_of(entry)))
            except MASEvalError as error:  # it stands in the way of all others as well
                self._unexplained = str(error)
                break
        self.learn(found)

    def labels_of(self, entry: Entry) -> Labels:
        """Return the labels of a report; what is not known is found, which takes a moment."""
        one = entry.row.simulation
        known = self._viewed[one].labels
        if known is None:
            known = tuple(labels_of(self._examined.examine(one, REVIEW).review or Review()))
        return known

    def learn(self, labels: Iterable[tuple[Entry, Labels]]) -> None:
        """Add labels to the index, but for simulations that were run again meanwhile."""
        with self._lock:
            for entry, found in labels:
                viewed = self._viewed.get(entry.row.simulation)
                if viewed is not None and viewed.entry.at == entry.at:
                    viewed.labels = found
                    viewed.mark()
            # Labels change no number, so the summary stays.
            for name in ("entries", "tasks"):
                self._derived.pop(name, None)

    def keep_findings(self) -> None:
        """Keep what the labels come from for the next start."""
        self._examined.save()
