"""Layouts of results files (one object, lines, or a folder with a file for each simulation), and
the forms of their parts, read piece by piece.

A file of any size needs only the memory of its largest piece. A piece may be ``LONGEST_VALUE``
long: a file of some megabytes can unpack to any size.

Keys that v0.2.0 gives a default may be missing, and keys that it does not know are kept: later
versions add some. Nothing else is forgiven: it is a named error. The folder is v1.0.x's, after
tau2-bench v1.0.1, src/tau2/data_model/simulation.py (MIT, Sierra Research).

After tau2-bench v1.0.1, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from json.decoder import JSONDecodeError
from pathlib import Path
from typing import IO, Any, Literal, Self, TypeGuard, TypeVar, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from maseval.benchmark.tau2.formats.simulation import RawTask, RewardInfo, RunInfo, SimulationForm
from maseval.core.exceptions import MASEvalError, ResultFileError
from maseval.core.outcome import MOST_SIMULATIONS

CHUNK = 1 << 20
LONGEST_VALUE = 64 << 20
"""The most characters of one value, as it is read whole; a simulation has a hundredth."""
_DECODER = json.JSONDecoder()
_WHITESPACE = " \t\n\r"
_GZIP = b"\x1f\x8b"

# A piece may be cut anywhere, so an error this close to the end of what was read so far may only
# mean that more is to come: the longest words are -Infinity and the two halves of an escaped pair.
_MARGIN = 16
_CUT_WORD = re.compile(r"[-+.\w\\]*\s*")


class JsonStreamError(MASEvalError, ValueError):
    """The text is not JSON; ``offset`` is the character, decompressed, at which it shows."""

    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(f"{problem} at character {offset}")
        self.offset = offset


class JsonStream:
    """Walks through a JSON text; values are built only where they are asked for.

    ``members`` and ``elements`` walk through an object and an array. Inside ``members`` each value
    must be taken, by ``value``, ``skip``, ``members`` or ``elements``, before the next key.
    """

    def __init__(
        self, file: IO[bytes], *, chunk: int = CHUNK, longest: int = LONGEST_VALUE
    ) -> None:
        # Some editors put a byte order mark before the text.
        self._file = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        self._longest = longest
        self._chunk = chunk
        self._text = ""
        self._at = 0
        self._before = 0  # characters in the file, before the first of _text

    @property
    def offset(self) -> int:
        """The number of characters consumed so far."""
        return self._before + self._at

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end of the text."""
        while True:
            while self._at < len(self._text):
                character = self._text[self._at]
                if character not in _WHITESPACE:
                    return character
                self._at += 1
            if not self._read_more():
                return ""

    def value(self) -> Any:
        if not self.peek():
            raise self._truncation_error()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except JSONDecodeError as error:
                if not self._may_continue(error):
                    raise self._format_error(error.msg, error.pos) from None
            except RecursionError:
                raise self._format_error("nested too deeply", self._at) from None
            except ValueError as error:  # a number too long for Python
                raise self._format_error(str(error), self._at) from None
            else:
                # What looks like a number may be the beginning of a longer one.
                cut = isinstance(value, int | float) and len(self._text) - end < _MARGIN
                if not (cut and self._read_more()):
                    self._at = end
                    return value

    def skip(self) -> None:
        """Pass over the next value, holding no more than one of its parts."""
        match self.peek():
            case "{":
                for _ in self.members():
                    self.value()
            case "[":
                for _ in self.elements():
                    pass
            case _:
                self.value()

    def elements(self) -> Iterator[Any]:
        self._take("[")
        ended = self._took("]")
        while not ended:
            yield self.value()
            ended = self._ends("]")

    def members(self) -> Iterator[str]:
        """Yield the keys of the object that comes next; the caller takes each value."""
        self._take("{")
        ended = self._took("}")
        while not ended:
            if self.peek() not in ('"', ""):
                raise self._format_error("expected a key in double quotes", self._at)
            key = self.value()
            self._take(":")
            yield str(key)
            ended = self._ends("}")

    def _ends(self, bracket: str) -> bool:
        """Take the bracket and return True, or take the comma before what follows."""
        if self._took(bracket):
            return True
        self._take(",")
        return False

    def finish(self) -> None:
        """Check that nothing follows."""
        if self.peek():
            raise self._format_error("extra data", self._at)

    def _took(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def _take(self, character: str) -> None:
        if not self._took(character):
            if not self.peek():
                raise self._truncation_error()
            raise self._format_error(f"expected {character!r}", self._at)

    def _may_continue(self, error: JSONDecodeError) -> bool:
        """Return True if a value that could not be read may be complete once more is read."""
        open_string = error.msg.startswith("Unterminated string")
        if not open_string and error.pos < len(self._text) - _MARGIN:
            return False
        if self._read_more():
            return True
        if open_string or _CUT_WORD.fullmatch(self._text, error.pos):
            raise self._truncation_error()
        return False

    def _read_more(self) -> bool:
        """Read more, and drop what was consumed; at the end of the file nothing changes.

        At least as much is read as is waiting, so that a long value is not tried too often.
        """
        waiting = len(self._text) - self._at
        if waiting > self._longest:
            size = self._longest >> 20
            problem = f"a value of more than {size} MB, which must be removed or split, begins"
            raise self._format_error(problem, self._at)
        end = self._before + len(self._text)
        try:
            more = self._file.read(max(self._chunk, min(waiting, self._longest - waiting)))
        except UnicodeDecodeError as error:
            raise JsonStreamError(f"not UTF-8 ({error.reason})", end) from None
        except EOFError:
            raise self._truncation_error() from None
        except (zlib.error, OSError) as error:
            raise JsonStreamError(f"unreadable ({error})", end) from error
        if more:
            self._before += self._at
            self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)

    def _format_error(self, problem: str, position: int) -> JsonStreamError:
        return JsonStreamError(problem, self._before + position)

    def _truncation_error(self) -> JsonStreamError:
        end = self._before + len(self._text)
        return JsonStreamError("the text ends in the middle of a value", end)


