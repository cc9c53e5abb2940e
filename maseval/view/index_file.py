"""The index of a log on the disk: beside the log, or in the cache where its folder is read-only.

It may be deleted at any time. One that is missing, damaged, or made for another log or by another
release is made again, and nobody is told.
"""

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from maseval.core.outcome import TaskKey
from maseval.core.storage import strict_json
from maseval.core.storage.files import write_bytes
from maseval.data.store import cache_dir
from maseval.report.index import Entry
from maseval.runs.chain import Link, LogLine
from maseval.runs.config import RunConfig, Simulation
from maseval.runs.log import LogContents, ReportPlace

NAME = "view-index.json"
# Also another one when entries are made by other rules.
_FORMAT = 1
# What many entries have in common, and labels, which are not part of a log.
_SHARED = frozenset({"key", "note", "facts", "labels"})


class Position(NamedTuple):
    """A line of a log up to which it was read, and what its chain was like until there."""

    line: LogLine
    missing: int
    begun: bool


class SavedIndex(NamedTuple):
    """What is known of a log up to a position."""

    position: Position
    contents: LogContents
    entries: list[Entry]


def is_line_of(log: Path, line: LogLine) -> bool:
    """Whether a log still has a line where it was."""
    try:
        return _line_at(log, line.offset) == line.text
    except OSError:
        return False


def save(log: Path, index: SavedIndex) -> None:
    """Keep an index; where that is not possible, it is made again after the next start."""
    body = strict_json.dumps(_written(log, index)).encode("ascii")
    content = hashlib.sha256(body).hexdigest().encode("ascii") + b"\n" + body
    for place in _places(log):
        with suppress(OSError):
            write_bytes(place, content)
            return


def load(log: Path) -> SavedIndex | None:
    """The index of a log as it was saved, if the log still begins with what it is about."""
    for place in _places(log):
        with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
            digest, _, body = place.read_bytes().partition(b"\n")
            if hashlib.sha256(body).hexdigest().encode("ascii") == digest:
                return _read(log, strict_json.loads(body))
    return None


def _places(log: Path) -> list[Path]:
    name = hashlib.sha256(str(log.absolute()).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return [log.with_name(NAME), cache_dir() / "view" / f"{name}.json"]


def _written(log: Path, index: SavedIndex) -> dict[str, object]:
    line, missing, begun = index.position
    contents = index.contents
    keys = _Numbered()
    notes = _Numbered()
    facts = _Numbered()
    seen = log.stat()
    return {
        "format": _FORMAT,
        "fields": Entry._fields,
        "log": [seen.st_size, seen.st_mtime_ns],
        "position": [line.number, line.row, line.offset, line.link.hash, missing, begun],
        "config": None if contents.config is None else contents.config.values,
        "shared": contents.shared,
        "entries": [
            [keys.of(entry.key), notes.of(entry.note), facts.of(entry.facts), _own(entry)]
            for entry in index.entries
        ],
        "keys": list(keys),
        "notes": list(notes),
        "facts": list(facts),
    }


def _own(entry: Entry) -> dict[str, object]:
    return {name: value for name, value in entry._asdict().items() if name not in _SHARED}


class _Numbered(dict[Any, int]):
    """Values that occur thousands of times, each written once."""

    def of(self, value: object) -> int:
        return self.setdefault(value, len(self))


def _read(log: Path, saved: dict[str, Any]) -> SavedIndex:
    """Raises if it is not of this log, or of another release."""
    seen, (size, changed) = log.stat(), saved["log"]
    if (saved["format"], tuple(saved["fields"])) != (_FORMAT, Entry._fields):
        raise ValueError("of another release")
    if seen.st_size == size and seen.st_mtime_ns != changed:
        raise ValueError("the log was written anew")
    number, row, offset, digest, missing, begun = saved["position"]
    line = LogLine(number, row, offset, _line_at(log, offset))
    if line.link != Link(number, digest):
        raise ValueError("of another log")
    keys, notes = [TaskKey(*key) for key in saved["keys"]], saved["notes"]
    facts = [tuple((name, value) for name, value in each) for each in saved["facts"]]
    found = [
        Entry(key=keys[key], note=notes[note], facts=facts[fact], labels=(), **own)
        for key, note, fact, own in saved["entries"]
    ]
    contents = LogContents(
        {_simulation(entry): ReportPlace(entry.at, entry.status or "") for entry in found},
        saved["shared"],
        config=None if saved["config"] is None else RunConfig.of(saved["config"]),
        end=line.link,
    )
    return SavedIndex(Position(line, missing, begun), contents, found)


def _simulation(entry: Entry) -> Simulation:
    return Simulation(entry.key.group, entry.key.task, int(entry.trial))


def _line_at(log: Path, offset: int) -> bytes:
    with log.open("rb") as file:
        file.seek(offset)
        return file.readline()
