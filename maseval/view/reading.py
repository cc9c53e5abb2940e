"""Reads the reports of a viewed run: the log of a folder, or a results file.

A log is read once. From then on only what was added to it is, and a report is read by its place.
Nothing of it is kept for the next start, when nobody could tell that the log was not edited since.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from maseval.app.benchmarks import all_support, support_for
from maseval.app.results.finding import open_recording
from maseval.core.outcome import RecordedReport, Simulation, TaskKey, total_cost
from maseval.core.recorded import Shape, mapping
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringOptions
from maseval.core.storage.files import FileState
from maseval.report.index import Entry, entry_of
from maseval.runs.exceptions import RunFolderError
from maseval.runs.log import DamagedRecord, LogReading, ReportPlace, end_damage
from maseval.runs.recording import LoggedRun, ReadOnce, report_key
from maseval.runs.report_line import (
    LogLine,
    Seal,
    lines_of,
    read_record,
    simulation_of,
    with_repeats,
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
        self._titles: dict[TaskKey, str | None] = {}
        self._same: dict[Any, Any] = {}
        self._seen: FileState | None = None
        self._begin()
        self.support = support_for(self)

    def _begin(self) -> None:
        self._last: LogLine | None = None
        self._new: set[Simulation] = set()
        self._read_entries: dict[int, Entry] = {}
        self.entries: dict[int, Entry] = {}
        self._reading = LogReading(self._add, read=read_record)
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
        """What reports share: machine, code, and the options of the benchmark."""
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
        if grown and damaged == len(self.contents.damaged):
            added = [places[one] for one in self._new]
        else:  # a line that does not count any more may have brought an earlier report back
            added, self.entries = [*places.values()], {}
        for place in sorted(added):
            for at in place.earlier:
                self.entries.pop(at, None)
            self.entries[place.offset] = self._entry_at(place)
        self._new.clear()
        return True

    def _entry_at(self, place: ReportPlace) -> Entry:
        """Return the entry of a report, with the cost of those that it replaces."""
        entry, *earlier = (self._read_entries[at] for at in (place.offset, *place.earlier))
        if not earlier:
            return entry
        every = [each.row for each in (*earlier, entry)]
        cost, tokens = total_cost(each.cost for each in every), sum(each.tokens for each in every)
        return entry._replace(row=entry.row._replace(cost=cost, tokens=tokens))

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

    def _add(self, record: dict[str, Any], offset: int, shared: Mapping[str, object]) -> None:
        logged = RecordedReport(record)
        key = logged.task
        self._new.add(simulation_of(record))
        if key not in self._titles:
            self._titles[key] = self.support.task_title(cast(Report, record))
        logged = RecordedReport({**record, "traces": _environment(logged)})
        entry = entry_of(logged, offset, self._titles[key])
        names = {part: self._once(getattr(entry.row, part)) for part in ("domain", "task_id")}
        self._read_entries[offset] = entry._replace(
            row=entry.row._replace(**names),
            note=self._once(entry.note),
            facts=self._once(entry.facts),
        )

    def _once(self, value: ValueT) -> ValueT:
        """Return the same object for equal values, of which there are thousands."""
        same: ValueT = self._same.setdefault(value, value)
        return same


def _line_at(log: Path, offset: int) -> bytes:
    try:
        with log.open("rb") as file:
            file.seek(offset)
            return file.readline()
    except OSError:
        return b""


def _environment(logged: RecordedReport) -> dict[str, object]:
    """Return the traces of the environment alone, which say why the conversation ended."""
    try:
        return with_repeats({"environment": logged.environment})
    except (KeyError, IndexError, TypeError):  # it names a part of itself that is not there
        return {}


def is_results(path: Path) -> bool:
    """Return True for a results file of an installed benchmark; looks at its start only."""
    return any(each.holds_results(path) for each in all_support())


class JudgedFile(ReadOnce):
    """A results file as a run: everything in it was judged when it was opened."""

    def __init__(self, path: Path) -> None:
        super().__init__(open_recording(path, ScoringOptions()))
        self._key_of = lambda one: report_key(self.report(one))  # the file is not needed any more
        self.support, self.settings = support_for(self), list[Shape]()
        titles: dict[TaskKey, str | None] = {}
        self.entries: dict[int, Entry] = {}
        for at, each in enumerate(self._reports):
            recorded = RecordedReport(each)
            if recorded.task not in titles:
                titles[recorded.task] = self.support.task_title(each)
            self.entries[at] = entry_of(recorded, at, titles[recorded.task])
        doubts = {at: doubt_in(each) for at, each in enumerate(self._reports)}
        self.doubts = {at: doubt for at, doubt in doubts.items() if doubt}

    def refresh(self) -> bool:
        return False  # a file that has changed is opened anew

    def report_at(self, at: int) -> Report:
        return self._reports[at]

    def key_at(self, at: int) -> str:
        return report_key(self._reports[at])


RunSource = IndexedRun | JudgedFile
"""A run with an entry for each report, each of which can be read by its place ``at``."""
