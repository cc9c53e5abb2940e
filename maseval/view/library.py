"""Library: the runs below one folder, found by their names."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from maseval.core.shapes import mapping
from maseval.runs import RunState
from maseval.runs.listing import run_state
from maseval.runs.log import Score
from maseval.view.exceptions import NothingThereError
from maseval.view.log_index import Seen
from maseval.view.places import name_of, place_of
from maseval.view.reading import RunReader
from maseval.view.viewed import IndexedRun, JudgedFile, Source, ViewedRun

CONFIG = "config.json"
_DEEPEST = 6
_MOST_OPEN = 12
_STATES = {"complete": "finished", "incomplete": "interrupted"}


class RunRow(TypedDict):
    """One run in the list of all."""

    name: str
    kind: str
    state: str
    pass_1: Score | None
    done: int
    failed: int
    planned: int
    cost: float | None
    tokens: int | None
    models: list[str]
    domains: list[str]
    started: str
    updated: str
    tags: list[str]
    note: str | None
    problem: str | None


@dataclass
class _Opened:
    """A run that is open, and its configuration or file as it was then."""

    seen: Seen
    lock: threading.Lock
    run: ViewedRun | None = None


class Library:
    """The runs below a folder."""

    def __init__(self, root: Path, reader: RunReader) -> None:
        self.root = Path(os.path.abspath(root))
        self.reader = reader
        self._lock = threading.Lock()
        self._open: dict[str, _Opened] = {}

    def rows(self) -> list[RunRow]:
        """Every run, the latest first."""
        rows = [self._row(path) for path in _run_folders(self.root, _DEEPEST)]
        return sorted(rows, key=lambda row: row["updated"], reverse=True)

    def path_of(self, name: str) -> Path:
        """Where a run is."""
        path = place_of(self.root, name)
        if (path / CONFIG).is_file() or (path.is_file() and self.reader.is_results(path)):
            return path
        raise NothingThereError(f"no run is called {name!r}")

    def run(self, name: str) -> ViewedRun:
        """A run as the page shows it, with all that there is by now."""
        path = self.path_of(name)
        run = self._opened(path, name)
        run.refresh()
        return run

    def _opened(self, path: Path, name: str) -> ViewedRun:
        """The run if it is open already; those that were not asked for lately are closed."""
        with self._lock:
            seen = Seen.now(path if path.is_file() else path / CONFIG)
            found = self._open.pop(name, None)
            if found is None or found.seen != seen:
                found = _Opened(seen, threading.Lock())
            self._open[name] = found
            while len(self._open) > _MOST_OPEN:
                del self._open[next(iter(self._open))]
        with found.lock:  # one that takes long to open does not keep others waiting
            if found.run is None:
                found.run = ViewedRun(self._source(path), self.reader, name)
            return found.run

    def _source(self, path: Path) -> Source:
        if path.is_dir():
            return IndexedRun(path, self.reader)
        return JudgedFile(self.reader.open_results(path), self.reader)

    def _row(self, path: Path) -> RunRow:
        state = run_state(path)
        return {
            "name": name_of(self.root, path),
            "kind": "run",
            "state": _STATES.get(state.state, state.state),
            "pass_1": state.pass_1,
            "done": state.done,
            "failed": state.failed,
            "planned": state.planned,
            "cost": state.cost,
            "tokens": state.tokens,
            "models": _models(state),
            "domains": [name for name in mapping(state.config or {}, "tasks") if name],
            "started": state.started,
            "updated": state.updated,
            "tags": list(state.annotations.tags),
            "note": state.annotations.note,
            "problem": state.problem,
        }


def _models(state: RunState) -> list[str]:
    """The agent and the user: a model's name, or what plays it."""
    config = state.config or {}
    names = []
    for side in ("agent", "user"):
        given = config.get(side)
        named = mapping(given)
        kinds = ("function", "model", "model_id", "player")
        names += [str(named[kind]) for kind in kinds if named.get(kind)]
        names += [given] if isinstance(given, str) else []
    return list(dict.fromkeys(names))


def _run_folders(root: Path, depth: int) -> Iterator[Path]:
    if (root / CONFIG).is_file():
        yield root
        return
    try:
        found = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        if depth and entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from _run_folders(Path(entry.path), depth - 1)
