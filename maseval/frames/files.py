"""A frame as a file: CSV and JSON lines by themselves, Parquet by pyarrow."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import IO, Literal, get_args

from maseval.frames.columns import Cell, FrameRow
from maseval.frames.frame import Frame
from maseval.interface import arrow

ExportForm = Literal["parquet", "csv", "jsonl"]
FORMS: tuple[str, ...] = get_args(ExportForm)

_SPECIAL = frozenset(',"\r\n')
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_frame(
    frame: Frame, file: IO[bytes], form: ExportForm, *, spreadsheet: bool = False
) -> int:
    """Write all rows as they are read, and return how many they are.

    ``spreadsheet`` puts an apostrophe before texts that a spreadsheet would compute.
    """
    if form == "parquet":
        return arrow.write_parquet(file, [column[:2] for column in frame.columns], frame)
    lines = _jsonl(frame) if form == "jsonl" else _csv(frame, spreadsheet)
    written = 0
    for line in lines:
        file.write(line.encode())
        written += 1
    return written - (form == "csv")


def _jsonl(rows: Iterable[FrameRow]) -> Iterator[str]:
    for row in rows:
        yield json.dumps({name: _plain(cell) for name, cell in row.items()}) + "\n"


def _plain(cell: Cell) -> Cell:
    return cell.isoformat() if isinstance(cell, datetime) else cell


def _csv(frame: Frame, spreadsheet: bool) -> Iterator[str]:
    """A header and a line for each row; null is nothing at all, an empty text is ``""``."""
    yield ",".join(column.name for column in frame.columns) + "\n"
    harmless = _harmless if spreadsheet else str
    for row in frame:
        words = (harmless(each) if isinstance(each, str) else _word(each) for each in row.values())
        yield ",".join("" if word is None else _quoted(word) for word in words) + "\n"


def _quoted(word: str) -> str:
    """Quoted where it must be; ``csv`` of Python 3.11 cannot tell null from an empty text."""
    if word and word == word.strip() and not _SPECIAL.intersection(word):
        return word
    return '"' + word.replace('"', '""') + '"'


def _word(cell: Cell) -> str | None:
    if cell is None:
        return None
    return str(cell).lower() if isinstance(cell, bool) else str(_plain(cell))


def _harmless(word: str) -> str:
    return f"'{word}" if word.startswith(_FORMULA) else word
