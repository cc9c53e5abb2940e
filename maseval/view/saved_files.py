"""The viewer's own files: the index of a log and the labels of failures, kept for the next start.

They lie beside the log, or in the cache where its folder is read-only, and may be deleted at any
time. One that is missing, damaged, or made for another log or by another release is made again
without a word.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from maseval.core.outcome import TaskKey
from maseval.core.storage import strict_json
from maseval.core.storage.files import FileState, write_bytes
from maseval.data.store import cache_dir
from maseval.report.index import Entry
from maseval.runs.chain import Link, LogLine
from maseval.runs.config import RunConfig, Simulation
from maseval.runs.config_file import LOG
from maseval.runs.log import LogContents, ReportPlace

INDEX_FILE = "view-index.json"
# Also another one when entries are made by other rules.
_INDEX_FORMAT = 2
# What many entries have in common, and labels, which are not part of a log.
_SHARED = frozenset({"key", "note", "facts", "labels"})


LABELS_FILE = "view-labels.json"
# Another one also when simulations are labelled by other rules.
_LABELS_FORMAT = 3

Labels = dict[int, tuple[str, ...]]
"""What a simulation is labelled with, by the place of its report."""


def cached_path(file: Path, kind: str = "") -> Path:
    """Return the place in the cache for something about a file that cannot be kept beside it."""
    name = hashlib.sha256(str(file.absolute()).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return cache_dir() / "view" / f"{kind}{name}.json"


def _write_first(places: Sequence[Path], content: bytes) -> None:
    """Write to the first place that can be written to, if there is any."""
    for place in places:
        with suppress(OSError):
            write_bytes(place, content)
            return


class Position(NamedTuple):
    """A line of a log up to which it was read, and what its chain was like until there."""

    line: LogLine
    missing: int
    begun: bool


class SavedIndex(NamedTuple):
    """The contents and entries of a log up to a position."""

    position: Position
    contents: LogContents
    entries: list[Entry]


def is_line_of(log: Path, line: LogLine) -> bool:
    """Return whether a log still has a line where it was."""
    try:
        return _line_at(log, line.offset) == line.text
    except OSError:
        return False


def save_index(log: Path, index: SavedIndex) -> None:
    """Keep an index; where that is not possible, it is made again after the next start."""
    body = strict_json.dumps(_pack_index(log, index)).encode("ascii")
    content = hashlib.sha256(body).hexdigest().encode("ascii") + b"\n" + body
    _write_first(_index_places(log), content)


def load_index(log: Path) -> SavedIndex | None:
    """Return the index of a log as it was saved, if the log still begins with what it is about."""
    for place in _index_places(log):
        with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
            digest, _, body = place.read_bytes().partition(b"\n")
            if hashlib.sha256(body).hexdigest().encode("ascii") == digest:
                return _read_index(log, strict_json.loads(body))
    return None


def _index_places(log: Path) -> list[Path]:
    return [log.with_name(INDEX_FILE), cached_path(log)]


def _pack_index(log: Path, index: SavedIndex) -> dict[str, object]:
    line, missing, begun = index.position
    contents = index.contents
    keys = _Numbered()
    notes = _Numbered()
    facts = _Numbered()
    seen = log.stat()
    return {
        "format": _INDEX_FORMAT,
        "fields": Entry._fields,
        "log": [seen.st_size, seen.st_mtime_ns],
        "position": [line.number, line.row, line.offset, line.link.hash, missing, begun],
        "config": None if contents.config is None else contents.config.values,
        "shared": contents.shared,
        "entries": [
            [keys.of(entry.key), notes.of(entry.note), facts.of(entry.facts), _own_fields(entry)]
            for entry in index.entries
        ],
        "keys": list(keys),
        "notes": list(notes),
        "facts": list(facts),
    }


def _own_fields(entry: Entry) -> dict[str, object]:
    return {name: value for name, value in entry._asdict().items() if name not in _SHARED}


class _Numbered(dict[Any, int]):
    """Values that occur thousands of times, each written once."""

    def of(self, value: object) -> int:
        return self.setdefault(value, len(self))


def _read_index(log: Path, saved: dict[str, Any]) -> SavedIndex:
    """Read a saved index; raise if it is not of this log, or of another release."""
    seen, (size, changed) = log.stat(), saved["log"]
    if (saved["format"], tuple(saved["fields"])) != (_INDEX_FORMAT, Entry._fields):
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
        {
            Simulation(*entry.key, int(entry.trial)): ReportPlace(entry.at, entry.status or "")
            for entry in found
        },
        saved["shared"],
        config=None if saved["config"] is None else RunConfig.of(saved["config"]),
        end=line.link,
    )
    return SavedIndex(Position(line, missing, begun), contents, found)


def _line_at(log: Path, offset: int) -> bytes:
    with log.open("rb") as file:
        file.seek(offset)
        return file.readline()


def save_labels(file: Path, labels: Mapping[int, tuple[str, ...]]) -> None:
    """Keep the labels of a log or a results file; where that is not possible, they are not kept."""
    found = {
        "format": [_LABELS_FORMAT, _release()],
        "seen": FileState.now(file),
        "labels": [*labels.items()],
    }
    _write_first(_labels_places(file), strict_json.dumps(found).encode("ascii"))


def load_labels(file: Path) -> Labels:
    """Return the labels that are known of a log or a results file."""
    for place in _labels_places(file):
        with suppress(OSError, ValueError, KeyError, TypeError):
            found: Any = strict_json.loads_object(place.read_bytes())
            seen = FileState(*map(int, found["seen"]))
            if found["format"] == [_LABELS_FORMAT, _release()] and _begins_as(file, seen):
                return {int(at): tuple(map(str, labels)) for at, labels in found["labels"]}
    return {}


def _release() -> str:
    try:
        return version("maseval")
    except PackageNotFoundError:  # run from a checkout that nobody installed
        return ""


def _begins_as(file: Path, seen: FileState) -> bool:
    """Return whether it is the file that was seen; a log may have grown since."""
    now = FileState.now(file)
    return now == seen or (file.name == LOG and now.file == seen.file and now.size > seen.size)


def _labels_places(file: Path) -> list[Path]:
    cached = cached_path(file, "labels-")
    return [file.with_name(LABELS_FILE), cached] if file.name == LOG else [cached]
