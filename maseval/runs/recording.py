"""Recorded runs as readers see them: a folder with what is damaged or waiting in it, or a file."""

import hashlib
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from maseval import __version__
from maseval.core.index_line import IndexLine
from maseval.core.outcome import Outcome, RecordedReport, Simulation, TaskKey
from maseval.core.report import UNEVALUATED, Report
from maseval.core.storage import strict_json
from maseval.core.storage.files import FileState
from maseval.core.storage.records import rescued_files
from maseval.core.words import excerpt
from maseval.data.kept import KeptValues, place_for
from maseval.runs.config import RunConfig
from maseval.runs.config_file import LOCK, LOG, read_config
from maseval.runs.exceptions import RunFolderError
from maseval.runs.lock import holder_of
from maseval.runs.log import (
    DamagedRecord,
    LogContents,
    LogReading,
    damage_in_words,
    report_in,
)
from maseval.runs.report_line import Seal, check_report, lines_of, simulation_of

logger = logging.getLogger(__name__)


class Recording(Protocol):
    """A run that can be read: a ``RunFolder``, or a results file that reads like one."""

    @property
    def path(self) -> Path: ...
    @property
    def config(self) -> RunConfig: ...
    @property
    def damaged(self) -> Sequence[DamagedRecord]: ...
    @property
    def planned(self) -> Collection[Simulation]: ...
    @property
    def recorded(self) -> Collection[Simulation]: ...
    def reports(self) -> Iterator[Report]: ...
    def report(self, simulation: Simulation) -> Report: ...
    def content_key(self, simulation: Simulation) -> str:
        """Return a text that is another one whenever the report is."""


def index_line_in(run: Recording, one: Simulation) -> IndexLine:
    """Return the index line of a simulation; recordings of other packages need not have any."""
    known: Callable[[Simulation], IndexLine] | None = getattr(run, "index_line", None)
    return IndexLine.of(RecordedReport(run.report(one))) if known is None else known(one)


def outcomes_in(run: Recording) -> list[Outcome]:
    """Return the outcome of every recorded simulation, in the order of the plan."""
    return [index_line_in(run, simulation).outcome for simulation in simulations_in_order(run)]


def report_key(report: Report) -> str:
    """Return the ``content_key`` of a report that is not read from a log."""
    return hashlib.sha256(strict_json.dumps(report).encode("ascii")).hexdigest()[:32]


def unrecorded_trials(run: Recording) -> dict[TaskKey, list[str]]:
    """Return the planned trials without a report, by task."""
    recorded, found = run.recorded, dict[TaskKey, list[str]]()
    for simulation in run.planned:
        if simulation not in recorded:
            found.setdefault(simulation.task, []).append(str(simulation.trial))
    return found


def rescued_reports(path: Path) -> Iterator[dict[str, Any] | None]:
    """Yield the reports that were kept in a file; None, and a warning, for lines that are none."""
    for line in lines_of(path):
        try:
            record = strict_json.loads_object(line.text)
            check_report(record)
        except (ValueError, KeyError, TypeError) as error:
            logger.warning(
                "%s, line %d is not a report and stays there: %s", path, line.row, excerpt(error)
            )
            yield None
        else:
            yield record


def is_waiting(record: Mapping[str, Any], run: Recording) -> bool:
    """Return True if a rescued report is the latest on a simulation of the run."""
    simulation = simulation_of(record)
    if simulation not in run.recorded:
        return simulation in run.planned
    recorded = run.report(simulation)
    begun, before = str(record.get("started_at") or ""), str(recorded.get("started_at") or "")
    # A conversation that was evaluated again keeps the time at which it began.
    open_before, still = (report["status"] in UNEVALUATED for report in (recorded, record))
    judged = begun == before and open_before and not still
    return judged or begun > before


def simulations_in_order(run: Recording) -> list[Simulation]:
    """Return the recorded simulations: as planned, then those that are no longer planned."""
    recorded = dict.fromkeys(run.recorded)
    planned = [simulation for simulation in run.planned if simulation in recorded]
    return [*planned, *sorted(recorded.keys() - set(planned))]


def _line_at(log: Path, offset: int) -> bytes:
    try:
        with log.open("rb") as file:
            file.seek(offset)
            return file.readline()
    except OSError:
        return b""


INDEX_FILE = "index.jsonl"


