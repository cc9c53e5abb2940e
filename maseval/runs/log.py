"""The log of a run: the meaning of its lines, and reading them.

Each line is a JSON object with a checksum, a link to the line before (``report_line``) and a
``kind``. A *report* is one finished simulation.
*shared* is the ``config["benchmark"]`` of the reports that name its id, written once for each
session. *extended* is the configuration from there on: the first line is that of the run's start,
so that a log can be read without ``config.json``, and another follows when tasks or trials are
added. *closed* ends a session with its counts, so that listing runs need not read whole logs. What
the traces of a report hold several times is written once (``report_line``).
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from maseval import __version__
from maseval.core.index_line import IndexLine
from maseval.core.outcome import Simulation
from maseval.core.report import Attempt, Report, attempt_of
from maseval.core.storage import strict_json
from maseval.core.storage.records import seal_problem
from maseval.core.words import excerpt
from maseval.data.kept import KeptValues, place_for
from maseval.runs.config import RunConfig
from maseval.runs.exceptions import RunFolderError
from maseval.runs.report_line import (
    BEGINNING,
    LINK,
    Link,
    LogLine,
    Seal,
    check_report,
    index_in,
    lines_of,
    loads_object,
    report_of,
    simulation_of,
)

_KEPT = "log.jsonl"
_UNREADABLE = (ValueError, KeyError, TypeError)
_END_OF_HEAD = b', "shared": '
_SHARED_ID = re.compile(_END_OF_HEAD + rb'"([^"]{0,64})"')
_LONGEST_CONFIG, _LONGEST_END = 64 << 20, 1 << 18


class DamagedRecord(NamedTuple):
    """A line of a log that cannot be read; it stays in the file."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


def damage_in_words(damaged: Sequence[DamagedRecord]) -> str | None:
    """Say in how many places a log is damaged, and what the first is; None if it is not."""
    if not damaged:
        return None
    places = "one place" if len(damaged) == 1 else f"{len(damaged)} places, first"
    return f"its log is damaged in {places} ({damaged[0]})"


class ReportPlace(NamedTuple):
    """The place of a report in the log, and how its simulation ended.

    ``earlier`` are the places of reports on the same simulation that it replaces. ``indexed`` is
    the index line of the report alone, which logs of earlier releases do not have.
    """

    offset: int
    status: str
    earlier: tuple[int, ...] = ()
    indexed: IndexLine | None = None


@dataclass
class LogContents:
    """The contents of a log. Of several reports on one simulation the last one counts."""

    places: dict[Simulation, ReportPlace] = field(default_factory=dict)
    shared: dict[str, object] = field(default_factory=dict)
    damaged: list[DamagedRecord] = field(default_factory=list)
    config: RunConfig | None = None
    torn: bool = False
    end: Link = BEGINNING
    """The link that the next line should have."""
    hashes: dict[int | str, str] = field(default_factory=dict, compare=False)
    """Those of what is shared, by its name, and of what decides a report, by its offset."""

    def place(
        self, simulation: Simulation, status: str, indexed: IndexLine | None, line: LogLine
    ) -> None:
        """Note where a report is, in place of the one before it."""
        before = self.places.get(simulation)
        earlier = () if before is None else (*before.earlier, before.offset)
        self.places[simulation] = ReportPlace(line.offset, status, earlier, indexed)
        name = _SHARED_ID.search(line.text)
        shared = self.hashes.get(name[1].decode("ascii", "replace")) if name else None
        self.hashes[line.offset] = f"{shared} {line.link.hash} "

    def share(self, name: str, benchmark: object, line: LogLine) -> None:
        """Note what the reports share that name it."""
        self.shared[name], self.hashes[name] = benchmark, line.link.hash

    def key_of(self, place: ReportPlace) -> str:
        """Return a hash of all that ``report_in`` reads for a report: the same as long as that."""
        every = "".join(self.hashes[offset] for offset in (place.offset, *place.earlier))
        return hashlib.sha256(every.encode()).hexdigest()[:32]


Change = Callable[[LogContents], object]
"""Adds what a line says to the contents of its log."""


