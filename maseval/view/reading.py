"""Reads the reports of a viewed run: the log of a folder, or a results file.

The viewer knows no benchmark; a ``RunReader`` does, which adds numbers, titles and explanations.

A log is read once. From then on only what was added to it is, and a report is read by its place.
Nothing of it is kept for the next start, when nobody could tell that the log was not edited since.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from maseval.core.outcome import RecordedReport, Simulation, TaskKey, total_cost
from maseval.core.recorded import Shape, mapping
from maseval.core.report import Report
from maseval.core.storage.files import FileState
from maseval.report.index import Entry, Overview, entry_of
from maseval.runs.config import RunConfig
from maseval.runs.config_file import LOG, read_config
from maseval.runs.exceptions import RunFolderError
from maseval.runs.log import (
    DamagedRecord,
    LogContents,
    LogReading,
    ReportPlace,
    end_damage,
    report_in,
)
from maseval.runs.recording import (
    ReadOnce,
    Recording,
    damage_to_folder,
    notes_on_folder,
    report_key,
)
from maseval.runs.report_line import (
    LogLine,
    Seal,
    lines_of,
    read_record,
    simulation_of,
    with_repeats,
)
from maseval.runs.verdict_check import Misstatement, RunCheck, SimulationDoubt, doubt_in
from maseval.stats.summary import Summary
from maseval.view.exceptions import NothingThereError

ValueT = TypeVar("ValueT")


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

    def overview(
        self, run: Recording, known: Sequence[Entry], found: Summary, labelled: bool = False
    ) -> Overview:
        """Return the part of a run's page above its simulations, of which there are some.

        Numbers that go by labels can be given once all are ``labelled``.
        """
        return Overview()

    def plots(self, run: Recording, found: Summary) -> Sequence[str]:
        """Draw a run."""
        return ()

    def begin_check(self, run: Recording) -> RunCheck | None:
        """Begin to check the recorded verdicts of a run; None if they cannot be recomputed."""
        return None

    def check_verdict(
        self, checking: RunCheck, run: Recording, report: Report, key: str
    ) -> Misstatement | None:
        """Add to a check how the verdict of a report differs from the recomputed one."""
        return None

    def title(self, run: Recording, report: Shape) -> str | None:
        return None

    def policies(self, run: Recording) -> Mapping[str, Sequence[str]]:
        """Return the rules that agents are told to obey, by domain."""
        return {}

    def timeline(self, run: Recording, report: Shape) -> Shape | None:
        """Return the world of a simulation after each message, if its benchmark has one."""
        return None

    def complete_report(self, run: Recording, report: Report, key: str | None = None) -> Shape:
        """Add all that is shown of a report: the task's title, and why it failed.

        ``key``, if it is at hand, is another one whenever the report is.
        """
        return report

    def examine(self, run: Recording) -> None:
        """Find out and keep all that can be kept about a run, with all cores."""

    def keep_findings(self, run: Recording) -> None:
        """Keep what was found out about reports of a run, for the next start."""


class IndexedRun:
    """A run folder and its entries, up to where its log has been read; ``title`` is of a report.

    Only one thread at a time may call ``refresh``.
    """

    def __init__(self, path: Path, title: Callable[["IndexedRun", Shape], str | None]) -> None:
        self.path, self._log, self._title = path, path / LOG, title
        self._stored = read_config(path)
        self._titles: dict[TaskKey, str | None] = {}
        self._same: dict[Any, Any] = {}
        self._seen: FileState | None = None
        self._added: list[ReportPlace] | None = None
        self._begin()

    def _begin(self) -> None:
        self._last: LogLine | None = None
        self._new: dict[Simulation, None] = {}
        self._entries: dict[int, Entry] = {}
        self._reading = LogReading(self._add, read=read_record)
        self.contents: LogContents = self._reading.snapshot()

    @property
    def config(self) -> RunConfig:
        return self.contents.config or self._stored.config

    @property
    def damaged(self) -> Sequence[DamagedRecord]:
        """The damage to the log, also to its end."""
        seal, row = Seal.read(self.path), 0 if self._last is None else self._last.row
        found = None if seal is None else end_damage(self.contents.end, seal, row)
        return [*self.contents.damaged, *([found] if found else [])]

    @property
    def damage(self) -> Sequence[str]:
        return damage_to_folder(self)

    @property
    def notes(self) -> Sequence[str]:
        return notes_on_folder(self, self._stored.id)

    @property
    def planned(self) -> Mapping[Simulation, None]:
        return self.config.planned

    @property
    def recorded(self) -> Mapping[Simulation, object]:
        return self.contents.places

    def reports(self) -> Iterator[Report]:
        recorded = self.recorded
        ordered = [one for one in self.planned if one in recorded]
        return map(self.report, [*ordered, *(recorded.keys() - self.planned.keys())])

    def report(self, simulation: Simulation) -> Report:
        if simulation not in self.contents.places:
            raise NothingThereError(f"the run has no report on {simulation}")
        return self._read(self.contents.places[simulation])

    def report_at(self, at: int) -> Report:
        return self._read(ReportPlace(at, ""))

    def _read(self, place: ReportPlace) -> Report:
        try:
            return report_in(self._log, place, self.contents.shared)
        except (OSError, ValueError, KeyError) as error:
            raise RunFolderError(
                f"{self._log} has changed while it was read ({error}); load the page again"
            ) from error

    def content_key(self, simulation: Simulation) -> str:
        return self.contents.key_of(self.contents.places[simulation])

    def key_at(self, at: int) -> str:
        return self.contents.key_of(ReportPlace(at, ""))

    def doubt_at(self, at: int) -> SimulationDoubt | None:
        return None  # a log says nothing against itself

    def settings(self) -> list[Shape]:
        return [mapping(each) for each in self.contents.shared.values()]

    def refresh(self) -> bool:
        """Read what is new, and return whether there was anything."""
        seen = FileState.now(self._log)
        if seen == self._seen:
            return False
        grown = self._seen is not None and self._has_grown(self._seen, seen)
        if not grown:
            self._begin()
        self._seen, damaged = seen, len(self.contents.damaged)
        self._read_on()
        self.contents = self._reading.snapshot()
        # A line that does not count any more may have brought an earlier report back.
        grown = grown and damaged == len(self.contents.damaged)
        self._added = sorted(self.contents.places[one] for one in self._new) if grown else None
        self._new.clear()
        return True

    def growth(self) -> list[tuple[Sequence[int], Entry]] | None:
        """Return the entries of the last refresh, with the places of those they replace.

        None if the index was made anew.
        """
        found = self._added
        return None if found is None else [(at.earlier, self._entry_at(at)) for at in found]

    def entries(self) -> list[Entry]:
        """Return one entry for each simulation, that of its last report."""
        known, places = self._entries, self.contents.places.values()
        return [self._entry_at(at) if at.earlier else known[at.offset] for at in places]

    def _entry_at(self, place: ReportPlace) -> Entry:
        """Return the entry of a report, with the cost of those that it replaces."""
        entry, earlier = self._entries[place.offset], [self._entries[at] for at in place.earlier]
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
        return last is None or _line_at(self._log, last.offset) == last.text

    def _read_on(self) -> None:
        for line in lines_of(self._log, self._last):
            if not line.text.endswith(b"\n"):
                return  # it is still being written
            self._reading.take(line)
            self._last = line

    def _add(self, record: dict[str, Any], offset: int, shared: Mapping[str, object]) -> None:
        logged = RecordedReport(record)
        key = logged.task
        self._new[simulation_of(record)] = None
        if key not in self._titles:
            self._titles[key] = self._title(self, record)
        logged = RecordedReport({**record, "traces": _environment(logged)})
        entry = entry_of(logged, offset, self._titles[key])
        names = {part: self._once(getattr(entry.row, part)) for part in ("domain", "task_id")}
        self._entries[offset] = entry._replace(
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


class JudgedFile(ReadOnce):
    """A results file as a run: everything in it was judged when it was opened."""

    def __init__(self, recorded: Recording, reader: RunReader) -> None:
        super().__init__(recorded)
        self._key_of = lambda one: report_key(self.report(one))  # the file is not needed any more
        keys = [RecordedReport(each).task for each in self._reports]
        first = dict(zip(reversed(keys), reversed(self._reports), strict=True))
        titles = {key: reader.title(self, each) for key, each in first.items()}
        self._entries = [
            entry_of(RecordedReport(each), at, titles[key])
            for at, (key, each) in enumerate(zip(keys, self._reports, strict=True))
        ]

    def report(self, simulation: Simulation) -> Report:
        if simulation not in self._places:
            raise NothingThereError(f"the file has no {simulation}")
        return super().report(simulation)

    def refresh(self) -> bool:
        return False  # a file that has changed is opened anew

    def growth(self) -> list[tuple[Sequence[int], Entry]] | None:
        return None

    def entries(self) -> list[Entry]:
        return self._entries

    def doubt_at(self, at: int) -> SimulationDoubt | None:
        return doubt_in(self._reports[at])

    def settings(self) -> list[Shape]:
        return []

    def report_at(self, at: int) -> Report:
        return self._reports[at]

    def key_at(self, at: int) -> str:
        return report_key(self._reports[at])


RunSource = IndexedRun | JudgedFile
"""A run with an entry for each report, each of which can be read by its place ``at``."""
