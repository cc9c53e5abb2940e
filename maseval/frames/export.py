"""``maseval export``: tables of runs as files."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Unpack, cast

from maseval.core.exceptions import ConfigurationError, OutputExistsError
from maseval.core.scoring_options import ScoringKeywords
from maseval.core.storage.files import atomic_file
from maseval.frames.columns import TABLES
from maseval.frames.files import FORMS, ExportForm, write_frame
from maseval.frames.sources import AnyRun
from maseval.frames.tables import frame_named

ALL = "all"
STDOUT = "-"


@dataclass(frozen=True)
class ExportedTable:
    """A table that was written; ``path`` is None for the standard output."""

    table: str
    rows: int
    path: Path | None

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return {**vars(self), "path": None if self.path is None else str(self.path)}


def export(
    runs: Sequence[AnyRun],
    *,
    to: str,
    tables: Sequence[str] = ("simulations",),
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    spreadsheet: bool = False,
    **options: Unpack[ScoringKeywords],
) -> list[ExportedTable]:
    """Write tables of runs, and return what was written.

    Args:
        runs: As for ``maseval.frames.runs``.
        to: ``parquet``, ``csv`` or ``jsonl``.
        tables: Their names, or ``all``.
        output: The file for one table, ``-`` for the standard output; the folder for several. By
            default ``<table>.<to>`` in the current folder.
        overwrite: Replace files that exist.
        spreadsheet: Put an apostrophe before texts that a spreadsheet would compute; in CSV only.
    """
    form, names = _form(to, spreadsheet), _names(tables)
    targets = _targets(names, form, output)
    frames = {name: frame_named(name, *runs, **options) for name in names}
    _check_free([path for path in targets.values() if path is not None], overwrite)
    written = []
    for name, frame in frames.items():
        with _opened(targets[name]) as file:
            rows = write_frame(frame, file, form, spreadsheet=spreadsheet)
        written.append(ExportedTable(name, rows, targets[name]))
    return written


def _form(to: str, spreadsheet: bool) -> ExportForm:
    if to not in FORMS:
        raise ConfigurationError(f"cannot export to {to!r}; choose one of: {', '.join(FORMS)}")
    if spreadsheet and to != "csv":
        raise ConfigurationError(f"only CSV can be made safe for spreadsheets, not {to}")
    return cast("ExportForm", to)


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
    if len(names) == 1 and output is not None and not path.is_dir():
        return {names[0]: path}
    if path.exists() and not path.is_dir():
        raise OutputExistsError(f"{path} is a file; for {len(names)} tables name a folder")
    return {name: path / f"{name}.{form}" for name in names}


def _check_free(paths: Sequence[Path], overwrite: bool) -> None:
    taken = [path for path in paths if path.exists()]
    if taken and not overwrite:
        raise OutputExistsError(
            f"{taken[0]} already exists; choose another place with --output, or --overwrite it"
        )


@contextmanager
def _opened(path: Path | None) -> Iterator[IO[bytes]]:
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    with atomic_file(path) as file:
        yield file