def change_by(record: Mapping[str, object], line: LogLine) -> Change:
    """Return what a line changes; raise if its kind requires more."""
    match record["kind"]:
        case "report":
            head = report_head(record)
            return lambda contents: contents.place(*head, line)
        case "shared":
            name, benchmark = str(record["id"]), record["benchmark"]
            return lambda contents: contents.share(name, benchmark, line)
        case "extended":
            config = RunConfig.of(_mapping(record["config"]))
            return lambda contents: setattr(contents, "config", config)
        case "closed":  # its counts are for lists of runs
            return lambda contents: None
        case unknown:
            raise ValueError(f"unknown kind {excerpt(unknown, 40)!r}")


def report_head(record: Mapping[str, object]) -> tuple[Simulation, str, IndexLine | None]:
    """Return all that a log is read for of a report."""
    return simulation_of(record), str(record["status"]), index_in(record)


def read_head(line: bytes) -> dict[str, object]:
    """Return the beginning of a report, or all of another record; raises for a changed line.

    The checksum shows that the rest is as it was written; it is read with the report.
    """
    # The head is a small part of the line; to parse all of it would take many times as long.
    end = line.find(_END_OF_HEAD)
    record = strict_json.loads_object(line if end < 0 else line[:end] + b"}")
    if problem := seal_problem(line):
        raise ValueError(problem)
    return record


def shared_id(benchmark: object) -> str:
    return hashlib.sha256(strict_json.dumps(benchmark).encode()).hexdigest()[:16]


def contents_of(path: Path) -> LogContents:
    """Read the whole log: every line is checked to be as it was written."""
    reading = LogReading()
    for line in lines_of(path):
        reading.take(line)
    return reading.finish(Seal.read(path.parent))


def kept_about(log: Path) -> KeptValues:
    """Return what this machine knows of a log or results file as a whole, in the cache folder.

    It counts for one state of the file, which is part of each value.
    """
    return KeptValues(kept_place(log), __version__)


def kept_place(log: Path) -> Path:
    return place_for(log, _KEPT)


class LogReading:
    """A log as it is read; a line that the next one does not name as it is does not count.

    So each waits until the next one is there, or nothing follows.
    """

    def __init__(self) -> None:
        self._contents = LogContents()
        self._new = set[Simulation]()
        self.last: LogLine | None = None
        self._waiting: Change | None = None  # that of the last line, if it is intact
        self._begun = False  # some line has named the one before it
        self._missing = 0  # lines that were found missing so far

    def take(self, line: LogLine) -> None:
        before, self.last = self.last, line
        try:
            record = read_head(line.text)
            # Before all else of the line: whatever is wrong with it, it names the one before it.
            if LINK in record:
                self._follow(before, line, Link.parse(record[LINK]))
            change = change_by(record, line)
            if LINK not in record and self._begun:
                raise ValueError("it does not name the line before it, as others do")
            if record["kind"] == "report":
                self._new.add(simulation_of(record))
            self._wait_with(change)
        except _UNREADABLE as error:
            self._wait_with(None)
            if line.text.endswith(b"\n"):
                self._note(line, _reason(error))
            else:
                self._contents.torn = True

    def _wait_with(self, change: Change | None) -> None:
        if self._waiting is not None:
            self._waiting(self._contents)
        self._waiting = change

    def _follow(self, before: LogLine | None, line: LogLine, named: Link) -> None:
        """Check the link that a line names; what was added or changed before it does not count."""
        self._begun = True
        expected = BEGINNING if before is None else before.link
        gap = named.number - expected.number - self._missing
        # Once for each gap: the lines behind it are right about their own numbers.
        self._missing += gap
        if gap > 0:
            missing = "a line before it is" if gap == 1 else f"{gap} lines before it are"
            self._note(line, f"{missing} missing")
        elif before and self._waiting and (gap < 0 or named.hash != expected.hash):
            self._waiting = None
            how = "added" if gap < 0 else "changed"
            self._note(before, f"it was {how} after line {line.row} was written")

    def take_new(self) -> set[Simulation]:
        """Return the simulations with a report among the lines taken since this was last asked."""
        new, self._new = self._new, set()
        return new

    def finish(self, seal: Seal | None) -> LogContents:
        """Return the contents if the log ends here, which ``seal`` knows if a session closed.

        Reading may continue, which changes nothing of what is returned.
        """
        # Not with every line: hashing takes as long as a third of reading.
        number, digest = BEGINNING if self.last is None else self.last.link
        known, end = self._contents, Link(number + self._missing, digest)
        found = replace(
            known,
            end=end,
            places=dict(known.places),
            shared=dict(known.shared),
            damaged=list(known.damaged),
        )
        row = 0 if self.last is None else self.last.row
        damage = None if seal is None else _end_damage(end, seal, row, torn=found.torn)
        if damage is not None:
            found.damaged.append(damage)
        is_refuted = damage is not None and seal is not None and end.number == seal.end.number
        if self._waiting is not None and not is_refuted:
            self._waiting(found)
        return found

    def _note(self, line: LogLine, reason: str) -> None:
        self._contents.damaged.append(DamagedRecord(line.row, reason))


