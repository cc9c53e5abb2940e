"""The index of a log and the labels of failures, kept for the next start of the viewer.

They lie with all else that this machine knows of a log (``kept_about``), never beside it: whoever
hands over a run could hand over an index with other outcomes. What is missing, damaged, or made for
another log or by another release is made again without a word.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from maseval.core.outcome import TaskKey
from maseval.core.storage.files import FileState
from maseval.report.columns import Columns, pack, unpack
from maseval.report.index import Entry, columns_of
from maseval.runs.chain import Link, LogLine
from maseval.runs.config import RunConfig, Simulation
from maseval.runs.config_file import LOG
from maseval.runs.log import LogContents, ReportPlace, kept_about

# Also another one when entries are made by other rules.
_INDEX_FORMAT = 3
_INDEX = "index"

_LABELS = "labels"
# Another one also when simulations are labelled by other rules.
_LABELS_FORMAT = 3

Labels = dict[int, tuple[str, ...]]
"""What a simulation is labelled with, by the place of its report."""


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
    known = kept_about(log)
    known.put(_INDEX, _pack_index(log, index))
    known.save()


def load_index(log: Path) -> SavedIndex | None:
    """Return the index of a log as it was saved, if the log still begins with what it is about."""
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        return _read_index(log, kept_about(log).get(_INDEX))
    return None


def _pack_index(log: Path, index: SavedIndex) -> dict[str, object]:
    line, missing, begun = index.position
    contents = index.contents
    columns = columns_of(index.entries)
    del columns["labels"]  # which are not part of a log
    seen = log.stat()
    return {
        "format": _INDEX_FORMAT,
        "fields": Entry._fields,
        "log": [seen.st_size, seen.st_mtime_ns],
        "position": [line.number, line.row, line.offset, line.link.hash, missing, begun],
        "config": None if contents.config is None else contents.config.values,
        "shared": contents.shared,
        "entries": pack(columns),
    }


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
    found = _read_entries(saved["entries"])
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


def _read_entries(packed: Columns) -> list[Entry]:
    packed["columns"]["labels"] = {"values": [()]}
    forms: dict[str, Callable[[Any], object]] = {
        "key": lambda key: TaskKey(*key),
        "facts": lambda facts: tuple(map(tuple, facts)),
    }
    for name, read in forms.items():
        column = packed["columns"][name]
        for form in ("values", "each"):
            if form in column:
                column[form] = [read(each) for each in column[form]]
    columns = unpack(packed)
    return [*map(Entry._make, zip(*(columns[name] for name in Entry._fields), strict=True))]


def _line_at(log: Path, offset: int) -> bytes:
    with log.open("rb") as file:
        file.seek(offset)
        return file.readline()


def save_labels(file: Path, labels: Mapping[int, tuple[str, ...]]) -> None:
    """Keep the labels of a log or a results file; where that is not possible, they are not kept."""
    known = kept_about(file)
    known.put(_LABELS, [_LABELS_FORMAT, FileState.now(file), [*labels.items()]])
    known.save()


def load_labels(file: Path) -> Labels:
    """Return the labels that are known of a log or a results file."""
    match kept_about(file).get(_LABELS):
        case [form, [*seen], [*found]] if form == _LABELS_FORMAT:
            if _begins_as(file, FileState(*seen)):
                return {at: tuple(labels) for at, labels in found}
    return {}


def _begins_as(file: Path, seen: FileState) -> bool:
    """Return whether it is the file that was seen; a log may have grown since."""
    now = FileState.now(file)
    return now == seen or (file.name == LOG and now.file == seen.file and now.size > seen.size)
