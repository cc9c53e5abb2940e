"""A run as the page shows it: an index that is read at once, and packets as they are asked for.

The viewer knows no benchmark; a ``RunReader`` does, which adds numbers, titles and explanations.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from maseval.core.outcome import RecordedReport, Score, TaskKey
from maseval.core.recorded import Shape, entries, mapping
from maseval.core.report import Report
from maseval.report.index import Entry, Fact, TaskFindings, Trials, by_task, entry_of, index_of
from maseval.report.page import Packet, packet_of
from maseval.runs import Simulation
from maseval.runs.config import RunConfig
from maseval.runs.config_file import LOG, read_config
from maseval.runs.exceptions import RunFolderError
from maseval.runs.log import DamagedRecord, ReportPlace, report_in
from maseval.runs.recording import Recording, notes_on_folder
from maseval.runs.verdict_check import UNCONFIRMED, RunCheck, VerdictCheck, VerdictChecker
from maseval.stats.first_failures import first_trials_only
from maseval.stats.summary import summarise, with_gaps
from maseval.view.exceptions import NothingThereError
from maseval.view.log_index import LogIndex
from maseval.view.saved_files import load_labels, save_labels

# How long verdicts are recomputed before others get the processor.
_AT_A_TIME = 1.0


class Overview(NamedTuple):
    """The part of a page above the simulations: see ``write_report`` for each field."""

    summary: Shape | None = None
    plots: Sequence[str] = ()
    findings: TaskFindings | None = None
    facts: Sequence[Fact] = ()


class RunReader:
    """Knows benchmarks, which the viewer itself does not.

    This one adds nothing to what a run says of itself, and knows no results files.
    """

    def is_results(self, path: Path) -> bool:
        """Return whether ``open_results`` can read a file; looks at its start only."""
        return False

    def open_results(self, path: Path) -> Recording:
        """Open a results file as a run, its verdicts recomputed."""
        raise NotImplementedError

    def overview(self, run: Recording, known: Sequence[Entry], labelled: bool = False) -> Overview:
        """Return the part of a run's page above its simulations.

        Numbers that go by labels can be given once all are ``labelled``.
        """
        return Overview()

    def scores(self, run: Recording, known: Sequence[Entry]) -> Mapping[int, Score]:
        """Return pass^k with its interval, for each k that there are trials for."""
        every = with_gaps((entry.to_outcome(int(entry.trial)) for entry in known), run.planned)
        k = run.config.stops_at_failure
        return first_trials_only(summarise(every), every, k).overall.scores

    def verdict_checker(self, run: Recording) -> VerdictChecker | None:
        """Return a function that recomputes the verdict of a report; None if there is none."""
        return None

    def title(self, run: Recording, report: Shape) -> str | None:
        """Return what the task of a simulation is about."""
        return None

    def complete_report(self, run: Recording, report: Report) -> Shape:
        """Add all that is shown of a report: the task's title, and why it failed."""
        return report


class IndexedRun:
    """A run folder whose log is read once, however long it is and however it grows."""

    def __init__(self, path: Path, reader: RunReader) -> None:
        self.path = path
        self._log = path / LOG
        self._stored = read_config(path)
        self.index = LogIndex(self._log, partial(reader.title, self))

    @property
    def config(self) -> RunConfig:
        return self.index.contents.config or self._stored.config

    @property
    def damaged(self) -> Sequence[DamagedRecord]:
        return self.index.damaged

    @property
    def notes(self) -> Sequence[str]:
        return notes_on_folder(self, self._stored)

    @property
    def planned(self) -> Mapping[Simulation, None]:
        return self.config.planned

    @property
    def recorded(self) -> Mapping[Simulation, object]:
        return self.index.contents.places

    def reports(self) -> Iterator[Report]:
        recorded = self.recorded
        ordered = [one for one in self.planned if one in recorded]
        return map(self.report, [*ordered, *(recorded.keys() - self.planned.keys())])

    def report(self, simulation: Simulation) -> Report:
        contents = self.index.contents
        if simulation not in contents.places:
            raise NothingThereError(f"the run has no report on {simulation}")
        return self._read(contents.places[simulation])

    def refresh(self) -> bool:
        return self.index.update()

    def entries(self) -> list[Entry]:
        return self.index.entries()

    def settings(self) -> list[Shape]:
        return [mapping(each) for each in self.index.contents.shared.values()]

    def report_at(self, at: int) -> Report:
        return self._read(ReportPlace(at, ""))

    def _read(self, place: ReportPlace) -> Report:
        try:
            return report_in(self._log, place, self.index.contents.shared)
        except (OSError, ValueError, KeyError) as error:
            raise RunFolderError(
                f"{self._log} has changed while it was read ({error}); load the page again"
            ) from error


