"""``maseval runs``: the list of runs."""

import os
from collections.abc import Sequence

from maseval.runs import RunState, list_runs


def runs(root: str | os.PathLike[str] | None = None, tags: Sequence[str] = ()) -> list[RunState]:
    """List the runs below ``root`` (default ``./runs``), the latest first.

    With ``tags`` only the runs that have all of them.
    """
    return [state for state in list_runs(root) if set(tags) <= set(state.annotations.tags)]
