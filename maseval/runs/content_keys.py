"""Names for the contents of reports: the same for as long as all that a report is read from is."""

import hashlib
from pathlib import Path
from typing import IO

from maseval.runs.chain import LogLine
from maseval.runs.log import LogContents, ReportLine, ReportPlace, shared_id

_PIECE = 1 << 15


class ContentKeys:
    """Hashes of all that ``report_in`` reads for a report.

    Those of lines were found when the log was read, unless its index was kept.
    """

    def __init__(self, path: Path, contents: LogContents) -> None:
        self._path, self._lines = path, contents.lines
        self._shared = {name: shared_id(value) for name, value in contents.shared.items()}

    def of(self, place: ReportPlace) -> str:
        digest = hashlib.sha256()
        for offset in (place.offset, *place.earlier):
            line = self._lines.get(offset) or self._read(offset)
            digest.update(f"{self._shared.get(line.shared or '')} {line.hash} ".encode("ascii"))
        return digest.hexdigest()[:32]

    def _read(self, offset: int) -> ReportLine:
        with self._path.open("rb", buffering=0) as file:
            return ReportLine.of(LogLine(0, 0, offset, _line_at(file, offset)))


def _line_at(file: IO[bytes], offset: int) -> bytes:
    """Return a line of a file without a buffer, which would be filled anew for every line."""
    file.seek(offset)
    line = b""
    while (more := file.read(_PIECE)) and not (end := more.find(b"\n") + 1):
        line += more
    return line + more[:end] if more else line
