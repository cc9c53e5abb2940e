"""How a file holds its simulations: in one object, in lines, or in a folder beside it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from maseval.benchmark.tau2.results.checking import ResultsFormatError, short
from maseval.benchmark.tau2.results.directory import SIMULATIONS_NAME
from maseval.benchmark.tau2.results.stream import JsonFile, JsonStreamError

Layout = Literal["results", "lines", "directory"]

_RESULTS_KEYS = frozenset({"simulations", "tasks", "info"})
_SIMULATION_KEYS = frozenset({"simulations", "simulation_index"})
_LINE_KEYS = frozenset({"simulation", "traces", "repeat_idx", "messages"})


def layout_of(path: Path) -> Layout | None:
    """How a file holds its simulations; None if it holds none.

    As in v1.0.x, a file with a folder named ``simulations`` beside it has them in that folder.
    """
    layout = _layout_of_content(path)
    beside = path.parent / SIMULATIONS_NAME
    return "directory" if layout == "results" and beside.is_dir() else layout


def _layout_of_content(path: Path) -> Layout | None:
    with opened(path) as stream:
        for name in member_names(stream):
            if name in _RESULTS_KEYS:
                return "results"
            if name in _LINE_KEYS:
                return "lines"
    return None


def has_simulations(path: Path) -> bool:
    """Whether it is a results file or the one of a folder; any other JSON file is not."""
    try:
        with opened(path) as stream:
            return any(name in _SIMULATION_KEYS for name in member_names(stream))
    except (ResultsFormatError, OSError):
        return False


@contextmanager
def opened(path: Path) -> Iterator[JsonFile]:
    """A JSON file whose errors name the file."""
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


def listed(stream: JsonFile, path: Path) -> Iterator[object]:
    """The simulations that one object lists."""
    found = False
    for key in stream.members():
        if key != "simulations":
            stream.skip()
            continue
        found = True
        if stream.peek() not in ("[", ""):
            wrong = short(stream.value())
            raise ResultsFormatError(f"{path}, simulations: should be a list, found {wrong}")
        yield from stream.elements()
    stream.finish()
    if not found:
        raise ResultsFormatError(f"{path}, simulations: missing")


def in_lines(stream: JsonFile) -> Iterator[object]:
    """The value of each line."""
    while stream.peek():
        yield stream.value()