class JsonFile(JsonStream):
    """A JSON file, compressed with gzip or not, as a stream to be used in a ``with`` block."""

    def __init__(self, path: Path) -> None:
        self._raw = path.open("rb")
        packed = self._raw.peek(len(_GZIP)).startswith(_GZIP)
        file = gzip.GzipFile(fileobj=self._raw) if packed else self._raw
        super().__init__(cast("IO[bytes]", file))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._raw.close()


Form = TypeVar("Form")
_ROLES = frozenset({"system", "assistant", "user", "tool"})


class ResultsFormatError(ResultFileError):
    """A results file is not in v0.2.0's form; the message names simulation and field."""


def _form(form: type[Form]) -> TypeAdapter[Form]:
    return TypeAdapter(with_config(ConfigDict(extra="allow"))(form))  # for the forms in it as well


SIMULATION = _form(SimulationForm)
RUN_INFO = _form(RunInfo)
TASK = _form(RawTask)
REWARD_INFO = _form(RewardInfo)


def is_trial(value: object) -> TypeGuard[int]:
    """Return True if a value can be the number of a trial."""
    return isinstance(value, int) and 0 <= value < MOST_SIMULATIONS


def check_form(form: TypeAdapter[Form], value: object, where: str) -> Form:
    """``value`` in that form; ``where`` says in an error whose fields are meant."""
    try:
        return form.validate_python(value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise ResultsFormatError(f"{where}, {_fault(faults[0])}{more}") from None


def _fault(fault: Mapping[str, Any]) -> str:
    path, found = field_path(fault["loc"]), fault["input"]
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


def field_path(location: Sequence[str | int]) -> str:
    """Return the path of a fault, such as ``messages[3].tool_calls[0].name``."""
    # A message's role is part of the location, though it is not a field.
    steps = (step for step in location if step not in _ROLES)
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
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

Layout = Literal["results", "lines", "directory", "trajectories"]
_RESULTS_KEYS = frozenset({"simulations", "tasks", "info"})
_TRAJECTORY_KEYS = frozenset({"steps"})
_SIMULATION_KEYS = frozenset({"simulations", "simulation_index"})
_LINE_KEYS = frozenset({"simulation", "messages"})


def simulation_files(path: Path, index: object) -> list[Path]:
    """The files beside a ``results.json``, by name; they must be those that its index lists."""
    files = sorted(
        # Names need not be valid text, and their order must not depend on the machine's language.
        (path.parent / SIMULATIONS_NAME).glob("*.json"),
        key=lambda file: os.fsencode(file.name),
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
    with open_json(path) as stream:
        for name in member_names(stream):
            if name in _RESULTS_KEYS:
                return "directory" if (path.parent / SIMULATIONS_NAME).is_dir() else "results"
            if name in _LINE_KEYS:
                return "lines"
            if name in _TRAJECTORY_KEYS:
                return "trajectories"
    return None


def has_simulations(path: Path) -> bool:
    """Return True if a file is a results file, or the ``results.json`` of a folder."""
    try:
        with open_json(path) as stream:
            for name in stream.members() if stream.peek() == "{" else ():
                if name in _SIMULATION_KEYS:
                    return True
                if name != "schema_version":
                    stream.skip()
                # ATIF is told by its name: other programs have steps in their files, too.
                elif str(stream.value()).startswith("ATIF"):
                    return True
    except (ResultsFormatError, OSError):
        return False
    return False


@contextmanager
def open_json(path: Path) -> Iterator[JsonFile]:
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
