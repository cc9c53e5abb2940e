"""The answers of the server as JSON: plain functions, for those who know runs and no web server.

The verdicts of every compared run are recomputed, which takes some seconds for each. Its outcomes
are kept for as long as it is the same, so that one run more is compared at once.
"""

import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from posixpath import commonpath
from typing import NamedTuple

from maseval.app.benchmarks import RecordedOutcomes
from maseval.app.comparing.compare import (
    RunComparison,
    common_measures,
    compare_outcomes,
    look_into,
)
from maseval.app.comparing.compared_runs import load_run
from maseval.app.comparing.page import document_of, looked_into
from maseval.app.results.names import open_recording
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import TaskKey
from maseval.core.scoring_options import ScoringOptions
from maseval.core.storage.files import JUDGEMENTS, FileState, path_about
from maseval.runs import RunState, list_runs
from maseval.runs.config import cell_of
from maseval.runs.config_file import CONFIG, LOG, is_run_folder
from maseval.runs.labels import LABELS
from maseval.view.labels import LABEL, label_state
from maseval.view.library import Answer, Library, place_of
from maseval.view.requests import Query, required_parts
from maseval.view.rows import live_of
from maseval.view.search import searches
from maseval.view.viewed import ViewedRun


def answers() -> dict[str, Answer]:
    """Return what answers a GET, by path."""
    return {
        "/api/runs": _runs,
        "/api/run/index": _index,
        "/api/run/results": _results,
        "/api/run/packet": _packet,
        "/api/run/live": _live,
        LABEL: label_state,
        **comparisons(),
        **searches(),
    }


def _runs(library: Library, query: Query) -> object:
    return {"root": str(library.root), "runs": library.rows()}


def _index(library: Library, query: Query) -> object:
    (name,) = required_parts(query, "run")
    if cells := _cells(library, name):
        return {"cells": [each.path.name for each in cells]}
    run = library.run(name)
    # First, as what comes in meanwhile may be told twice but must not be missed.
    version = run.last_place
    live = {**_state(run), "version": version}
    kind = "run" if library.path_of(name).is_dir() else "results"
    found = {**run.index(), "live": {**live, "kind": kind}}
    library.examine(run)  # last, as that would take the processor from what is waited for
    return found


def _results(library: Library, query: Query) -> object:
    run = library.run(*required_parts(query, "run"))
    return {**run.results(), "live": _state(run)}


def _state(run: ViewedRun) -> dict[str, object]:
    live = live_of(run)
    return {key: live[key] for key in ("state", "planned", "labelled", "doubted")}


def _live(library: Library, query: Query) -> object:
    return live_of(library.run(*required_parts(query, "run")))


def _packet(library: Library, query: Query) -> object:
    name, domain, task = required_parts(query, "run", "domain", "task")
    return library.run(name).packet(domain, task, query.get("trial"))


class _Place(NamedTuple):
    """A run by its name in the viewer and that among those beside it, and all files that decide
    its numbers as they are now.
    """

    name: str
    shown: str
    path: Path
    files: tuple[FileState, ...]


_Places = tuple[_Place, ...]


def comparisons() -> dict[str, Answer]:
    """Return the answers on compared runs, which are read and compared one after the other."""
    one_at_a_time = threading.Lock()

    # As many runs as a large grid has cells.
    @lru_cache(maxsize=64)
    def load(path: Path, files: tuple[FileState, ...], measure: str | None) -> RecordedOutcomes:
        options = ScoringOptions()
        return load_run(open_recording(path, options), options, measure=measure)

    # The reasons are asked for when the numbers are there.
    @lru_cache(maxsize=16)
    def numbers(places: _Places, measure: str | None) -> RunComparison:
        return compare_outcomes(
            {each.shown: load(each.path, each.files, measure) for each in places}
        )

    @lru_cache(maxsize=16)
    def reasons(places: _Places, measure: str | None) -> RunComparison:
        return look_into(numbers(places, measure))

    def compare(library: Library, query: Query) -> Mapping[str, object]:
        """Answer with the document of the runs in the query."""
        with one_at_a_time:
            found = numbers(places := _places(library, query), query.get("measure") or None)
        found = replace(found, notes=[*_unfinished(library, query), *found.notes])
        # Every run has the tasks that are compared, but cells of a grid may have their own.
        named = [each.name for each in (places if found.grid else places[:1])]
        notes = {k: v for name in named for k, v in _notes(library, name).items()}
        known = {each.shown: each.name for each in places}
        offered = [each for each in common_measures(found.runs.values()) if not each.decides]
        return {
            **document_of(found, notes),
            "places": [known[name] for name in found.runs],
            "measures": ["", *(each.name for each in offered if each.kind != "quantity")],
        }

    def find_reasons(library: Library, query: Query) -> Mapping[str, object]:
        """Answer with why simulations failed."""
        with one_at_a_time:
            return looked_into(reasons(_places(library, query), query.get("measure") or None))

    return {"/api/compare": compare, "/api/compare/reasons": find_reasons}


def _places(library: Library, query: Query) -> _Places:
    asked = list(dict.fromkeys(query.getlist("run")))
    names = [name for each in asked for name in _compared_names(library, each)]
    if len(names) < 2 and (unfinished := _unfinished(library, query)):
        raise ConfigurationError(f"no two cells of this grid have a verdict: {unfinished[0]}")
    if len(names) < 2:
        raise ConfigurationError(
            f"{len(names)} run cannot be compared; name two or more: ?run=NAME&run=NAME"
        )
    paths = {name: library.path_of(name) for name in names}
    folder = commonpath(names)
    # What all names begin with tells nothing apart.
    shared = f"{folder}/" if folder and folder not in names else ""
    return tuple(
        _Place(n, n.removeprefix(shared), path, tuple(map(FileState.now, _files_of(path))))
        for n, path in paths.items()
    )


def _files_of(path: Path) -> list[Path]:
    """Return the files that decide what a comparison says of a run."""
    own = [path / CONFIG, path / LOG] if path.is_dir() else [path]
    return [*own, *(path_about(path, name) for name in (LABELS, JUDGEMENTS))]


def _cells(library: Library, name: str) -> list[RunState]:
    """Return the runs that are cells of a grid, if the name is that of a grid's folder."""
    path = place_of(library.root, name)
    if is_run_folder(path) or not path.is_dir():
        return []
    return [each for each in list_runs(path) if cell_of(each.config or {})]


def _has_verdict(cell: RunState) -> bool:
    return bool(cell.done) and cell.verdicts != 0


def _compared_names(library: Library, name: str) -> list[str]:
    """Return a run's name; in place of a grid's those of its cells that can be compared."""
    cells = _cells(library, name)
    compared = sorted((e for e in cells if _has_verdict(e)), key=lambda e: (e.started, e.name))
    return [e.path.relative_to(library.root).as_posix() for e in compared] if cells else [name]


def _unfinished(library: Library, query: Query) -> list[str]:
    """Return a note on each cell of a grid that has no verdict yet."""
    cells = (each for name in query.getlist("run") for each in _cells(library, name))
    return [f"{e.name}: no verdict yet; reload the page" for e in cells if not _has_verdict(e)]


def _notes(library: Library, name: str) -> Mapping[TaskKey, str]:
    """Return what each task of a run is about."""
    return {entry.key: entry.note for entry in library.run(name).entries()}
