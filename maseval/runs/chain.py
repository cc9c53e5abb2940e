"""The chain of a log: each line names the one before it by its number and its hash.

A line's own checksum notices damage, but whoever edits a line can make its checksum right again.
The next line then still names what was there before. So an edited, added or missing line shows,
unless everything after it was written anew as well. The last line has no successor, so the end of
the log is also kept beside it when a session closes (``Seal``): a log that was cut off is noticed,
too. Whoever wants to notice a folder that was written anew as a whole keeps the run's ``seal``
elsewhere.

Lines of earlier releases have no link; they are read as before.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from maseval.core.storage import strict_json
from maseval.core.storage.files import FileState, write_json
from maseval.runs.exceptions import RunFolderError, check_regular

LINK = "after"
_DIGITS = 32
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # which some editors put in front of a text
# A line is many kilobytes long; the usual buffer would cut it into pieces.
_BUFFER = 1 << 20


class Link(NamedTuple):
    """A line of a log: its number, counted from 1, and a hash of its text."""

    number: int
    hash: str

    @classmethod
    def of(cls, number: int, line: bytes) -> "Link":
        digest = hashlib.sha256(line.strip(b"\r\n")).hexdigest()
        return cls(number, digest[:_DIGITS])

    @classmethod
    def parse(cls, text: object) -> "Link":
        """Return the link in a record; raises ``ValueError`` for anything else."""
        number, _, digest = str(text).partition(" ")
        if not number.isdecimal() or len(number) > 15:
            raise ValueError("its link to the line before cannot be read")
        return cls(int(number), digest)

    def __str__(self) -> str:
        return f"{self.number} {self.hash}"


BEGINNING = Link(0, "")


@dataclass(eq=False)
class LogLine:
    """A line of a log that has content: its number among these, and its place in the file."""

    number: int
    row: int
    offset: int
    text: bytes

    @cached_property
    def link(self) -> Link:
        """The link that the next line should name."""
        return Link.of(self.number, self.text)


def lines_of(path: Path, after: LogLine | None = None) -> Iterator[LogLine]:
    """Yield the lines of a log, without blank ones and without a byte order mark.

    ``after`` is a line of the same log: only what follows it is read.
    """
    number = offset = first = 0
    if after is not None:
        number, first = after.number, after.row
        offset = after.offset + len(after.text)
    check_regular(path)
    if not path.exists():
        return
    with path.open("rb", buffering=_BUFFER) as file:
        file.seek(offset)
        for row, line in enumerate(file, first + 1):
            text = line.removeprefix(BYTE_ORDER_MARK)
            if text and not text.isspace():
                number += 1
                yield LogLine(number, row, offset + len(line) - len(text), text)
            offset += len(line)


class Break(NamedTuple):
    """A place where the chain does not hold; ``void`` is the line that does not count for it."""

    line: LogLine
    reason: str
    void: LogLine | None


class Chain:
    """Follows the links of a log while it is read, from its start or from an intact line on.

    ``missing`` is how many lines were found missing so far, and ``begun`` whether any line named
    the one before it.
    """

    def __init__(
        self, before: LogLine | None = None, *, missing: int = 0, begun: bool = False
    ) -> None:
        self._before = before
        self._intact = True
        self.begun = begun
        self.missing = missing

    def skip(self, line: LogLine) -> None:
        """Go past a line that is damaged anyway."""
        self._before, self._intact = line, False

    def follow(self, line: LogLine, named: Link | None) -> Break | None:
        """Check the link that a line names, and return the break in the chain, if there is one."""
        before, intact = self._before, self._intact
        self._before, self._intact = line, True
        if named is None:
            reason = "it does not name the line before it, as others do"
            return Break(line, reason, line) if self.begun else None
        self.begun = True
        expected = BEGINNING if before is None else before.link
        gap = named.number - expected.number - self.missing
        self.missing += gap
        if gap > 0:
            missing = "a line before it is" if gap == 1 else f"{gap} lines before it are"
            return Break(line, f"{missing} missing", None)
        if before is None or not intact or (gap == 0 and named.hash == expected.hash):
            return None
        how = "added" if gap < 0 else "changed"
        return Break(before, f"it was {how} after line {line.row} was written", before)


SEAL = "seal.json"


class Seal(NamedTuple):
    """The end of a log when a session closed: its last line, and the state of the file then."""

    end: Link
    file: tuple[int, int, int]
    """Its size, when it was changed, and when the system last touched it."""

    @classmethod
    def read(cls, folder: Path) -> "Seal | None":
        """Return the seal of a run; None if it has none, as in earlier releases, or a damaged one.

        A log that differs from its seal only in times was perhaps copied.
        """
        try:
            check_regular(folder / SEAL)
            stored = strict_json.loads_object((folder / SEAL).read_bytes())
            size, changed, touched = map(int, stored["file"])
            return cls(Link.parse(stored["end"]), (size, changed, touched))
        except (OSError, ValueError, KeyError, TypeError, RunFolderError):
            return None

    @classmethod
    def write(cls, log: Path, end: Link) -> None:
        """Keep the end of a log that nobody writes to any more."""
        log.stat()  # raises if there is none
        write_json(log.with_name(SEAL), {"end": str(end), "file": FileState.now(log)[:3]})

    def fits(self, log: Path) -> bool:
        return FileState.now(log)[:3] == self.file
