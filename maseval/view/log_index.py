"""LogIndex: the entry of every simulation in a log, and the place of its report.

A log is read once. From then on only what was added to it is, and a report is read by its place.
The index of a large log is kept on the disk (``saved_files``) for the next start.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from maseval.core.outcome import RecordedReport, TaskKey, total_cost
from maseval.core.recorded import Shape
from maseval.core.storage.files import FileState
from maseval.report.index import Entry, entry_of
from maseval.runs import Simulation
from maseval.runs.chain import Chain, LogLine, Seal, lines_of
from maseval.runs.log import (
    DamagedRecord,
    LogContents,
    LogReading,
    ReportPlace,
    end_damage,
)
from maseval.runs.repeats import with_repeats
from maseval.runs.report_line import SkimmedReport, read_record, simulation_of
from maseval.view.saved_files import Position, SavedIndex, is_line_of, load_index, save_index

# A smaller log is read in less time than anybody notices.
WORTH_SAVING = 8 << 20

TitleOf = Callable[[Shape], str | None]
"""Returns the title of a report's task."""

ValueT = TypeVar("ValueT")


class LogIndex:
    """The entries of a log, up to where it has been read; not for several threads at once."""

    def __init__(self, log: Path, title: TitleOf) -> None:
        self._log, self._title = log, title
        self._titles: dict[TaskKey, str | None] = {}
        self._same: dict[Any, Any] = {}
        self._seen: FileState | None = None
        self.added: list[ReportPlace] | None = None
        """The reports that the last update added; None if it made the index anew."""
        self.read = 0
        """The number of bytes that were read so far; another thread may ask for it."""
        self._begin(None)

    def _begin(self, saved: SavedIndex | None) -> None:
        self._before: Position | None = None
        self._last = None if saved is None else saved.position.line
        self._intact = saved is not None
        self._told: dict[Simulation, None] = {}
        self._entries: dict[int, Entry] = {}
        contents = chain = None
        if saved is not None:
            self._entries = {entry.at: entry for entry in saved.entries}
            contents, position = saved.contents, saved.position
            chain = Chain(position.line, missing=position.missing, begun=position.begun)
        self._reading = LogReading(contents, chain, self._add, read=read_record)
        self._saved = 0 if self._last is None else self._last.number
        self.contents: LogContents = self._reading.snapshot()

    def update(self) -> bool:
        """Read what is new, and return whether there was anything."""
        seen = FileState.now(self._log)
        if seen == self._seen:
            return False
        grown = self._seen is not None and self._has_grown(self._seen, seen)
        if not grown:
            self._begin(load_index(self._log) if self._seen is None else None)
        self._seen, damaged = seen, len(self.contents.damaged)
        self._read_on()
        self.contents = self._reading.snapshot()
        # A line that does not count any more may have brought an earlier report back.
        grown = grown and damaged == len(self.contents.damaged)
        self.added = sorted(self.contents.places[one] for one in self._told) if grown else None
        self._told.clear()
        self._save()
        return True

    def entries(self) -> list[Entry]:
        """Return one entry for each simulation, that of its last report."""
        return self._entries_in(self.contents)

    @property
    def damaged(self) -> list[DamagedRecord]:
        """The damage to the log, also to its end."""
        seal, row = Seal.read(self._log.parent), 0 if self._last is None else self._last.row
        found = None if seal is None else end_damage(self.contents.end, seal, row)
        return [*self.contents.damaged, *([found] if found else [])]

    def _save(self) -> None:
        """Keep it for the next start, if that saves time: a tenth may be read again."""
        last, before, settled = self._last, self._before, self._reading.settled
        if last is None or before is None or not self._intact or settled.damaged:
            return
        if last.offset >= WORTH_SAVING and 10 * (last.number - self._saved) >= last.number:
            save_index(self._log, SavedIndex(before, settled, self._entries_in(settled)))
            self._saved = last.number

    def _entries_in(self, contents: LogContents) -> list[Entry]:
        known, places = self._entries, contents.places.values()
        return [self.entry_at(at) if at.earlier else known[at.offset] for at in places]

    def entry_at(self, place: ReportPlace) -> Entry:
        """Return the entry of a report, with the cost of those that it replaces."""
        entry, earlier = self._entries[place.offset], [self._entries[at] for at in place.earlier]
        if not earlier:
            return entry
        return entry._replace(
            cost=total_cost(each.cost for each in [*earlier, entry]),
            tokens=entry.tokens + sum(each.tokens for each in earlier),
        )

    def _has_grown(self, before: FileState, now: FileState) -> bool:
        """Return whether the log only has lines added, or a torn one removed, at its end."""
        if now.file != before.file or now.size == before.size:
            return False
        return self._last is None or is_line_of(self._log, self._last)

    def _read_on(self) -> None:
        chain = self._reading.chain
        for line in lines_of(self._log, self._last):
            if not line.text.endswith(b"\n"):
                return  # it is still being written
            self._before = self._position(self._last, chain) if self._intact else None
            self._intact = self._reading.take(line)
            self._last = line
            self.read = line.offset + len(line.text)

    def _position(self, line: LogLine | None, chain: Chain) -> Position | None:
        return None if line is None else Position(line, chain.missing, chain.begun)

    def _add(self, record: dict[str, Any], offset: int, shared: Mapping[str, object]) -> None:
        logged = RecordedReport(record)
        key = logged.task
        self._told[simulation_of(record)] = None
        if key not in self._titles:
            self._titles[key] = self._title(record)
        if not isinstance(record, SkimmedReport):
            logged = RecordedReport({**record, "traces": _environment(logged)})
        entry = entry_of(logged, offset, self._titles[key])
        self._entries[offset] = entry._replace(
            key=self._once(entry.key), note=self._once(entry.note), facts=self._once(entry.facts)
        )

    def _once(self, value: ValueT) -> ValueT:
        """Return the same object for equal values, of which there are thousands."""
        same: ValueT = self._same.setdefault(value, value)
        return same


def _environment(logged: RecordedReport) -> dict[str, object]:
    """Return the traces of the environment alone, which say why the conversation ended."""
    try:
        return with_repeats({"environment": logged.environment})
    except (KeyError, IndexError, TypeError):  # it names a part of itself that is not there
        return {}
