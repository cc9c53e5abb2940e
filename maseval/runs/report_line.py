"""A line of a run's log: its link to the line before, and the report in it.

Each line names the one before it by its number and its hash. A line's own checksum notices damage,
but whoever edits a line can make its checksum right again. The next line then still names what was
there before. So an edited, added or missing line shows, unless everything after it was written anew
as well. The last line has no successor, so the end of the log is also kept beside it when a session
closes (``Seal``): a log that was cut off is noticed, too. Whoever wants to notice a folder that was
written anew as a whole keeps the run's ``seal`` elsewhere. Lines of earlier releases have no link;
they are read as before.

In the traces of a report, what occurs again is written as a reference. A view, such as what one
side saw of a conversation, consists of the same objects as what it is a view of; each repeated
object is a reference to the first one: ``{"$same_as": [path]}``.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, cast

from pydantic_core import from_json

from maseval.core.index_line import IndexLine
from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.report import Report
from maseval.core.storage import strict_json
from maseval.core.storage.files import FileState, write_json
from maseval.core.words import excerpt

LINK = "after"
# Of a SHA-256: nobody finds another line with the same 128 bits.
_DIGITS = 32
# A line is many kilobytes long; the usual buffer would cut it into pieces.
_BUFFER = 1 << 20


class Link(NamedTuple):
    """A line of a log: its number, counted from 1, and a hash of its text."""

    number: int
    hash: str

    @classmethod
    def of(cls, number: int, line: bytes) -> "Link":
        digest = hashlib.sha256(line.strip(b"\r\n")).hexdigest()
        return cls(number, digest[:_DIGITS])

    @classmethod
    def parse(cls, text: object) -> "Link":
        """Return the link in a record; raises ``ValueError`` for anything else."""
        number, _, digest = str(text).partition(" ")
        if not number.isdecimal() or len(number) > 15:
            raise ValueError("its link to the line before cannot be read")
        return cls(int(number), digest)

    def __str__(self) -> str:
        return f"{self.number} {self.hash}"


BEGINNING = Link(0, "")


@dataclass(eq=False)
class LogLine:
    """A line of a log that has content: its number among these, and its place in the file."""

    number: int
    row: int
    offset: int
    text: bytes

    @cached_property
    def link(self) -> Link:
        """The link that the next line should name."""
        return Link.of(self.number, self.text)


def lines_of(path: Path, after: LogLine | None = None) -> Iterator[LogLine]:
    """Yield the lines of a log, without blank ones.

    ``after`` is a line of the same log: only what follows it is read.
    """
    number = offset = first = 0
    if after is not None:
        number, first = after.number, after.row
        offset = after.offset + len(after.text)
    if not path.exists():
        return
    with path.open("rb", buffering=_BUFFER) as file:
        file.seek(offset)
        for row, line in enumerate(file, first + 1):
            if not line.isspace():
                number += 1
                yield LogLine(number, row, offset, line)
            offset += len(line)


SEAL = "seal.json"


class Seal(NamedTuple):
    """The end of a log when a session closed: its last line, and the state of the file then."""

    end: Link
    file: tuple[int, int, int]
    """Its size, when it was changed, and when the system last touched it."""

    @classmethod
    def read(cls, folder: Path) -> "Seal | None":
        """Return the seal of a run; None if it has none, as in earlier releases, or a damaged one.

        A log that differs from its seal only in times was perhaps copied.
        """
        try:
            stored = strict_json.loads_object((folder / SEAL).read_bytes())
            size, changed, touched = map(int, stored["file"])
            return cls(Link.parse(stored["end"]), (size, changed, touched))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @classmethod
    def write(cls, log: Path, end: Link) -> None:
        """Keep the end of a log that nobody writes to any more."""
        log.stat()  # raises if there is none
        write_json(log.with_name(SEAL), {"end": str(end), "file": FileState.now(log)[:3]})

    def fits(self, log: Path) -> bool:
        return FileState.now(log)[:3] == self.file


def loads_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line; raises ``ValueError`` for anything else."""
    try:  # it reads what Python's own reads, in less time
        value = from_json(line)
    except ValueError:  # half of a character, or numbers that are none
        return strict_json.loads_object(line)
    return value if isinstance(value, dict) else strict_json.loads_object(line)


INDEX = "index"
_OWN_KEYS = ("crc", LINK, "kind", "domain", INDEX, "shared")
_HEAD = ("kind", "domain", "task_id", "repeat_idx", "status")

_REPORT_TYPES: dict[str, type | UnionType] = {
    "status": str,
    "config": dict,
    "traces": dict,
    "usage": dict,
    "task": dict,
    "error": dict | None,
    "eval": list | None,
    "duration_seconds": int | float,
    "attempts": list,
}


def report_record(report: Mapping[str, object], shared: str | None) -> dict[str, object]:
    """Return a report as a line; its head comes first, for ``heads`` to find."""
    # The id stands first, so that a list needs the head of each line alone.
    simulation = Simulation.of(cast(Report, report))
    traces = report.get("traces")
    once = {"traces": without_repeats(traces)} if isinstance(traces, Mapping) else {}
    return {
        "kind": "report",
        "domain": simulation.domain,
        "task_id": simulation.task_id,
        "repeat_idx": simulation.trial,
        "status": report["status"],
        "shared": shared,
        **report,
        **once,
    }


def report_text(record: Mapping[str, object]) -> str:
    """Return the JSON of a report's line, with its index line before all that is long."""
    left = (key for key in record if key not in (*_HEAD, INDEX, "traces"))
    head, rest, traces = (
        strict_json.dumps(part)
        for part in (
            {key: record[key] for key in _HEAD},
            {key: record[key] for key in left},
            record["traces"],
        )
    )
    # Made from what was written, where an agent's own kind of number is a text.
    first, others, traced = (loads_object(part.encode("ascii")) for part in (head, rest, traces))
    index = strict_json.dumps(_index_of({**first, **others, "traces": traced}))
    return f'{head[:-1]}, "{INDEX}": {index}, {rest[1:-1]}, "traces": {traces}}}'


