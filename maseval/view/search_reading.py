"""Read logs into the search index: only what was added to them since, and nothing twice."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from maseval.core.outcome import RecordedReport
from maseval.core.storage import strict_json
from maseval.runs import Simulation
from maseval.runs.config_file import LOG
from maseval.runs.report_line import report_of, simulation_of
from maseval.view.library import Library
from maseval.view.search_file import Passage, Progress, SearchFile, passages_of

_BATCH = 4 << 20
_MEGABYTE = 1e6
_LABELLED_AT_ONCE = 20


class LoggedReport(NamedTuple):
    """A report of a log, where it begins, and where the next line does."""

    at: int
    report: RecordedReport
    end: int


def unread(index: SearchFile, library: Library, run: str | None = None) -> int:
    """Return how many bytes of all logs and results files, or of one, are not in the index."""
    files = [each for each in files_of(library).items() if run in (None, each[0])]
    return sum(max(0, _size(file) - _begin(index, name, file)) for name, file in files)


def progress_on(index: SearchFile, library: Library, run: str) -> str:
    """Say how much of a run is in the index."""
    size = _size(_file_of(library.path_of(run)))
    done = size - unread(index, library, run)
    return f"Reading the conversations: {done / _MEGABYTE:,.1f} of {size / _MEGABYTE:,.1f} MB"


def read_on(index: SearchFile, library: Library) -> bool:
    """Read the next few megabytes of some log; False if there is nothing new in any."""
    files = files_of(library)
    for gone in set(index.known_runs()) - files.keys():
        with index.writing():
            index.forget(gone)
    return any(_read_next(index, library, run, file) for run, file in files.items())


def read_run(index: SearchFile, library: Library, run: str, patience: float) -> bool:
    """Read all that is new of one run; False if that takes longer than so many seconds."""
    file, end = _file_of(library.path_of(run)), time.monotonic() + patience
    while _read_next(index, library, run, file):
        if time.monotonic() > end:
            return False
    return True


def _read_next(index: SearchFile, library: Library, run: str, file: Path) -> bool:
    """Read the next part of a run, and return whether there was one."""
    if _begin(index, run, file) >= _size(file):
        return False
    if file.name == LOG:
        return _read_batch(index, run, file)
    return _read_results(library, index, run, file)


def files_of(library: Library) -> dict[str, Path]:
    """Return the log of every run, and every results file."""
    return {name: _file_of(path) for name, path in library.places().items()}


def _file_of(path: Path) -> Path:
    return path / LOG if path.is_dir() else path


def label_on(index: SearchFile, library: Library) -> bool:
    """Find the labels of a few failed simulations; False if all are known."""
    for run in index.known_runs():
        waiting = index.waiting(run, _LABELLED_AT_ONCE)
        if not waiting:
            continue
        viewed = library.run(run)
        known = {at: viewed.labels_of(at) for _, at in waiting}
        viewed.learn(known)
        with index.writing():
            for number, at in waiting:
                index.label(number, known[at])
        return True
    return False


def passages_at(library: Library, run: str, at: int) -> list[Passage]:
    """Return the texts of a simulation, read again from where they are; none if it is not there."""
    path = library.path_of(run)
    if not path.is_dir():
        return list(passages_of(RecordedReport(library.run(run).source.report_at(at))))
    found = next(reports_from(path / LOG, at), None)
    return [] if found is None or found.at != at else list(passages_of(found.report))


def reports_from(log: Path, offset: int) -> Iterator[LoggedReport]:
    """Yield the reports of a log from a line on; what cannot be read is passed over."""
    with log.open("rb") as file:
        file.seek(offset)
        for line in file:
            begin, offset = offset, offset + len(line)
            if not line.endswith(b"\n"):
                return  # it is still being written
            if (report := _report_in(line)) is not None:
                yield LoggedReport(begin, report, offset)


def _report_in(line: bytes) -> RecordedReport | None:
    try:
        record = strict_json.loads_object(line)
        if record["kind"] != "report":
            return None
        simulation_of(record)  # raises unless it is about one
        environment = RecordedReport(record).environment
        if "simulation" in environment:  # all that is said and done; the rest repeats it
            record["traces"] = {"environment": environment}
        return RecordedReport(report_of(record, {}))
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0


def _begin(index: SearchFile, run: str, log: Path) -> int:
    """Return the place to read a log from; its start if it is not the one that was read."""
    known = index.progress(run)
    try:
        now = os.stat(log)
    except OSError:
        return 0
    same = known is not None and known.file == now.st_ino and known.offset <= now.st_size
    return known.offset if known is not None and same else 0


def _read_batch(index: SearchFile, run: str, log: Path) -> bool:
    """Read a few megabytes of whole lines, and return whether there were any."""
    with index.writing():
        begin, file = _begin(index, run, log), os.stat(log).st_ino
        if begin == 0:
            index.forget(run)
        index.note(run, Progress(file, begin))
        end = begin
        for found in reports_from(log, begin):
            _add(index, run, found.at, found.report)
            end = found.end
            if end - begin > _BATCH:
                break
        else:
            end = _last_whole_line(log, end)
        index.note(run, Progress(file, end))
    return end > begin


def _read_results(library: Library, index: SearchFile, run: str, file: Path) -> bool:
    """Read a results file at once; its verdicts are recomputed on the way."""
    now = os.stat(file)
    reports = list(library.run(run).source.reports())
    with index.writing():
        index.forget(run)
        index.note(run, Progress(now.st_ino, now.st_size))
        for at, report in enumerate(map(RecordedReport, reports)):
            _add(index, run, at, report)
    return True


def _add(index: SearchFile, run: str, at: int, report: RecordedReport) -> None:
    failed = report.kind in ("fail", "error")
    index.add(run, Simulation(*report.key), at, passages_of(report), unlabelled=failed)


def _last_whole_line(log: Path, after: int) -> int:
    """Return the end of the last whole line after a place."""
    with log.open("rb") as file:
        file.seek(after)
        for line in file:
            if not line.endswith(b"\n"):
                break
            after += len(line)
    return after
