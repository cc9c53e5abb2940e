"""``maseval runs``: which runs there are."""

import os

from maseval.runs import RunState, list_runs


def runs(root: str | os.PathLike[str] | None = None) -> list[RunState]:
    """The runs below ``root``, the latest first; by default those of ``maseval tau2 run``."""
    return list_runs(root)
