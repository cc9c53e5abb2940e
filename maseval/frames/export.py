"""``maseval export``: tables of runs as CSV, as JSON lines, or by pyarrow as Parquet."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Literal, Unpack, cast, get_args

from maseval.core.exceptions import ConfigurationError, OutputExistsError
from maseval.core.scoring_options import ScoringKeywords
from maseval.core.storage.files import atomic_file
from maseval.frames.frame import TABLES, Cell, Frame
from maseval.frames.tables import FRAMES, AnyRun
from maseval.interface import arrow
from maseval.stats.result import Result

ExportForm = Literal["parquet", "csv", "jsonl"]
FORMS: tuple[str, ...] = get_args(ExportForm)

_SPECIAL = frozenset(',"\r\n')


def write_frame(frame: Frame, file: IO[bytes], form: ExportForm) -> int:
    if form == "parquet":
        return arrow.write_parquet(file, [column[:2] for column in frame.columns], frame)
    lines = _csv(frame)
    if form == "jsonl":
        rows = ({name: _plain(cell) for name, cell in row.items()} for row in frame)
        lines = (json.dumps(row) + "\n" for row in rows)
    written = 0
    for line in lines:
        file.write(line.encode())
        written += 1
    # The first line of a CSV file names the columns.
    return written - (form == "csv")


def _plain(cell: Cell) -> Cell:
    return cell.isoformat() if isinstance(cell, datetime) else cell


def _csv(frame: Frame) -> Iterator[str]:
    # Null is nothing at all, an empty text is ``""``: the module ``csv`` cannot tell them apart.
    yield ",".join(column.name for column in frame.columns) + "\n"
    for row in frame:
        yield ",".join(map(_word, row.values())) + "\n"


def _word(cell: Cell) -> str:
    if cell is None:
        return ""
    word = str(cell).lower() if isinstance(cell, bool) else str(_plain(cell))
    # Other words are quoted, because readers may trim blanks and take an empty cell for null.
    if word and word == word.strip() and not _SPECIAL.intersection(word):
        return word
    return '"' + word.replace('"', '""') + '"'


ALL = "all"
STDOUT = "-"


@dataclass(frozen=True)
class ExportedTable(Result):
    """A table that was written; ``path`` is None for the standard output."""

    table: str
    rows: int
    path: Path | None


def export(
    runs: Sequence[AnyRun],
    *,
    to: str | None = None,
    tables: Sequence[str] = ("simulations",),
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    **options: Unpack[ScoringKeywords],
) -> list[ExportedTable]:
    """Write tables of runs, and return what was written.

    Args:
        runs: As for ``maseval.frames.runs``.
        to: ``parquet``, ``csv`` or ``jsonl``; by default the ending of ``output``.
        tables: Their names, or ``all``.
        output: The file for one table, ``-`` for the standard output; the folder for several. A
            name without an ending gets that of the form. By default ``<table>.<to>`` in the
            current folder.
        overwrite: Replace files that exist.
    """
    form, names = _form(to or _ending(output)), _names(tables)
    targets = _targets(names, form, output)
    # Every run is looked up before a file is made: a wrong name leaves nothing behind.
    frames = {name: FRAMES[name](*runs, **options) for name in names}
    taken = [path for path in targets.values() if path is not None and path.exists()]
    if taken and not overwrite:
        raise OutputExistsError(
            f"{taken[0]} already exists; choose another place with --output, or --overwrite it"
        )
    written = []
    for name, frame in frames.items():
        path = targets[name]
        with nullcontext(sys.stdout.buffer) if path is None else atomic_file(path) as file:
            rows = write_frame(frame, file, form)
            # What is printed next must not come before the rows on standard output.
            file.flush()
        written.append(ExportedTable(name, rows, targets[name]))
    return written


def _form(to: str) -> ExportForm:
    if to not in FORMS:
        raise ConfigurationError(
            f"cannot export to {to!r}; choose one of: {', '.join(FORMS)}"
            if to
            else "no form is given; choose one with --format (to=), or by the ending of the file: "
            + ", ".join(f".{form}" for form in FORMS)
        )
    return cast("ExportForm", to)


def _ending(output: str | os.PathLike[str] | None) -> str:
    return Path(output or "").suffix.removeprefix(".").lower()


def _names(tables: Sequence[str]) -> list[str]:
    unknown = [name for name in tables if name not in TABLES and name != ALL]
    if unknown:
        known = ", ".join([*TABLES, ALL])
        raise ConfigurationError(f"there is no table {unknown[0]!r}; choose one of: {known}")
    return list(TABLES) if ALL in tables else list(dict.fromkeys(tables))


def _targets(
    names: Sequence[str], form: ExportForm, output: str | os.PathLike[str] | None
) -> dict[str, Path | None]:
    if output is not None and os.fspath(output) == STDOUT:
        if len(names) > 1 or form == "parquet":
            raise ConfigurationError(
                "the standard output takes one table, as csv or jsonl; name a folder instead"
            )
        return {names[0]: None}
    path = Path(output or ".")
    # What is not there yet is a file for one table, and a folder for several.
    if len(names) == 1 and output is not None and not path.is_dir():
        ending = _ending(path)
        if ending in FORMS and ending != form:
            raise ConfigurationError(
                f"{path} is named .{ending}, but the form is {form}; choose one"
            )
        return {names[0]: path if ending else path.with_name(f"{path.name.rstrip('.')}.{form}")}
    if path.exists() and not path.is_dir():
        raise OutputExistsError(f"{path} is a file; for {len(names)} tables name a folder")
    return {name: path / f"{name}.{form}" for name in names}