class JudgedFile:
    """A results file as a run: everything in it was judged when it was opened."""

    def __init__(self, recorded: Recording, reader: RunReader) -> None:
        self.path, self.config, self.damaged = recorded.path, recorded.config, recorded.damaged
        self.planned, self.recorded = recorded.planned, recorded.recorded
        self.notes: Sequence[str] = list(getattr(recorded, "notes", ()))
        self._reports = list(recorded.reports())
        self._places = {Simulation.of(each): at for at, each in enumerate(self._reports)}
        keys = [RecordedReport(each).task for each in self._reports]
        first = dict(zip(reversed(keys), reversed(self._reports), strict=True))
        titles = {key: reader.title(self, each) for key, each in first.items()}
        self._entries = [
            entry_of(RecordedReport({**each, "title": titles[key]}), at)
            for at, (key, each) in enumerate(zip(keys, self._reports, strict=True))
        ]

    def reports(self) -> Iterator[Report]:
        return iter(self._reports)

    def report(self, simulation: Simulation) -> Report:
        if simulation not in self._places:
            raise NothingThereError(f"the file has no {simulation}")
        return self._reports[self._places[simulation]]

    def refresh(self) -> bool:
        return False  # a file that has changed is opened anew

    def entries(self) -> list[Entry]:
        return self._entries

    def settings(self) -> list[Shape]:
        return []

    def report_at(self, at: int) -> Report:
        return self._reports[at]


RunSource = IndexedRun | JudgedFile
"""A run with an entry for each report, each of which can be read by its place ``at``."""


