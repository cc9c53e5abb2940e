"""A run in numbers: the records that commands return, for a terminal, a script or a page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from maseval.app.results.counting import (
    ConventionScore,
    conventions_in_json,
    conventions_in_words,
)
from maseval.app.results.recording import SimulationLine, any_verdict
from maseval.app.running.prices import unpriced_models
from maseval.core.outcome import Outcome
from maseval.core.report import LEFT_OUT_STATUSES
from maseval.runs import Simulation
from maseval.runs.log import RERUN_STATUSES, Score
from maseval.stats import Estimate, GroupSummary, summarise
from maseval.stats.intervals import LEVEL, OVER_TASKS

METHOD = (
    "pass^k: probability that k trials of a task all pass, mean over tasks; a simulation without a "
    f"verdict counts as not passed. {LEVEL:.0%} CI, {OVER_TASKS} (docs/statistics.md)."
)


_LEFT_OUT = frozenset(status.value for status in LEFT_OUT_STATUSES)


@dataclass(frozen=True)
class DomainScore:
    """The numbers of one domain, or of all domains together.

    ``failed`` counts simulations without a result, which resuming tries again; in ``pass_hat`` they
    count as not passed. ``pass_hat`` has every k up to the fewest trials that a task has had; it is
    empty if no simulation has a verdict.
    """

    name: str
    tasks: int
    planned: int
    recorded: int
    failed: int
    passed: int
    pass_hat: Mapping[int, Estimate] = field(default_factory=dict)

    @property
    def pass_1(self) -> Score | None:
        """pass^1 and the ends of its interval, for the list of runs; None without a verdict."""
        found = self.pass_hat.get(1)
        if found is None or found.value is None:
            return None
        return {"value": found.value, "low": found.low, "high": found.high}

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""
        return {
            "tasks": self.tasks,
            "planned": self.planned,
            "done": self.recorded - self.failed,
            "failed": self.failed,
            "passed": self.passed,
            **{f"pass^{k}": estimate.in_brief() for k, estimate in self.pass_hat.items()},
        }


@dataclass(frozen=True)
class ProviderFailures:
    """Simulations that a provider let down, by status, and the score without them.

    In all other numbers they count as not passed.
    """

    counts: Mapping[str, int]
    pass_1: Estimate | None

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""
        without = None if self.pass_1 is None else self.pass_1.in_brief()
        return {"counts": dict(self.counts), "pass^1_without": without}

    def __str__(self) -> str:
        listed = ", ".join(f"{count} {status}" for status, count in self.counts.items())
        counted = f"{sum(self.counts.values())} simulations failed at the provider ({listed})"
        if self.pass_1 is None or self.pass_1.value is None:
            return f"{counted} and count as not passed; no other simulation has a verdict."
        found = self.pass_1
        return (
            f"{counted} and count as not passed; without them overall pass^1 is {found.value:.1%} "
            f"({LEVEL:.0%} CI {found.low:.1%} to {found.high:.1%})."
        )


@dataclass(frozen=True)
class RunSummary:
    """A run in numbers: each domain, all of them, and what they took.

    ``unjudged`` simulations ran to their end, and nobody said whether they passed.
    """

    domains: Sequence[DomainScore]
    overall: DomainScore
    cost: float
    tokens: int
    method: str
    conventions: Sequence[ConventionScore] = ()
    provider_failures: "ProviderFailures | None" = None
    unjudged: int = 0

    @property
    def rows(self) -> list[DomainScore]:
        """The domains, and their sum if there are several."""
        return [*self.domains, self.overall] if len(self.domains) > 1 else list(self.domains)

    def for_report(self) -> dict[str, Any]:
        """Return rows and notes in the form that the HTML report takes."""
        rows = [
            {
                "name": score.name,
                "tasks": score.tasks,
                "simulations": score.recorded,
                **{f"pass^{k}": value.in_brief() for k, value in score.pass_hat.items()},
            }
            for score in self.rows
        ]
        return {"rows": rows, "notes": [self.method, *conventions_in_words(self.conventions)]}


@dataclass(frozen=True)
class RunResult:
    """The result of ``run`` or ``tau2.run``.

    ``ran`` is how many simulations this call ran; ``stopped`` says why it ended before all were
    run, if it did. ``config`` is the run's configuration, ``errors`` are the recorded simulations
    that did not run to their end. ``notes`` are sentences for whoever started it.
    """

    folder: Path
    summary: RunSummary
    ran: int
    seconds: float
    stopped: str | None = None
    config: Mapping[str, object] = field(default_factory=dict)
    errors: Sequence[SimulationLine] = ()
    notes: Sequence[str] = ()

    @property
    def complete(self) -> bool:
        """True if every planned simulation has a result."""
        overall = self.summary.overall
        return overall.recorded - overall.failed == overall.planned

    @property
    def _known_cost(self) -> float | None:
        free = not self.summary.tokens or unpriced_models(self.config) == []
        return self.summary.cost if self.summary.cost or free else None

    def to_dict(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        summary, failures = self.summary, self.summary.provider_failures
        conventions = conventions_in_json(summary.conventions)
        return {
            "folder": str(self.folder),
            "complete": self.complete,
            "stopped": self.stopped,
            "ran": self.ran,
            "seconds": round(self.seconds, 3),
            "cost": self._known_cost,
            "tokens": summary.tokens,
            "prices": self.config.get("prices"),
            "notes": list(self.notes),
            **({"provider_failures": failures.to_dict()} if failures else {}),
            "overall": summary.overall.to_dict(),
            "domains": {score.name: score.to_dict() for score in summary.domains},
            **({"conventions": conventions} if conventions else {}),
            "intervals": summary.method,
        }


def run_summary(
    lines: Sequence[SimulationLine],
    planned: Iterable[Simulation],
    conventions: Sequence[ConventionScore] = (),
) -> RunSummary:
    """Return the numbers of a run, as far as it has come."""
    outcomes = [
        Outcome(line.domain, line.task_id, line.trial, line.outcome == "pass") for line in lines
    ]
    planned = list(planned)
    found = summarise(outcomes, planned=planned)
    failures = _provider_failures(lines, planned)
    names = dict.fromkeys(one.domain for one in planned)
    order = {domain: place for place, domain in enumerate(names)}
    domains = sorted(found.domains, key=lambda each: order.get(each.group or "", len(order)))
    method = (METHOD, _missing_range(found.overall, lines), _unjudged_range(outcomes, lines))
    return RunSummary(
        [
            _score(group, [line for line in lines if line.domain == group.group])
            for group in domains
        ],
        _score(found.overall, lines, "all"),
        cost=sum(line.cost for line in lines),
        tokens=sum(line.tokens for line in lines),
        method=" ".join(filter(None, (*method, str(failures or "")))),
        conventions=conventions,
        provider_failures=failures,
        unjudged=sum(line.outcome == "unjudged" for line in lines),
    )


def _provider_failures(
    lines: Sequence[SimulationLine], planned: Sequence[Simulation]
) -> ProviderFailures | None:
    counts = Counter(line.status for line in lines if line.status in _LEFT_OUT)
    if not counts:
        return None
    outcomes = [
        Outcome(
            line.domain,
            line.task_id,
            line.trial,
            None if line.status in _LEFT_OUT else line.outcome == "pass",
            reason=line.status,
        )
        for line in lines
    ]
    judged = any_verdict(lines)
    overall = summarise(outcomes, planned=planned).overall if judged else None
    return ProviderFailures(counts, overall.estimate("pass^k", 1) if overall else None)


def _score(
    found: GroupSummary, lines: Sequence[SimulationLine], name: str | None = None
) -> DomainScore:
    return DomainScore(
        name or found.group or "all",
        tasks=found.tasks - found.untried,
        planned=found.planned,
        recorded=found.done,
        failed=sum(line.status in RERUN_STATUSES for line in lines),
        passed=found.passed,
        pass_hat={
            each.k: each
            for each in found.estimates
            if each.measure == "pass^k" and each.value is not None
        }
        if any_verdict(lines)
        else {},
    )


def _unjudged_range(outcomes: Sequence[Outcome], lines: Sequence[SimulationLine]) -> str:
    """State the range in which simulations without a verdict leave the number."""
    waiting = [line.outcome == "unjudged" for line in lines]
    if not any(waiting) or not any_verdict(lines):
        return ""
    best = [
        replace(each, passed=each.passed or unknown)
        for each, unknown in zip(outcomes, waiting, strict=True)
    ]
    low, high = (summarise(each).overall.estimate("pass^k", 1).value for each in (outcomes, best))
    return (
        f"{sum(waiting)} of {len(lines)} simulations have no verdict: overall pass^1 is {low:.1%} "
        f"if all of them fail, {high:.1%} if all pass."
    )


def _missing_range(overall: GroupSummary, lines: Sequence[SimulationLine]) -> str:
    """State the range in which the missing simulations leave the number."""
    if not any_verdict(lines):
        return (
            f"None of the {overall.planned} planned simulations has a verdict: there is no score."
        )
    bounds = overall.estimate("pass^k", 1).bounds
    if bounds is None:
        return ""
    low, high = bounds
    return (
        f"{overall.planned - overall.done} of {overall.planned} planned simulations are missing "
        f"and left out: overall pass^1 is {low:.1%} if all of them fail, {high:.1%} if all pass."
    )
