"""Mending a record file that a crash left with a torn last line."""

import itertools
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from maseval.core.storage import strict_json
from maseval.core.storage.atomic import sync_folder

_STEP = 1 << 16
"""How much is read at a time, from the end backwards."""


def mend(path: str | os.PathLike[str]) -> Path | None:
    """Prepare a file for more records; call it only while nobody writes to the file.

    A torn last line is moved to the first free ``torn-<n>.jsonl`` beside the file, whose path is
    returned; a last record that lacks only its line end gets one. Lines that have an end stay.
    """
    path = Path(path)
    aside = None
    with path.open("r+b") as file:
        start = _start_of_last_line(file)
        file.seek(start)
        tail = file.read()
        if not tail:
            return None
        try:
            strict_json.loads_object(tail)
            file.write(b"\n")
        except (ValueError, RecursionError):
            # First the copy, then the cut: a crash in between leaves the line in both places.
            aside = _set_aside(path, tail)
            file.truncate(start)
        file.flush()
        os.fsync(file.fileno())
        return aside


def _start_of_last_line(file: BinaryIO) -> int:
    position = file.seek(0, os.SEEK_END)
    while position:
        size = min(_STEP, position)
        position = file.seek(position - size)
        line_end = file.read(size).rfind(b"\n")
        if line_end >= 0:
            return position + line_end + 1
    return 0


def _set_aside(path: Path, tail: bytes) -> Path:
    for number in itertools.count(1):
        aside = path.with_name(f"torn-{number}.jsonl")
        with suppress(FileExistsError), aside.open("xb") as file:
            file.write(tail)
            file.flush()
            os.fsync(file.fileno())
            break
    sync_folder(path.parent)
    return aside
