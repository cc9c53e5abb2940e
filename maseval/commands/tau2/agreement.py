"""What came of judging recorded conversations again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maseval.stats.estimate import Estimate


@dataclass(frozen=True)
class Disagreement:
    """A simulation whose verdict differs from the recorded one, and where."""

    task_id: str
    trial: int | None
    differences: Sequence[str]


@dataclass
class FileScore:
    """One file or run, judged again.

    ``agreeing`` of ``compared`` verdicts are equal; ``skipped`` counts, by reason, what could not
    be compared. ``pass_hat`` is of the new verdicts.
    """

    path: Path
    simulations: int = 0
    compared: int = 0
    agreeing: int = 0
    recorded_passes: int = 0
    passes: int = 0
    not_replayable: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    pass_hat: Mapping[int, Estimate] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """In JSON's terms."""
        return {
            "path": str(self.path),
            "simulations": self.simulations,
            "compared": self.compared,
            "agreeing": self.agreeing,
            "passed_as_recorded": self.recorded_passes,
            "passed": self.passes,
            "not_replayable": self.not_replayable,
            "skipped": self.skipped,
            "disagreements": [
                {"task_id": one.task_id, "trial": one.trial, "differences": list(one.differences)}
                for one in self.disagreements
            ],
            **{f"pass^{k}": estimate.in_brief() for k, estimate in self.pass_hat.items()},
        }
