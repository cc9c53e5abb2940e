"""``maseval runs``: which runs there are."""

import os
from collections.abc import Sequence

from maseval.runs import RunState, list_runs


def runs(root: str | os.PathLike[str] | None = None, tags: Sequence[str] = ()) -> list[RunState]:
    """The runs below ``root``, the latest first; by default those of ``maseval tau2 run``.

    With ``tags`` only the runs that have all of them.
    """
    return [state for state in list_runs(root) if set(tags) <= set(state.annotations.tags)]
