"""``maseval runs`` and ``tag``: the list of runs, and remarks by which to find one."""

import os
from collections.abc import Sequence
from pathlib import Path

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
    runs: Sequence[str | os.PathLike[str]],
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    *,
    note: str | None = None,
) -> dict[Path, Annotations]:
    """Add tags to runs, remove others, replace their note; return what each run has now.

    A run is named by its folder, its name or ``last``; results files may be tagged, too. An empty
    ``note`` removes the one that is there.
    """
    from maseval.app.results.finding import run_or_file_path  # a list of runs needs no benchmark

    paths = [run_or_file_path(run) for run in runs]  # all of them, before any is changed
    # What cannot be a tag or a note is refused before anything is written.
    Annotations().with_tags(add, remove).with_note(note)
    for path in paths:
        if add or remove:
            change_tags(path, add, remove)
        if note is not None:
            change_note(path, note or None)
    return {path: read_annotations(path) for path in paths}
