"""From logs to the search index: what was added to them since is read, and nothing twice."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from maseval.core.outcome import kind_of
from maseval.core.report import Report
from maseval.core.shapes import Shape, entries, text
from maseval.core.storage import strict_json
from maseval.runs import Simulation
from maseval.runs.config_file import LOG
from maseval.runs.log import report_of, simulation_of
from maseval.view.library import Library
from maseval.view.search_file import Progress, SearchFile
from maseval.view.search_texts import parts_of

_BATCH = 4 << 20
_LABELLED_AT_ONCE = 20


class LoggedReport(NamedTuple):
    """A report of a log, where it begins, and where the next line does."""

    simulation: Simulation
    at: int
    report: Report
    end: int


def unread(index: SearchFile, library: Library) -> int:
    """How many bytes of all logs are not in the index."""
    return sum(max(0, _size(log) - _begin(index, run, log)) for run, log in _logs(library))


def read_on(index: SearchFile, library: Library) -> bool:
    """Read the next few megabytes of some log; False if there is nothing new in any."""
    logs = dict(_logs(library))
    for gone in set(index.known_runs()) - logs.keys():
        with index.writing():
            index.forget(gone)
    for run, log in logs.items():
        if _begin(index, run, log) < _size(log) and _read_batch(index, run, log):
            return True
    return False


def label_on(index: SearchFile, library: Library) -> bool:
    """Find the labels of a few failed simulations; False if all are known."""
    for run, _ in _logs(library):
        waiting = index.waiting(run, _LABELLED_AT_ONCE)
        if not waiting:
            continue
        source = library.run(run).source
        found = []
        for number, at in waiting:
            completed = library.reader.completed(source, source.report_at(at))
            found.append((number, [text(each) for each in entries(completed.get("labels"))]))
        with index.writing():
            for number, labels in found:
                index.label(number, labels)
        return True
    return False


def text_at(log: Path, at: int, message: int | None, where: str) -> str | None:
    """The text of a hit, read from its log again; None if it is not there any more."""
    found = next(reports_from(log, at), None)
    if found is None or found.at != at:
        return None
    parts = parts_of({**found.report})
    return "\n".join(part.text for part in parts if part[:2] == (message, where)) or None


def reports_from(log: Path, offset: int) -> Iterator[LoggedReport]:
    """The reports of a log from a line on; what cannot be read is passed over."""
    with log.open("rb") as file:
        file.seek(offset)
        for line in file:
            begin, offset = offset, offset + len(line)
            if not line.endswith(b"\n"):
                return  # it is still being written
            found = _report_in(line)
            if found is not None:
                yield LoggedReport(*found[:1], begin, found[1], offset)


def _report_in(line: bytes) -> tuple[Simulation, Report] | None:
    try:
        record = strict_json.loads_object(line)
        if record["kind"] != "report":
            return None
        simulation = simulation_of(record)
        return simulation, report_of(record, {})
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def _logs(library: Library) -> Iterator[tuple[str, Path]]:
    for name, path in library.run_folders():
        yield name, path / LOG


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0


def _begin(index: SearchFile, run: str, log: Path) -> int:
    """From where a log is to be read; from its start if it is not the one that was read."""
    known = index.progress(run)
    try:
        now = os.stat(log)
    except OSError:
        return 0
    same = known is not None and known.file == now.st_ino and known.offset <= now.st_size
    return known.offset if known is not None and same else 0


def _read_batch(index: SearchFile, run: str, log: Path) -> bool:
    """Whether anything was read: a line that is not whole yet is waited for."""
    with index.writing():
        begin, file = _begin(index, run, log), os.stat(log).st_ino
        if begin == 0:
            index.forget(run)
        index.note(run, Progress(file, begin))
        end = begin
        for found in reports_from(log, begin):
            shape: Shape = {**found.report}
            failed = kind_of(shape) in ("fail", "error")
            index.add(run, found.simulation, found.at, parts_of(shape), unlabelled=failed)
            end = found.end
            if end - begin > _BATCH:
                break
        else:
            end = _last_whole_line(log, end)
        index.note(run, Progress(file, end))
    return end > begin


def _last_whole_line(log: Path, after: int) -> int:
    """Where the last line ends that is whole, of those after a place."""
    with log.open("rb") as file:
        file.seek(after)
        for line in file:
            if not line.endswith(b"\n"):
                break
            after += len(line)
    return after