def _end_damage(end: Link, seal: Seal, row: int, *, torn: bool) -> DamagedRecord | None:
    """Return what is wrong with the end of a log; None if it is that of its seal, or later.

    ``row`` is that of the last line. What was sealed and then followed by other lines is named by
    the next of them.
    """
    missing = seal.end.number - end.number
    if missing > 0 or (missing == 0 and torn):
        missing += torn
        lines = "the last line is" if missing == 1 else f"the last {missing} lines are"
        return DamagedRecord(row + (not torn), f"{lines} missing or cut off")
    if missing == 0 and end != seal.end:
        return DamagedRecord(row, "it was changed after its session closed")
    return None


def last_record(path: Path) -> dict[str, object]:
    """Return the last line if it is whole, short and as it was written, else nothing."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LONGEST_END))
            line = file.read().splitlines(keepends=True)[-1]
        return {} if seal_problem(line) else strict_json.loads_object(line)
    except (OSError, ValueError, IndexError):
        return {}


def config_record(config: RunConfig, at: str) -> dict[str, object]:
    """Return the line of a configuration that holds from there on."""
    return {"kind": "extended", "at": at, "config": config.values, "sha256": config.sha256}


def first_record(log: Path) -> dict[str, Any] | None:
    """Return the first line if it is the configuration of the run's start.

    Logs of earlier releases have no such line.
    """
    try:
        with log.open("rb") as file:
            record = read_head(file.readline(_LONGEST_CONFIG))
        known = record["kind"] == "extended" and Link.parse(record[LINK]) == BEGINNING
    except (OSError, *_UNREADABLE):
        return None
    return record if known and record.keys() >= {"at", "config", "sha256"} else None


_COUNTS = ("done", "failed", "planned")


def counts_at_end(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the counts in the line that ends a session; None if that is not what it is.

    ``cost`` (in usd, if it is known) and ``tokens`` are those of all sessions, ``verdicts`` is the
    number of simulations that have one, and ``pass_1`` their score, if the writer counted them.
    ``config`` is there only if the run was extended.
    """
    if record.get("kind") != "closed" or not record.keys() >= {*_COUNTS}:
        return None
    names = (*_COUNTS, "tokens", "verdicts", "cost", "pass_1", "config")
    return {name: record.get(name) for name in names}


def report_in(path: Path, place: ReportPlace, shared: Mapping[str, object]) -> Report:
    """Return the report at a place; those that it replaces are attempts of it, also paid for."""
    report = report_at(path, place.offset, shared)
    attempts: list[Attempt] = []
    for offset in place.earlier:
        before = report_at(path, offset, shared)
        attempts += [*before["attempts"], attempt_of(before)]
    return {**report, "attempts": [*attempts, *report["attempts"]]} if attempts else report


def report_at(path: Path, offset: int, shared: Mapping[str, object]) -> Report:
    """Return the report that begins at ``offset``, with the shared configuration put back."""
    with path.open("rb") as file:
        file.seek(offset)
        record = loads_object(file.readline())
    try:
        check_report(record)
        return report_of(record, shared)
    except (ValueError, LookupError, TypeError) as error:
        raise RunFolderError(
            f"{path}: the report on {record.get('task_id')}, trial {record.get('repeat_idx')} "
            f"cannot be read ({excerpt(error)}); remove its line, and resume the run to make it "
            "again"
        ) from error


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a JSON object, found {type(value).__name__}")
    return value


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else excerpt(error)
