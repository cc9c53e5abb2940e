"""Layouts of results files: one object, lines, or a folder with a file for each simulation.

The folder is v1.0.x's, after tau2-bench v1.0.1, src/tau2/data_model/simulation.py (MIT, Sierra
Research).
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from maseval.benchmark.tau2.results.checking import ResultsFormatError, abbreviate
from maseval.benchmark.tau2.results.stream import JsonFile, JsonStreamError
from maseval.core.recorded import mapping

RESULTS_NAME = "results.json"
SIMULATIONS_NAME = "simulations"
NOT_SUPPORTED = "a full-duplex (voice) simulation is not supported and is not scored"

_VOICE_USER = "voice_streaming_user_simulator"
Layout = Literal["results", "lines", "directory"]
_RESULTS_KEYS = frozenset({"simulations", "tasks", "info"})
_SIMULATION_KEYS = frozenset({"simulations", "simulation_index"})
_LINE_KEYS = frozenset({"simulation", "traces", "repeat_idx", "messages"})


def is_voice(info: Mapping[str, Any]) -> bool:
    """Tell whether a run's ``info`` describes a full-duplex (voice) run."""
    user = mapping(info, "user_info")
    native = info.get("audio_native_config") is not None
    return native or user.get("implementation") == _VOICE_USER


def simulation_files(path: Path, index: object) -> list[Path]:
    """The files beside a ``results.json``, by name; they must be those that its index lists."""
    files = sorted(
        (path.parent / SIMULATIONS_NAME).glob("*.json"), key=lambda file: os.fsencode(file.name)
    )
    if not isinstance(index, list):
        return files
    found = {file.stem for file in files}
    listed = {str(entry["id"]) for entry in index if isinstance(entry, dict) and "id" in entry}
    problems = {
        "Missing simulation files": sorted(listed - found),
        "Extra simulation files not in index": sorted(found - listed),
    }
    told = "; ".join(f"{problem}: {names}" for problem, names in problems.items() if names)
    if told:
        raise ResultsFormatError(f"Dir format integrity check failed for {path}: {told}")
    return files


def layout_of(path: Path) -> Layout | None:
    """Return the layout of a file, or None if it holds no simulations.

    As in v1.0.x, a file with a folder named ``simulations`` beside it has them in that folder.
    """
    layout = _layout_of_content(path)
    beside = path.parent / SIMULATIONS_NAME
    return "directory" if layout == "results" and beside.is_dir() else layout


def _layout_of_content(path: Path) -> Layout | None:
    with open_json(path) as stream:
        for name in member_names(stream):
            if name in _RESULTS_KEYS:
                return "results"
            if name in _LINE_KEYS:
                return "lines"
    return None


def has_simulations(path: Path) -> bool:
    """Tell whether a file is a results file, or the ``results.json`` of a folder."""
    try:
        with open_json(path) as stream:
            return any(name in _SIMULATION_KEYS for name in member_names(stream))
    except (ResultsFormatError, OSError):
        return False


@contextmanager
def open_json(path: Path) -> Iterator[JsonFile]:
    """Open a JSON file whose errors name the file."""
    try:
        with JsonFile(path) as stream:
            yield stream
    except JsonStreamError as error:
        raise ResultsFormatError(f"{path}: {error}") from error


def member_names(stream: JsonFile) -> Iterator[str]:
    """The names in an object, of which each value may be read before the next; else nothing."""
    if stream.peek() == "{":
        for name in stream.members():
            yield name
            stream.skip()


def listed_simulations(stream: JsonFile, path: Path) -> Iterator[object]:
    found = False
    for key in stream.members():
        if key != "simulations":
            stream.skip()
            continue
        found = True
        if stream.peek() not in ("[", ""):
            wrong = abbreviate(stream.value())
            raise ResultsFormatError(f"{path}, simulations: should be a list, found {wrong}")
        yield from stream.elements()
    stream.finish()
    if not found:
        raise ResultsFormatError(f"{path}, simulations: missing")


def simulations_in_lines(stream: JsonFile) -> Iterator[object]:
    while stream.peek():
        yield stream.value()