class ViewedRun:
    """The index and the packets of a run; may be asked from several threads."""

    def __init__(self, source: RunSource, reader: RunReader, title: str) -> None:
        self.source, self._reader, self._title = source, reader, title
        self._lock = threading.RLock()
        self._file = source.path / LOG if source.path.is_dir() else source.path
        self._labels = load_labels(self._file)
        self._checking: RunCheck | None = None
        self._checked: dict[int, str | None] = {}
        self._check: VerdictCheck | None = None
        self._known: list[Entry] | None = None
        self._tasks: Trials | None = None
        self._overview: Overview | None = None
        self._scores: Mapping[int, Score] = {}
        self._scored, self._score_again = 0, 0.0
        self.version = 0
        """Grows whenever there is something new."""

    def refresh(self) -> bool:
        """Read what is new, and return whether there was anything."""
        with self._lock:
            if not self.source.refresh() and self.version:
                return False
            self._known = self._tasks = self._overview = None
            self.version += 1
            return True

    def entries(self) -> list[Entry]:
        """Return the entry of each simulation."""
        with self._lock:
            if self._known is None:
                self._known = [self._with_labels(entry) for entry in self.source.entries()]
            return self._known

    def index(self) -> dict[str, object]:
        """Return the index, which the page reads at once."""
        with self._lock:
            if self._overview is None:
                self._overview = self._with_check(
                    self._reader.overview(self.source, self.entries(), not self.without_labels())
                )
            return index_of(
                self.tasks(), self._title, *self._overview, benchmarks=self.source.settings()
            )

    def packet(self, domain: str, task: str, trial: str | None = None) -> Packet:
        """The details of a task's simulations, or of one, with explanations of what failed."""
        with self._lock:
            found = self.tasks().get(TaskKey(domain, task), ())
        wanted = [(name, entry) for name, entry in found if trial in (None, name)]
        if not wanted:
            missing = f"task {task!r}" if trial is None else f"trial {trial!r} of task {task!r}"
            raise NothingThereError(f"the run has no {missing} in domain {domain!r}")
        completed = []
        for name, entry in wanted:
            report = self._complete_report(entry.at)
            if labels := _labels_in(report):
                self.learn({entry.at: labels})
            completed.append((name, report))
        return packet_of(completed)

    def scores(self) -> Mapping[int, Score]:
        """pass^k with its interval; of a large run that goes on, as it was a moment ago."""
        with self._lock:
            began = time.monotonic()
            if self._scored != self.version and began >= self._score_again:
                self._scores = self._reader.scores(self.source, self.entries())
                self._scored, ended = self.version, time.monotonic()
                # So that a server spends a tenth of its time on this at most.
                self._score_again = ended + 9 * (ended - began)
            return self._scores

    def tasks(self) -> Trials:
        """Return the simulations of each task, in the order of the page."""
        with self._lock:
            if self._tasks is None:
                self._tasks = by_task(self.entries())
            return self._tasks

    def _with_labels(self, entry: Entry) -> Entry:
        labels = self._labels.get(entry.at, ())
        if self._checked.get(entry.at):
            labels = (*labels, UNCONFIRMED)
        return entry._replace(labels=labels) if labels else entry

    def _complete_report(self, at: int) -> Shape:
        return self._reader.complete_report(self.source, self.source.report_at(at))

    def _with_check(self, overview: Overview) -> Overview:
        note = None if self._check is None else self._check.note
        if note is None or overview.summary is None:
            return overview
        notes = [note, *entries(overview.summary.get("notes"))]
        return overview._replace(summary={**overview.summary, "notes": notes})

    def check_verdicts(self) -> None:
        """Recompute the verdicts that are recorded, and mark those that do not hold.

        What is shown is compared, too: an index that was saved beside the log may be edited.
        """
        if self._checking is None:
            check = self._reader.verdict_checker(self.source)
            if check is None or self._file.name != LOG:
                return
            self._checking = RunCheck(self.source.path, check)
        if not self.version:
            self.refresh()
        began = time.monotonic()
        for entry in self.entries():
            if entry.at in self._checked:
                continue
            report = self.source.report_at(entry.at)
            words, shown = self._checking.add(report), RecordedReport(report).kind
            if words is None and shown != entry.outcome:
                words = f"the viewer's index has {entry.outcome!r}, the log {shown!r}"
            self._checked[entry.at] = words
            if (spent := time.monotonic() - began) > _AT_A_TIME:
                time.sleep(spent)  # at most half of the time of one processor
                began = time.monotonic()
        with self._lock:
            self._check = self._checking.finish()
            self._known = self._tasks = self._overview = None

    @property
    def labelled(self) -> int:
        """The number of reports whose labels are known, with those whose verdicts do not hold."""
        return len(self._labels) + sum(map(bool, [*self._checked.values()]))

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
            if labels.items() - self._labels.items():
                self._labels = {**self._labels, **labels}
                self._known = self._tasks = None

    def summarise_labels(self) -> None:
        """Have the numbers that go by labels made anew, now that all labels are known."""
        with self._lock:
            self._overview = None

    def keep_labels(self) -> None:
        """Remember the labels for the next start."""
        save_labels(self._file, self._labels)


def _labels_in(completed: Shape) -> tuple[str, ...]:
    return tuple(RecordedReport(completed).labels)
