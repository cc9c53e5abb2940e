"""``maseval tag``: short words by which runs are found again."""

import os
from collections.abc import Sequence
from pathlib import Path

from maseval.app.results.finding import run_or_file_path
from maseval.runs import Annotations, change_tags, read_annotations


def tag(
    runs: Sequence[str | os.PathLike[str]], add: Sequence[str] = (), remove: Sequence[str] = ()
) -> dict[Path, Annotations]:
    """Add tags to runs and remove others; returns what each run has now.

    A run is named by its folder, its name or ``last``; results files may be tagged, too.
    """
    paths = [run_or_file_path(run) for run in runs]  # all of them, before any is changed
    if not add and not remove:
        return {path: read_annotations(path) for path in paths}
    # What cannot be a tag is refused before anything is written.
    Annotations().with_tags(add, remove)
    return {path: change_tags(path, add, remove) for path in paths}
