"""Reads the reports of a viewed run: the log of a folder, or a results file.

A log is read once. From then on only what was added to it is, and a report is read by its place.
Nothing of it is kept for the next start, when nobody could tell that the log was not edited since.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from maseval.app.benchmarks import all_support, support_for
from maseval.app.results.names import open_recording
from maseval.core.index_line import IndexLine
from maseval.core.outcome import RecordedReport, Simulation, TaskKey
from maseval.core.recorded import Shape, mapping
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringOptions
from maseval.core.storage.files import FileState
from maseval.report.index import Entry, indexed_entry, note_of
from maseval.runs.exceptions import RunFolderError
from maseval.runs.log import DamagedRecord, LogReading, ReportPlace, end_damage
from maseval.runs.recording import LoggedRun, report_key, simulations_in_order
from maseval.runs.report_line import (
    LogLine,
    Seal,
    lines_of,
)
from maseval.runs.verdict_check import SimulationDoubt, doubt_in

ValueT = TypeVar("ValueT")


class IndexedRun(LoggedRun):
    """A run folder, up to where its log has been read.

    ``entries`` has one for each simulation, that of its last report, by the place of that report
    and in the order of places. Only one thread at a time may call ``refresh``.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.doubts: Mapping[int, SimulationDoubt] = {}  # a log says nothing against itself
        self._notes: dict[TaskKey, str] = {}
        self._seen: FileState | None = None
        self._begin()
        self.support = support_for(self)

    def _begin(self) -> None:
        self._last: LogLine | None = None
        self.entries: dict[int, Entry] = {}
        self._reading = LogReading()
        self.contents = self._reading.snapshot()

    @property
    def damaged(self) -> list[DamagedRecord]:
        """The damage to the log, also to its end."""
        seal, row = Seal.read(self.path), 0 if self._last is None else self._last.row
        found = None if seal is None else end_damage(self.contents.end, seal, row)
        return [*self.contents.damaged, *([found] if found else [])]

    def report_at(self, at: int) -> Report:
        return self.read_report(ReportPlace(at, ""))

    def read_report(self, place: ReportPlace) -> Report:
        try:
            return super().read_report(place)
        except (OSError, ValueError, KeyError) as error:
            raise RunFolderError(
                f"{self.log} has changed while it was read ({error}); load the page again"
            ) from error

    def key_at(self, at: int) -> str:
        return self.contents.key_of(ReportPlace(at, ""))

    @property
    def settings(self) -> list[Shape]:
        """The settings that reports share: machine, code, and the options of the benchmark."""
        return [mapping(each) for each in self.shared]

    def refresh(self) -> bool:
        """Read what is new, and return whether there was anything."""
        seen = FileState.now(self.log)
        if seen == self._seen:
            return False
        grown = self._seen is not None and self._has_grown(self._seen, seen)
        if not grown:
            self._begin()
        self._seen, damaged = seen, len(self.contents.damaged)
        self._read_on()
        self.contents = self._reading.snapshot()
        places = self.contents.places
        new = self._reading.take_new()
        if not (grown and damaged == len(self.contents.damaged)):
            # A line that does not count any more may have brought an earlier report back.
            new, self.entries = {*places}, {}
        for one in sorted(new, key=lambda each: places[each].offset):
            for at in places[one].earlier:
                self.entries.pop(at, None)
            self.entries[places[one].offset] = self._entry_of(one, places[one])
        return True

    def _entry_of(self, one: Simulation, place: ReportPlace) -> Entry:
        if one.task not in self._notes:
            report = self.read_report(place)
            title = self.support.task_title(report)
            self._notes[one.task] = note_of(RecordedReport(report), title)
        return indexed_entry(self.index_line(one), place.offset, self._notes[one.task])

    def _has_grown(self, before: FileState, now: FileState) -> bool:
        """Return whether the log only has lines added, or a torn one removed, at its end."""
        if now.file != before.file or now.size == before.size:
            return False
        last = self._last
        return last is None or _line_at(self.log, last.offset) == last.text

    def _read_on(self) -> None:
        for line in lines_of(self.log, self._last):
            if not line.text.endswith(b"\n"):
                return  # it is still being written
            self._reading.take(line)
            self._last = line


def _line_at(log: Path, offset: int) -> bytes:
    try:
        with log.open("rb") as file:
            file.seek(offset)
            return file.readline()
    except OSError:
        return b""


def is_results(path: Path) -> bool:
    """Return True for a results file of an installed benchmark; looks at its start only."""
    return any(each.holds_results(path) for each in all_support())


class JudgedFile:
    """A results file as a run: everything in it was judged when it was opened."""

    def __init__(self, path: Path) -> None:
        self._recording = found = open_recording(path, ScoringOptions())
        self.path, self.config = found.path, found.config
        self.damaged, self.planned, self.recorded = found.damaged, found.planned, found.recorded
        self.notes: list[str] = list(getattr(found, "notes", ()))
        self.doubt: Any = getattr(found, "doubt", None)
        self.support, self.settings = support_for(self), list[Shape]()
        self.entries: dict[int, Entry] = {}
        self.doubts: dict[int, SimulationDoubt] = {}
        self._simulations = simulations_in_order(found)
        self._keys: dict[Simulation, str] = {}
        notes: dict[TaskKey, str] = {}
        for at, (one, report) in enumerate(zip(self._simulations, self.reports(), strict=True)):
            recorded = RecordedReport(report)
            if one.task not in notes:
                notes[one.task] = note_of(recorded, self.support.task_title(report))
            self.entries[at] = indexed_entry(IndexLine.of(recorded), at, notes[one.task])
            self._keys[one] = report_key(report)  # the file is not needed any more
            if doubt := doubt_in(report):
                self.doubts[at] = doubt

    def refresh(self) -> bool:
        return False  # a file that has changed is opened anew

    def reports(self) -> Iterator[Report]:
        return map(self.report, self._simulations)

    def report(self, simulation: Simulation) -> Report:
        return self._recording.report(simulation)

    def content_key(self, simulation: Simulation) -> str:
        return self._keys[simulation]

    def report_at(self, at: int) -> Report:
        return self.report(self._simulations[at])

    def key_at(self, at: int) -> str:
        return self._keys[self._simulations[at]]


RunSource = IndexedRun | JudgedFile
"""A run with an entry for each report, each of which can be read by its place ``at``."""