def _index_of(said: dict[str, Any]) -> dict[str, object] | None:
    """Return the index line of a report as it was written; None if nobody can read that back."""
    try:
        said["traces"] = with_repeats(said["traces"])
    except (LookupError, TypeError):  # somebody else's, that names what is not there
        return None
    return IndexLine.of(RecordedReport(said)).to_record()


def index_in(record: Mapping[str, object]) -> IndexLine | None:
    """Return the index line of a report's head, if it has one that can be read."""
    return IndexLine.read(simulation_of(record), str(record["status"]), record.get(INDEX))


def check_report(record: Mapping[str, object]) -> None:
    """Raise unless a line has all that a report has, as far as reading it back needs."""
    for key in (*_REPORT_TYPES, "shared"):
        if not isinstance(record[key], _REPORT_TYPES.get(key, object)):
            raise ValueError(f"{key!r} is {excerpt(record[key], 40)}")
    match record["task"]:
        case {"metadata": dict()}:
            pass
        case _:
            raise ValueError("its task has no metadata")
    simulation_of(record)


def report_of(record: dict[str, Any], shared: Mapping[str, object]) -> Report:
    """Return the report in a record, which is changed; raises if it names what is not there."""
    if record["shared"] in shared:
        record["config"]["benchmark"] = shared[record["shared"]]
    record["traces"] = with_repeats(record["traces"])
    return cast(Report, {key: part for key, part in record.items() if key not in _OWN_KEYS})


def simulation_of(record: Mapping[str, object]) -> Simulation:
    """Return the simulation that a line is about."""
    domain, task_id, trial = record["domain"], record["task_id"], record["repeat_idx"]
    if not (isinstance(domain, str) and isinstance(task_id, str) and isinstance(trial, int)):
        given = (domain, task_id, trial)
        raise ValueError(f"not a simulation: {', '.join(excerpt(one, 40) for one in given)}")
    return Simulation(domain, task_id, trial)


_SAME = "$same_as"
_LITERAL = "$literal"
# A reference is about as long; shorter texts are often the same object by chance.
_WORTH_IT = 60
# What others are views of stands first.
_FIRST = "environment"
# Whoever reads it goes as deep, and Python limits that.
_DEEPEST = 300

# Sets and tuples of types, as asking for the type is most of the work.
_SCALARS = frozenset({int, float, bool, type(None)})
_TEXT = frozenset({str})
_CONTAINERS = (dict, list)

Step = str | int
# The place that something stands in, None for the traces themselves, and the step from there.
Place = tuple[object, Step]


def without_repeats(traces: Mapping[str, object]) -> dict[str, object]:
    """Return the traces with references for repeated objects; what is given is not changed.

    If they cannot be followed to their end, as they are nested too deeply, they are cut.
    """
    ordered = {key: traces[key] for key in _in_reading_order(traces)}
    try:
        written = _shorten(ordered, None, {})
    except Exception:  # of whatever the traces consist of
        return without_repeats(strict_json.plain(dict(traces)))
    return {key: written[key] for key in traces}


def with_repeats(traces: dict[str, Any]) -> dict[str, Any]:
    """Resolve all references in place, so that a repeated object is again one object."""
    for key in _in_reading_order(traces):
        if isinstance(traces[key], _CONTAINERS):
            traces[key] = _restore(traces[key], traces)
    return traces


def _in_reading_order(traces: Mapping[str, object]) -> list[str]:
    return sorted(traces, key=lambda key: key != _FIRST)


def _shorten(container: Any, place: Place | None, seen: dict[int, Place], depth: int = 0) -> Any:
    """Return a container with references; it is the same one if it needs none."""
    if depth > _DEEPEST:
        raise RecursionError
    is_dict, written = isinstance(container, dict), container
    if is_dict and place is not None and (_SAME in container or _LITERAL in container):
        return {_LITERAL: container}  # somebody's own, which must not be resolved
    needs_check = is_dict
    for step, one in container.items() if is_dict else enumerate(container):
        # Nearly all are short: a call for each would take longer than all the rest.
        if (kind := type(one)) is str:
            is_short = len(one) < _WORTH_IT
        else:
            is_short = kind in _SCALARS or not isinstance(one, _CONTAINERS) or not one
        if is_short:
            continue
        if needs_check and not _TEXT.issuperset(map(type, container)):
            return container  # JSON would spell the path otherwise
        needs_check = False
        if (first := seen.get(id(one))) is not None:
            short = {_SAME: _steps_to(first)}
        else:
            seen[id(one)] = here = place, step
            if kind is str or (short := _shorten(one, here, seen, depth + 1)) is one:
                continue
        if written is container:
            written = dict(container) if is_dict else list(container)
        written[step] = short
    return written


def _steps_to(place: Place) -> list[Step]:
    steps, at = list[Step](), cast(Any, place)
    while at is not None:
        at, last = at
        steps.insert(0, last)
    return steps


def _restore(value: Any, traces: dict[str, Any]) -> Any:
    """Return a container with its references resolved; it is changed."""
    items: Iterable[tuple[Any, Any]]
    if type(value) is list:
        items = enumerate(value)
    else:
        if len(value) == 1:
            if _SAME in value:
                found: Any = traces
                for step in value[_SAME]:
                    found = found[step]
                return found
            if _LITERAL in value:
                return value[_LITERAL]
        items = value.items()
    for key, one in items:
        if (kind := type(one)) is dict or kind is list:
            value[key] = _restore(one, traces)
    return value
