"""``maseval runs``, ``tag`` and ``note``: the list of runs, and remarks by which to find one."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.runs import (
    Annotations,
    RunState,
    change_note,
    change_tags,
    list_runs,
    read_annotations,
)


def runs(root: str | os.PathLike[str] | None = None, tags: Sequence[str] = ()) -> list[RunState]:
    """List the runs below ``root`` (default ``./runs``), the latest first.

    With ``tags`` only the runs that have all of them.
    """
    return [state for state in list_runs(root) if set(tags) <= set(state.annotations.tags)]


def tag(
    runs: Sequence[str | os.PathLike[str]], add: Sequence[str] = (), remove: Sequence[str] = ()
) -> dict[Path, Annotations]:
    """Add tags to runs and remove others; return what each run has now.

    A run is named by its folder, its name or ``last``; results files may be tagged, too.
    """
    from maseval.app.results.finding import run_or_file_path  # a list of runs needs no benchmark

    paths = [run_or_file_path(run) for run in runs]  # all of them, before any is changed
    if not add and not remove:
        return {path: read_annotations(path) for path in paths}
    # What cannot be a tag is refused before anything is written.
    Annotations().with_tags(add, remove)
    return {path: change_tags(path, add, remove) for path in paths}


class RunNote(NamedTuple):
    """A run and its note."""

    path: Path
    text: str | None


def note(run: str | os.PathLike[str], text: str | None = None, *, clear: bool = False) -> RunNote:
    """Return the note of a run or results file; replace it by ``text``, or ``clear`` it."""
    if clear and text:
        raise ConfigurationError("give a text or clear, not both")
    from maseval.app.results.finding import run_or_file_path

    path = run_or_file_path(run)
    if text or clear:
        return RunNote(path, change_note(path, text).note)
    return RunNote(path, read_annotations(path).note)
