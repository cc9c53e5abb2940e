"""Files of a run beside its log, on which no result depends: ``live.json`` and ``workers.jsonl``.

``live.json`` is the present state of a running run, written anew a few times a second by the
process that holds the folder's lock, and removed at the end. A file that a killed process leaves
behind is recognised by the lock, and ignored. ``workers.jsonl`` is the history of the run's worker
processes.
"""

import logging
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict
from uuid import uuid4

from maseval.core.engine.engines import WorkerEvent
from maseval.core.recorded import mapping, number
from maseval.core.storage import strict_json
from maseval.core.storage.records import RecordWriter, iter_records, mend
from maseval.core.words import text
from maseval.runs.config_file import LOCK
from maseval.runs.lock import holder_of

LIVE = "live.json"
# Far more than a thousand simulations at once need; a larger file is not one of ours.
_MOST_BYTES = 16 << 20


class LastMessage(TypedDict):
    """The last message of a conversation, cut to what fits in a line or two."""

    role: str
    text: str


class InFlight(TypedDict):
    """A simulation that is running; ``step`` and ``last`` are None if the benchmark has none."""

    domain: str
    task: str
    trial: int
    since: str
    step: int | None
    last: LastMessage | None


class LiveRun(TypedDict):
    """A run at one moment; ``pid`` is the process that runs it, costs are in usd."""

    pid: int
    at: str
    cost: float
    tokens: int
    rate_limits: int
    in_flight: list[InFlight]


def publish(folder: Path, live: LiveRun) -> None:
    """Replace ``live.json``; a reader sees the old or the new one, never a part."""
    # Not synced: after a crash nobody wants to know what was going on before it.
    hidden = folder / f".{uuid4().hex}.tmp"
    try:
        hidden.write_bytes(strict_json.dumps(live).encode("ascii"))
        hidden.replace(folder / LIVE)
    except OSError:  # a full disk is reported where results are stored
        with suppress(OSError):
            hidden.unlink()


def withdraw(folder: Path) -> None:
    """Remove the file at the end of a session, when nothing is in flight."""
    with suppress(OSError):
        os.unlink(folder / LIVE)


def read_live(folder: Path) -> LiveRun | None:
    """Return the present state of the run, or None if it is not running or does not say."""
    path = folder / LIVE
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        found = strict_json.loads_object(path.read_bytes())
    except (OSError, ValueError):
        return None
    holder = holder_of(folder / LOCK)
    whole = found.keys() >= LiveRun.__required_keys__
    if holder is None or not whole or found["pid"] != holder.pid:
        return None
    return found  # type: ignore[return-value]


WORKER_LOG = "workers.jsonl"
_FINISHED = "finished"
_USUAL = frozenset({"started", _FINISHED})

logger = logging.getLogger(__name__)


def note_event(folder: Path, event: WorkerEvent) -> None:
    """Keep an event."""
    _append(folder, {"kind": event.kind, "at": event.at, "node": event.node, "text": event.text})


def note_finished(folder: Path, by_node: Mapping[str, int]) -> None:
    """Keep how many simulations a session finished on each node."""
    if by_node:
        _append(folder, {"kind": _FINISHED, "nodes": dict(by_node)})


def _append(folder: Path, record: Mapping[str, object]) -> None:
    try:
        if (folder / WORKER_LOG).exists():
            mend(folder / WORKER_LOG)
        with RecordWriter(folder / WORKER_LOG, resume=True, sync=False) as file:
            file.append(record)
    except OSError as error:  # no result depends on it
        logger.debug("%s", error)


@dataclass
class WorkerHistory:
    """Over all sessions of a run: simulations finished by each node, and what went wrong."""

    finished: Counter[str] = field(default_factory=Counter)
    incidents: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path) -> "WorkerHistory":
        """Read the history of a run; it is empty if the run took place in one process."""
        history = cls()
        path = folder / WORKER_LOG
        records = iter_records(path, on_torn=lambda line: None) if path.is_file() else ()
        for record in records:
            if record.get("kind") == _FINISHED:
                nodes = mapping(record, "nodes")
                history.finished.update({node: int(number(nodes[node]) or 0) for node in nodes})
            elif record.get("kind") not in _USUAL:
                history.incidents.append(f"{text(record.get('at'))} {text(record.get('text'))}")
        return history
