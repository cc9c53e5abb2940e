"""Layouts of results files (one object, lines, or a folder with a file for each simulation), and
the forms of their parts.

Keys that v0.2.0 gives a default may be missing, and keys that it does not know are kept: later
versions add some. Nothing else is forgiven: it is a named error. The folder is v1.0.x's, after
tau2-bench v1.0.1, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, TypeGuard, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from maseval.benchmark.tau2.formats.simulation import RawTask, RewardInfo, RunInfo, SimulationForm
from maseval.benchmark.tau2.results.stream import JsonFile, JsonStreamError
from maseval.core.exceptions import ResultFileError
from maseval.core.recorded import mapping

Form = TypeVar("Form")

MOST_SIMULATIONS = 200_000
"""The most that a record may hold or plan, as each is kept in memory; none has a tenth of this."""


class ResultsFormatError(ResultFileError):
    """A results file is not in v0.2.0's form; the message names simulation and field."""


def _form(form: type[Form]) -> TypeAdapter[Form]:
    return TypeAdapter(with_config(ConfigDict(extra="allow"))(form))  # for the forms in it as well


SIMULATION = _form(SimulationForm)
RUN_INFO = _form(RunInfo)
TASK = _form(RawTask)
REWARD_INFO = _form(RewardInfo)


def is_trial(value: object) -> TypeGuard[int]:
    """Tell whether a value can be the number of a trial."""
    return isinstance(value, int) and 0 <= value < MOST_SIMULATIONS


def check_form(form: TypeAdapter[Form], value: object, where: str) -> Form:
    """``value`` in that form; ``where`` says in an error whose fields are meant."""
    try:
        return form.validate_python(value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise ResultsFormatError(f"{where}, {_fault(faults[0], value)}{more}") from None


def _fault(fault: Mapping[str, Any], value: object) -> str:
    path, found = field_path(fault["loc"], value), fault["input"]
    match fault["type"]:
        case "missing":
            return f"{path}: missing"
        case "union_tag_not_found":
            return f"{path}.role: missing"
        case "union_tag_invalid":
            path, found = f"{path}.role", found["role"]
            problem = "should be 'system', 'assistant', 'user' or 'tool'"
        case _:
            problem = fault["msg"].removeprefix("Input ")
    return f"{path}: {problem}, found {abbreviate(found)}"


def field_path(location: tuple[str | int, ...], value: object) -> str:
    """Return the path of a fault in ``value``, such as ``messages[3].tool_calls[0].name``."""
    path = ""
    for step, after in zip_longest(location, location[1:]):
        # A message's role is part of the location, though it is not a field.
        if isinstance(value, dict) and step not in value and after is not None:
            continue
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
        try:
            value = value[step]  # type: ignore[index]  # whatever it is, it is only looked at
        except (KeyError, IndexError, TypeError):
            value = None
    return path.lstrip(".") or "the value itself"


def abbreviate(value: object) -> str:
    try:
        shown = repr(value)
    except ValueError:  # a number with more digits than Python prints
        shown = "a very long number"
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


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
