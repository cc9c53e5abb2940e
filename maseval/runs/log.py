"""The log of a run: what its lines mean, and how it is read.

Each line is a JSON object with a checksum and a ``kind``. A *report* is one finished simulation.
*shared* is the ``config["benchmark"]`` of the reports that name its id, written once for each
session. *extended* is the configuration from there on, after tasks or trials were added. *closed*
ends a session with its counts, so that listing runs need not read whole logs. What the traces of a
report hold several times is written once (``repeats``).
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, TypeGuard, cast

from maseval.core.report import LEFT_OUT_STATUSES, Report, TaskExecutionStatus
from maseval.core.storage import strict_json
from maseval.core.storage.seal import broken_seal
from maseval.runs.config import RunConfig, Simulation
from maseval.runs.repeats import with_repeats, without_repeats

# Not the agent's fault: another attempt may succeed. A failed evaluation is not among them, as it
# needs no new conversation: ``Benchmark.rescore`` evaluates the recorded one.
RERUN_STATUSES = frozenset(
    status.value
    for status in (
        TaskExecutionStatus.SETUP_FAILED,
        TaskExecutionStatus.ENVIRONMENT_ERROR,
        TaskExecutionStatus.USER_ERROR,
        TaskExecutionStatus.UNKNOWN_EXECUTION_ERROR,
        TaskExecutionStatus.TASK_TIMEOUT,
        *LEFT_OUT_STATUSES,
    )
)

_UNREADABLE = (ValueError, KeyError, TypeError, RecursionError)
_END_OF_HEAD = b', "shared": '
_OWN_KEYS = ("crc", "kind", "domain", "shared")
# A line is many kilobytes long; the usual buffer would cut it into pieces.
_BUFFER = 1 << 20


class DamagedRecord(NamedTuple):
    """A line of a log that cannot be read; it stays in the file."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


class ReportPlace(NamedTuple):
    """Where in the log a report is, and how its simulation ended."""

    offset: int
    status: str


class Score(TypedDict):
    """A share of tasks with the ends of its interval."""

    value: float
    low: float
    high: float


class Closing(TypedDict):
    """The line that ends a session; ``config`` only if the run was extended.

    ``cost`` (in usd) and ``tokens`` are those of all sessions, and ``pass_1`` the score with the
    ends of its interval, if the writer counted them.
    """

    kind: Literal["closed"]
    at: str
    done: int
    failed: int
    planned: int
    config: dict[str, Any] | None
    cost: NotRequired[float]
    tokens: NotRequired[int]
    pass_1: NotRequired[Score]


@dataclass
class LogContents:
    """What is in a log. Of several reports on one simulation the last one counts."""

    places: dict[Simulation, ReportPlace] = field(default_factory=dict)
    shared: dict[str, object] = field(default_factory=dict)
    damaged: list[DamagedRecord] = field(default_factory=list)
    config: RunConfig | None = None
    torn: bool = False

    def add(self, record: Mapping[str, object], offset: int) -> None:
        """Add one line; raises if it lacks what its kind requires."""
        match record["kind"]:
            case "report":
                self.places[simulation_of(record)] = ReportPlace(offset, str(record["status"]))
            case "shared":
                self.shared[str(record["id"])] = record["benchmark"]
            case "extended":
                self.config = RunConfig.of(_mapping(record["config"]))
            case "closed":
                pass
            case unknown:
                raise ValueError(f"unknown kind {unknown!r}")


def report_record(report: Mapping[str, object], shared: str | None) -> dict[str, object]:
    """A report as a line; its head comes first, for ``heads`` to find."""
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


def _unsealed(line: bytes) -> dict[str, object]:
    """The record of a line; raises if anything in it is not as it was written."""
    record = strict_json.loads_object(line)
    if problem := broken_seal(line):
        raise ValueError(problem)
    return record


def shared_id(benchmark: object) -> str:
    """A name for what many reports share."""
    return hashlib.sha256(strict_json.dumps(benchmark).encode()).hexdigest()[:16]


def contents_of(path: Path) -> LogContents:
    """Read the whole log, every record to its last byte."""
    contents, offset = LogContents(), 0
    for number, line in enumerate(_lines(path), 1):
        try:
            contents.add(_unsealed(line), offset)
        except _UNREADABLE as error:
            if line.endswith(b"\n"):
                contents.damaged.append(DamagedRecord(number, _reason(error)))
            else:
                contents.torn = True
        offset += len(line)
    return contents


def heads_of(path: Path) -> LogContents:
    """As ``contents_of``, without looking further into a report than its head; many times faster.

    Skips what reports share, and every line it cannot read.
    """
    contents, offset = LogContents(), 0
    for line in _lines(path):
        end = line.find(_END_OF_HEAD)
        with suppress(*_UNREADABLE):
            contents.add(strict_json.loads_object(line if end < 0 else line[:end] + b"}"), offset)
        offset += len(line)
    contents.shared.clear()
    return contents


def last_record(path: Path, at_most: int = 1 << 18) -> dict[str, object]:
    """The last line if it is whole and short, else nothing."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - at_most))
            return strict_json.loads_object(file.read().splitlines(keepends=True)[-1])
    except (OSError, ValueError, IndexError, RecursionError):
        return {}


def is_closing(record: Mapping[str, object]) -> TypeGuard[Closing]:
    """Whether a record ends a session, with all its counts."""
    return record.get("kind") == "closed" and record.keys() >= Closing.__required_keys__


def report_at(path: Path, offset: int, shared: Mapping[str, object]) -> Report:
    """The report that begins at ``offset``, with the shared configuration put back."""
    with path.open("rb") as file:
        file.seek(offset)
        record = strict_json.loads_object(file.readline())
    if record["shared"] in shared:
        record["config"]["benchmark"] = shared[record["shared"]]
    if isinstance(record.get("traces"), dict):
        record["traces"] = with_repeats(record["traces"])
    return cast(Report, {key: part for key, part in record.items() if key not in _OWN_KEYS})


def _lines(path: Path) -> Iterator[bytes]:
    if path.exists():
        with path.open("rb", buffering=_BUFFER) as file:
            yield from file


def simulation_of(record: Mapping[str, object]) -> Simulation:
    """The simulation that a line is about."""
    domain, task_id, trial = record["domain"], record["task_id"], record["repeat_idx"]
    if not (isinstance(domain, str) and isinstance(task_id, str) and isinstance(trial, int)):
        raise ValueError(f"not a simulation: {domain!r}, {task_id!r}, {trial!r}")
    return Simulation(domain, task_id, trial)


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a JSON object, found {type(value).__name__}")
    return value


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)
