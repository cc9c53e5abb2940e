"""Stops a run in which every simulation fails in the same way."""

import re
from collections.abc import Iterable

from maseval.app.results.simulation_lines import SimulationLine

_ENOUGH = 5
# What differs between two errors of one cause: names of tasks, numbers, addresses.
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")


class EqualFailures:
    """Watches how simulations end, beginning with what ``earlier`` sessions finished."""

    def __init__(self, earlier: Iterable[SimulationLine] = ()) -> None:
        self._seen: list[str] = []
        self._worked = any(line.outcome != "error" for line in earlier)

    def objection(self, line: SimulationLine) -> str | None:
        """Why no more simulation should be started after this one; None while it may."""
        self._worked = self._worked or line.outcome != "error"
        self._seen.append(f"{line.status} {_VARYING.sub('', line.error or '')}")
        if self._worked or len(self._seen) < _ENOUGH or len(set(self._seen)) > 1:
            return None
        return (
            f"the first {len(self._seen)} simulations all failed in the same way "
            f"({line.status}): {line.error}; --no-retry-failed runs the others all the same"
        )
