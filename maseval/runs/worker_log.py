"""What became of a run's worker processes: ``workers.jsonl`` in its folder, beside the results."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from maseval.core.engine.engines import WorkerEvent
from maseval.core.shapes import mapping, number, text
from maseval.core.storage.records import RecordWriter, iter_records, mend

NAME = "workers.jsonl"
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
        if (folder / NAME).exists():
            mend(folder / NAME)
        with RecordWriter(folder / NAME, resume=True, sync=False) as file:
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
        """That of a run; empty if it took place in one process."""
        history = cls()
        for record in _records(folder / NAME):
            if record.get("kind") == _FINISHED:
                nodes = mapping(record, "nodes")
                history.finished.update({node: int(number(nodes[node]) or 0) for node in nodes})
            elif record.get("kind") not in _USUAL:
                history.incidents.append(f"{text(record.get('at'))} {text(record.get('text'))}")
        return history


def _records(path: Path) -> Iterator[dict[str, object]]:
    if path.is_file():
        yield from iter_records(path, on_torn=lambda line: None)
