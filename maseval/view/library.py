"""Library: the runs below one folder, found by their names."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from maseval.core.shapes import entries, mapping
from maseval.report.page import Packet, Page, build_page, packet_of
from maseval.runs import RunFolder, RunState
from maseval.runs.listing import run_state
from maseval.runs.log import Score
from maseval.view.exceptions import NothingThereError
from maseval.view.places import name_of, place_of
from maseval.view.reading import Recorded, RunReader

CONFIG = "config.json"
_DEEPEST = 6
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


class ViewedRun:
    """One run as the page shows it."""

    def __init__(self, recorded: Recorded, reader: RunReader, name: str) -> None:
        self.recorded = recorded
        self._reader = reader
        overview = reader.overview(recorded)
        completed = (reader.completed(recorded, each) for each in recorded.reports())
        self._page: Page = build_page(completed, name, *overview)

    def index(self) -> dict[str, object]:
        """What the page reads at once."""
        return self._page.index

    def packet(self, domain: str, task: str) -> Packet:
        """The details of a task's simulations."""
        for position, each in enumerate(entries(self._page.index["tasks"])):
            if (mapping(each)["domain"], mapping(each)["id"]) == (domain, task):
                return packet_of(self._page.reports[position])
        raise NothingThereError(f"the run has no task {task!r} in domain {domain!r}")


class Library:
    """The runs below a folder."""

    def __init__(self, root: Path, reader: RunReader) -> None:
        self.root = Path(os.path.abspath(root))
        self.reader = reader

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

    def recorded(self, name: str) -> Recorded:
        """A run with its reports."""
        path = self.path_of(name)
        return RunFolder.read(path) if path.is_dir() else self.reader.open_results(path)

    def run(self, name: str) -> ViewedRun:
        """A run as the page shows it."""
        return ViewedRun(self.recorded(name), self.reader, name)

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
            "tags": [],
            "note": None,
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
