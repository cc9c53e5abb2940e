"""``maseval note``: what somebody wants to remember of a run."""

import os
from pathlib import Path
from typing import NamedTuple

from maseval.app.results.finding import run_or_file_path
from maseval.core.exceptions import ConfigurationError
from maseval.runs import change_note, read_annotations


class RunNote(NamedTuple):
    """A run and its note."""

    path: Path
    text: str | None


def note(run: str | os.PathLike[str], text: str | None = None, *, clear: bool = False) -> RunNote:
    """The note of a run or results file; with ``text`` it is replaced, with ``clear`` removed."""
    if clear and text:
        raise ConfigurationError("give a text or clear, not both")
    path = run_or_file_path(run)
    if text or clear:
        return RunNote(path, change_note(path, text).note)
    return RunNote(path, read_annotations(path).note)
