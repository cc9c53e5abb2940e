"""What the commands return: plain records for a terminal or a script."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from maseval.core.outcome import OutcomeKind
from maseval.stats.estimation import Estimate


class SimulationLine(NamedTuple):
    """One simulation of a run, without its conversation."""

    domain: str
    task_id: str
    trial: int
    status: str
    outcome: OutcomeKind
    reward: float | None
    ended: str | None
    seconds: float
    cost: float
    tokens: int
    error: str | None


@dataclass(frozen=True)
class DomainScore:
    """How well one domain, or all of them together, went.

    ``failed`` counts simulations without a result, which resuming tries again; in ``pass_hat`` they
    count as not passed. ``pass_hat`` has every k up to the fewest trials that a task has had.
    """

    name: str
    tasks: int
    planned: int
    recorded: int
    failed: int
    passed: int
    pass_hat: Mapping[int, Estimate] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """In JSON's terms."""
        return {
            "tasks": self.tasks,
            "planned": self.planned,
            "done": self.recorded - self.failed,
            "failed": self.failed,
            "passed": self.passed,
            **{f"pass^{k}": estimate.in_brief() for k, estimate in self.pass_hat.items()},
        }


@dataclass(frozen=True)
class RunSummary:
    """A run in numbers: each domain, all of them, and what they took."""

    domains: Sequence[DomainScore]
    overall: DomainScore
    cost: float
    tokens: int
    method: str

    @property
    def rows(self) -> list[DomainScore]:
        """The domains, and their sum if there are several."""
        return [*self.domains, self.overall] if len(self.domains) > 1 else list(self.domains)

    def for_report(self) -> dict[str, Any]:
        """As the HTML report takes it."""
        rows = [
            {
                "name": score.name,
                "tasks": score.tasks,
                "simulations": score.recorded,
                **{f"pass^{k}": value.in_brief() for k, value in score.pass_hat.items()},
            }
            for score in self.rows
        ]
        return {"rows": rows, "notes": [self.method]}


@dataclass(frozen=True)
class RunResult:
    """What became of ``tau2.run``.

    ``ran`` is how many simulations this call ran; ``stopped`` says why it ended before all were
    run, if it did. ``config`` is the run's configuration.
    """

    folder: Path
    summary: RunSummary
    ran: int
    seconds: float
    stopped: str | None = None
    config: Mapping[str, object] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every planned simulation has a result."""
        overall = self.summary.overall
        return overall.recorded - overall.failed == overall.planned

    def to_dict(self) -> dict[str, Any]:
        """The one object that ``--json`` prints."""
        summary = self.summary
        return {
            "folder": str(self.folder),
            "complete": self.complete,
            "stopped": self.stopped,
            "ran": self.ran,
            "seconds": round(self.seconds, 3),
            # Tokens without a cost: the price of the model is not known.
            "cost": summary.cost if summary.cost or not summary.tokens else None,
            "tokens": summary.tokens,
            "overall": summary.overall.to_dict(),
            "domains": {score.name: score.to_dict() for score in summary.domains},
            "intervals": summary.method,
        }
