"""What came of comparing runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maseval.stats import Comparison, Outcome, Summary, Table


@dataclass(frozen=True)
class ComparedRun:
    """One of the runs; of the simulations ``planned``, those in ``outcomes`` are there."""

    name: str
    path: Path
    outcomes: Sequence[Outcome]
    planned: int
    config: Mapping[str, Any]


@dataclass(frozen=True)
class RunComparison:
    """Runs compared: ``two`` in detail if there are two, and ``table`` for any number.

    ``cautions`` name what may explain a difference besides the agents, ``drawn`` the plots' files.
    """

    runs: Mapping[str, ComparedRun]
    table: Table
    two: Comparison | None
    cautions: Sequence[str]
    drawn: Sequence[Path] = ()

    @property
    def summaries(self) -> Mapping[str, Summary]:
        """Each run's numbers on the tasks that all share."""
        return self.table.runs

    def to_dict(self) -> dict[str, Any]:
        """In JSON's terms: a comparison of two, or a table of several."""
        found = self.table.to_dict() if self.two is None else self.two.to_dict()
        summaries = {name: summary.to_dict() for name, summary in self.summaries.items()}
        return {
            **found,
            "paths": {name: str(run.path) for name, run in self.runs.items()},
            "runs": summaries,
            "cautions": list(self.cautions),
        }
