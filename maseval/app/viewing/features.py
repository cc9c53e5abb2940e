"""The features that the commands add to the viewer: comparison, timeline, and tags and notes."""

import os
import shlex
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from maseval.app.benchmarks import WorldTimeline, support_for
from maseval.app.comparing.compare import compare
from maseval.app.comparing.page import comparison_plots, for_report, tasks_for_report
from maseval.app.results.finding import open_recording
from maseval.core.report import Report
from maseval.report.results import drawing, summary_table
from maseval.runs import (
    Annotations,
    RunFolder,
    Simulation,
    change_note,
    change_tags,
    read_annotations,
)
from maseval.runs.recording import Recording
from maseval.view.api import Answers, Body, Query, required_parts
from maseval.view.exceptions import BadRequestError, NothingThereError
from maseval.view.library import Library


def comparisons() -> Answers:
    """Return the feature that compares two runs."""
    return Answers("compare", {"/api/compare": _comparison})


def _comparison(library: Library, query: Query) -> Mapping[str, object]:
    a, b = required_parts(query, "a", "b")
    paths = library.path_of(a), library.path_of(b)
    return {"a": a, "b": b, **_compare_paths(*paths, *map(_change_stamp, paths))}


def _change_stamp(path: Path) -> int:
    """Return a number that changes whenever a run does."""
    files = path.iterdir() if path.is_dir() else [path]
    return max((each.stat().st_mtime_ns for each in files if each.is_file()), default=0)


# The verdicts of both runs are recomputed, which nobody wants to wait for twice.
@lru_cache(maxsize=8)
def _compare_paths(a: Path, b: Path, *stamps: int) -> Mapping[str, object]:
    found = compare([a, b])
    return {
        "names": list(found.runs),
        "results": summary_table(for_report(found)),
        "plots": [drawing(plot) for plot in comparison_plots(found)],
        "tasks": tasks_for_report(found),
    }


def timelines() -> Answers:
    """Return the feature of time travel: the world after each message, and its records."""
    return Answers("timeline", {"/api/run/timeline": _timeline, "/api/run/records": _records})


def _timeline(library: Library, query: Query) -> Mapping[str, object]:
    path, stamp, simulation = _place(library, query)
    found = _find_timeline(path, stamp, simulation)
    if found is None:
        return {"timeline": None}
    return {"timeline": found.to_dict(), "branch": _branch_command(path, simulation)}


def _records(library: Library, query: Query) -> Mapping[str, object]:
    (words,) = required_parts(query, "q")
    found = _find_timeline(*_place(library, query))
    if found is None:
        raise NothingThereError("this simulation has no databases to search")
    message = _number(query, "message") if "message" in query else None
    return found.search_form(words, message)


def _place(library: Library, query: Query) -> tuple[Path, int, Simulation]:
    """Return the path of a run, when it last changed, and the simulation that is asked for."""
    run, domain, task = required_parts(query, "run", "domain", "task")
    path = library.path_of(run)
    return path, _change_stamp(path), Simulation(domain, task, _number(query, "trial"))


def _number(query: Query, name: str) -> int:
    (given,) = required_parts(query, name)
    if not (given.isascii() and given.isdecimal()):
        raise BadRequestError(f"{name} is {given!r}; give a number")
    return int(given)


# A timeline is asked for once, and then for every word that is searched in it.
@lru_cache(maxsize=16)
def _find_timeline(path: Path, stamp: int, simulation: Simulation) -> WorldTimeline | None:
    run = RunFolder.read(path) if path.is_dir() else _open_results(path, stamp)
    return support_for(run).timeline(_report(run, simulation))


# The verdicts of a results file are recomputed when it is read.
@lru_cache(maxsize=2)
def _open_results(path: Path, stamp: int) -> Recording:
    return open_recording(path)


def _report(run: Recording, simulation: Simulation) -> Report:
    if simulation not in run.recorded:
        raise NothingThereError(f"the run has no finished simulation {simulation}")
    return run.report(simulation)


def _branch_command(path: Path, simulation: Simulation) -> str:
    """Return the command that continues from here; the message is still to be named."""
    here = os.path.relpath(path)
    run = str(path) if here.startswith("..") else here
    task = f"{simulation.domain}/{simulation.task_id}"
    return shlex.join(["maseval", "tau2", "branch", run, task, str(simulation.trial)])


def remarks() -> Answers:
    """Return the feature that changes tags and notes, if the viewer was started with ``--edit``."""
    return Answers("remarks", sent={"/api/run/tags": _tags, "/api/run/note": _note})


def _tags(library: Library, body: Body) -> Mapping[str, object]:
    """Change only what the reader changed: others may have added tags meanwhile.

    ``was`` are the tags that the page had shown, by default those that are there now.
    """
    path = library.path_of(_text(body, "run"))
    tags = _texts(body, "tags")
    was = _texts(body, "was") if "was" in body else list(read_annotations(path).tags)
    gone = [tag for tag in was if tag not in tags]
    return _in_json(change_tags(path, [tag for tag in tags if tag not in was], gone))


def _note(library: Library, body: Body) -> Mapping[str, object]:
    """Replace the note; with ``was``, only if nobody else has changed it meanwhile."""
    path = library.path_of(_text(body, "run"))
    text = _text(body, "text")
    was = body.get("was")
    shown = was if isinstance(was, str) and was else None
    return _in_json(change_note(path, text, was=shown, check="was" in body))


def _in_json(found: Annotations) -> Mapping[str, object]:
    return {"tags": list(found.tags), "note": found.note}


def _text(body: Body, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise BadRequestError(f"{name} must be a text")
    return value


def _texts(body: Body, name: str) -> list[str]:
    value = body.get(name)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BadRequestError(f"{name} must be a list of texts")
    return value