class LoggedRun:
    """A run folder as its log tells it: ``contents`` is what was read of that so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stored = read_config(path)
        self.contents = LogContents()
        self._reading = LogReading()
        self._seen: FileState | None = None

    @property
    def log(self) -> Path:
        return self.path / LOG

    @property
    def id(self) -> str:
        """A name for the run that it keeps wherever its folder is moved."""
        return self._stored.id

    @property
    def created(self) -> str:
        return self._stored.created

    def refresh(self) -> Collection[Simulation] | None:
        """Read what was added to the log since, and return the simulations with a new report.

        None if the log is as it was. It is read from its start if it was not only added to, or if a
        line that counted does not any more; then all simulations are new. What was read is not kept
        for the next process, when nobody could tell that the log was not edited since. Only one
        thread at a time may call this.
        """
        # Before reading: what is added meanwhile is then noticed the next time.
        seen, before = FileState.now(self.log), self._seen
        if seen == before:
            return None
        grown = before is not None and self._has_grown(before, seen)
        if not grown:
            self._reading = LogReading()
        for line in lines_of(self.log, self._reading.last):
            if not line.text.endswith(b"\n"):
                break  # it is still being written
            self._reading.take(line)
        known, self._seen = len(self.damaged), seen
        self.contents = self._reading.finish(Seal.read(self.path))
        new = self._reading.take_new() & self.contents.places.keys()
        # A line that does not count any more may have brought an earlier report back.
        return new if grown and known == len(self.damaged) else {*self.contents.places}

    def _has_grown(self, before: FileState, now: FileState) -> bool:
        """Return whether the log only has lines added, or a torn one removed, at its end."""
        if now.file != before.file or now.size == before.size:
            return False
        last = self._reading.last
        return last is None or _line_at(self.log, last.offset) == last.text

    @property
    def config(self) -> RunConfig:
        return self.contents.config or self._stored.config

    @property
    def planned(self) -> Collection[Simulation]:
        """Every simulation that the run is made of, in order."""
        return self.config.planned.keys()

    @property
    def recorded(self) -> Mapping[Simulation, object]:
        return self.contents.places

    @property
    def shared(self) -> list[object]:
        """The descriptions of machine and code that many reports share, each once."""
        return list(self.contents.shared.values())

    @property
    def damaged(self) -> list[DamagedRecord]:
        """The lines of the log that cannot be read, and what is wrong with its end."""
        return self.contents.damaged

    @property
    def damage(self) -> list[str]:
        """Sentences on what is damaged, which stand before its numbers."""
        damage = damage_in_words(self.damaged)
        if damage is None:
            return []
        count = sum(simulation in self.contents.places for simulation in self.planned)
        return [
            f"{damage}; {count} of {len(self.planned)} planned simulations are recorded; "
            "resume the run to get the missing ones"
        ]

    @property
    def notes(self) -> list[str]:
        """Sentences on what is damaged, missing or waiting, for whoever looks at the results."""
        notes = self.damage
        if not notes and self.contents.torn and holder_of(self.path / LOCK) is None:
            notes.append("the last line of its log is cut off, as after a kill, and does not count")
        for path in rescued_files(self.log, self.id):
            found = [
                record for record in rescued_reports(path) if record and is_waiting(record, self)
            ]
            if found:
                were = "report was" if len(found) == 1 else "reports were"
                words = f"{len(found)} more {were} rescued to {path}"
                notes.append(f"{words}; resuming the run takes over what is there")
        return notes

    def reports(self) -> Iterator[Report]:
        """Yield one report for each simulation in the order of the plan, one in memory at a time.

        If a simulation was run or evaluated again, its last report is the one that counts; the
        others are among its ``attempts``.
        """
        yield from map(self.report, simulations_in_order(self))

    def report(self, simulation: Simulation) -> Report:
        place = self.contents.places.get(simulation)
        if place is None:
            raise RunFolderError(f"{self.path} has no report on {simulation}")
        try:
            return report_in(self.log, place, self.contents.shared)
        except (OSError, ValueError, KeyError) as error:
            raise RunFolderError(
                f"{self.log} has changed while it was read ({error}); read it again"
            ) from error

    def index_line(self, simulation: Simulation) -> IndexLine:
        """Return the index line of a simulation.

        It is that of its report's line, unless earlier reports were paid for as well, or an earlier
        release wrote it; then it is made from the report, once on this machine.
        """
        known = self._known_index(simulation)
        if known is None:
            # Whoever wants one line is about to want all: a table, a page, a search.
            self._index_reports()
            known = self._known_index(simulation)
        # It cannot be read: whoever asks for it hears why.
        return known or IndexLine.of(RecordedReport(self.report(simulation)))

    def _known_index(self, simulation: Simulation) -> IndexLine | None:
        place = self.contents.places[simulation]
        if place.indexed is not None and not place.earlier:
            return place.indexed
        kept = self._kept.get(self.content_key(simulation))
        return IndexLine.read(simulation, place.status, kept)

    def _index_reports(self) -> None:
        """Read all reports whose index lines are not known: whoever asks for one asks for all."""
        for simulation in self.contents.places:
            if self._known_index(simulation) is None:
                with suppress(RunFolderError, ValueError):
                    found = IndexLine.of(RecordedReport(self.report(simulation)))
                    self._kept.put(self.content_key(simulation), found.to_record())
        self._kept.save()

    @cached_property
    def _kept(self) -> KeptValues:
        """The index lines that were made from reports, in the cache folder of this machine."""
        return KeptValues(place_for(self.log, INDEX_FILE), __version__)

    def content_key(self, simulation: Simulation) -> str:
        """Return a hash of all that the report on a simulation is read from."""
        return self.contents.key_of(self.contents.places[simulation])
