"""Time travel in the viewer: the world after each message of a simulation, and its records."""

import os
import shlex
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from maseval.app.benchmarks import WorldTimeline, support_for
from maseval.app.results.finding import open_recording
from maseval.core.report import Report
from maseval.runs import RunFolder, Simulation
from maseval.runs.folder import Recording
from maseval.view.answers import Answers, Query
from maseval.view.api import asked
from maseval.view.exceptions import BadRequestError, NothingThereError
from maseval.view.library import Library


def timelines() -> Answers:
    """What the viewer asks for beside a conversation."""
    return Answers("timeline", {"/api/run/timeline": _timeline, "/api/run/records": _records})


def _timeline(library: Library, query: Query) -> Mapping[str, object]:
    place = _place(library, query)
    found = _found(*place)
    if found is None:
        return {"timeline": None}
    return {"timeline": found.to_dict(), "branch": _branch_command(place[0], place[2])}


def _records(library: Library, query: Query) -> Mapping[str, object]:
    (words,) = asked(query, "q")
    found = _found(*_place(library, query))
    if found is None:
        raise NothingThereError("this simulation has no databases to search")
    message = _number(query, "message") if "message" in query else None
    return found.search_form(words, message)


_Place = tuple[Path, int, Simulation]
"""A simulation of a run, which is at a path and last changed at a time."""


def _place(library: Library, query: Query) -> _Place:
    run, domain, task = asked(query, "run", "domain", "task")
    path = library.path_of(run)
    simulation = Simulation(domain, task, _number(query, "trial"))
    return path, _stamp(path), simulation


def _number(query: Query, name: str) -> int:
    (given,) = asked(query, name)
    if not (given.isascii() and given.isdecimal()):
        raise BadRequestError(f"{name} is {given!r}; give a number")
    return int(given)


def _stamp(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else [path]
    return max((each.stat().st_mtime_ns for each in files if each.is_file()), default=0)


# A timeline is asked for once, and then for every word that is searched in it.
@lru_cache(maxsize=16)
def _found(path: Path, stamp: int, simulation: Simulation) -> WorldTimeline | None:
    run = RunFolder.read(path) if path.is_dir() else _results(path, stamp)
    return support_for(run).timeline(_report(run, simulation))


# The verdicts of a results file are recomputed when it is read.
@lru_cache(maxsize=2)
def _results(path: Path, stamp: int) -> Recording:
    return open_recording(path)


def _report(run: Recording, simulation: Simulation) -> Report:
    if simulation not in run.recorded:
        raise NothingThereError(f"the run has no finished simulation {simulation}")
    return run.report(simulation)


def _branch_command(path: Path, simulation: Simulation) -> str:
    """How to continue from here; the message is still to be named."""
    here = os.path.relpath(path)
    run = str(path) if here.startswith("..") else here
    task = f"{simulation.domain}/{simulation.task_id}"
    return shlex.join(["maseval", "tau2", "branch", run, task, str(simulation.trial)])
