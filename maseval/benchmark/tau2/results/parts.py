"""Parts of a results file, each of which another process reads by itself.

A part is a range of bytes that begins anywhere: its reader looks for the first simulation in it,
and reads on to the first one that begins behind it. That these are simulations, and not something
that looks like one, is certain only afterwards: where one part ended, the next one must have begun.
"""

import json
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.results.layout import ResultsFormatError, open_json, simulation_files
from maseval.benchmark.tau2.results.reading import RecordedSimulation, ResultsFile
from maseval.benchmark.tau2.results.stream import LONGEST_VALUE, JsonFile
from maseval.core.report import Report
from maseval.core.storage.files import part_size

_FILES = 50
_WINDOW = 1 << 20
_DECODER = json.JSONDecoder()
# Names in a simulation, and in a line that holds one or is a report.
_SIGNS = {
    "results": (("messages", "task_id"),),
    "lines": (("simulation",), ("messages",), ("task_id", "repeat_idx")),
}


class ResultsPart(ResultsFile):
    """A part of a results file; iterating gives its simulations.

    ``start`` is known when iteration begins, and ``end`` when it is over: where the next part must
    begin, or None at the end of the file. Whatever needs a word to the user is an error here, as
    the number of simulations before this part is not known.
    """

    def __init__(self, whole: ResultsFile, first: int, last: int, size: int) -> None:
        self.path, self.layout = whole.path, whole.layout
        if self.layout != "lines":  # what the file says at its beginning
            self._setting, self.form = whole._setting, whole.form
            self.raw_info, self.tasks = whole.raw_info, {}
        self._first, self._last = first, last
        self._state = _state_of(whole.path)
        self.start, self.end = first, last if last < size else None

    def __str__(self) -> str:
        return f"{self.path}, part {self._first:,} to {self._last:,}"

    def _values(self) -> Iterator[object]:
        if _state_of(self.path) != self._state:
            raise ResultsFormatError(f"{self.path} is another file here, or has changed")
        if self.layout == "directory":
            for file in simulation_files(self.path, None)[self._first : self._last]:
                with open_json(file) as stream:
                    yield stream.value()
            return
        if self._first:
            self.start = self._find_start()
        with JsonFile(self.path, self.start) as stream:
            whole = self.layout == "results"
            is_over = yield from (self._listed(stream) if whole else self._in_lines(stream))
            self.end = None if is_over else stream.offset

    def _listed(self, stream: JsonFile) -> Generator[Any, None, bool]:
        if self._first:
            is_over = yield from stream.more_elements(self._last)
        else:
            keys = stream.members()
            while next(keys, "simulations") != "simulations":
                stream.skip()
            is_over = yield from stream.elements(self._last)
        if is_over:
            for key in stream.members_left():
                if key == "simulations":
                    raise ResultsFormatError(f"{self.path} has two lists of simulations")
                stream.skip()
            stream.finish()
        return is_over

    def _in_lines(self, stream: JsonFile) -> Generator[Any, None, bool]:
        while stream.peek():
            if stream.is_past(self._last):
                return False
            yield stream.value()
        return True

    def _find_start(self) -> int:
        """Return where the first simulation begins at or after the beginning of this part."""
        size, signs = _WINDOW, _SIGNS[self.layout]
        while size <= 2 * LONGEST_VALUE:
            with self.path.open("rb") as file:
                file.seek(self._first - 1)  # with the end of the line before
                data = file.read(size)
            text = data.decode("utf-8", "surrogateescape")
            at = text.find("{", 1)
            while at >= 0:
                if self.layout == "results" or text[at - 1] == "\n":
                    try:
                        value, _ = _DECODER.raw_decode(text, at)
                    except (ValueError, RecursionError):
                        value = None
                    if value and any(all(name in value for name in names) for names in signs):
                        return self._first - 1 + len(text[:at].encode("utf-8", "surrogateescape"))
                at = text.find("{", at + 1)
            if len(data) < size:
                break
            size *= 2
        raise ResultsFormatError(f"{self} has no simulation")

    def _from_report(self, index: int, report: Report) -> RecordedSimulation:
        found = super()._from_report(index, report)
        if found is None:
            raise ResultsFormatError(f"{self} has a report without a simulation")
        return found


def split_results(file: ResultsFile, readers: int) -> Iterator[ResultsPart]:
    """Yield the parts of a file for several readers, in order; none if it is read as one."""
    size, step = _size_of(file), _FILES
    if file.layout != "directory":
        with JsonFile(file.path) as stream:
            step = size if stream.packed else part_size(size, readers)
    for first in range(0, size, step) if step < size else ():
        yield ResultsPart(file, first, min(first + step, size), size)


def _size_of(file: ResultsFile) -> int:
    """Return the size in bytes, or the number of files in a folder."""
    if file.layout == "directory":
        return len(simulation_files(file.path, file._member("simulation_index")))
    return file.path.stat().st_size


def _state_of(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns
