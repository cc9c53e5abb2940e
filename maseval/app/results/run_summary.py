"""A run in numbers: the records that commands return, for a terminal, a script or a page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maseval.app.results.checklist import Checklist
from maseval.app.results.measured import MeasuredScore
from maseval.core.outcome import (
    UNJUDGED,
    Outcome,
    Simulation,
    total_cost,
    words_on_cache,
)
from maseval.core.perturbation import mark_of_perturbation
from maseval.core.recorded import mapping
from maseval.core.task import ChosenSubset
from maseval.core.words import money, text_or_none, words_on_code
from maseval.runs.config import JUDGED_BY, STOPPED, RunConfig, cell_of
from maseval.stats.summary import Summary, summarise

INTERRUPTED = "interrupted"
"""Why a run stopped early, if a signal ended it."""
METHOD = "pass^k: chance that k trials of a task all pass, mean over tasks. {}"
UNANSWERED = "The run ends when its question is decided, and it is not decided yet."


@dataclass(frozen=True)
class RunSummary(Summary):
    """A run in numbers: each domain, as planned, and all of them.

    With a ``subset`` they are an estimate of what a run of all tasks would have. ``answer`` is that
    to the question the run was to answer, and stands before all of them. ``method`` says how the
    numbers are computed, and nothing else if it ``is_usual``. Its ``lines`` say what it took.
    """

    lines: Sequence[Outcome]
    method: str
    is_usual: bool = True
    subset: ChosenSubset | None = None
    answer: str | None = None
    judged_by: str | None = None
    """The judge, where it is another than the benchmark's own."""
    perturbed: str | None = None
    """What the run was perturbed by."""

    @property
    def marks(self) -> list[str]:
        """Names for the numbers, if they are not simply those of a run."""
        return [str(each) for each in (self.subset, self.judged_by, self.perturbed) if each]

    @property
    def cost(self) -> float | None:
        """The cost with every attempt, without that of the ``unpriced`` simulations."""
        return total_cost(line.cost for line in self.lines)

    @property
    def tokens(self) -> int:
        return sum(line.tokens for line in self.lines)

    @property
    def unpriced(self) -> int:
        return sum(line.cost is None and line.tokens > 0 for line in self.lines)

    @property
    def unjudged(self) -> int:
        """The number of simulations that ran to their end, and that nobody judged."""
        return self.overall.missing.get(UNJUDGED, 0)

    @property
    def complete(self) -> bool:
        """True if every planned simulation has a verdict."""
        return self.overall.done == self.overall.planned

    def to_dict(self) -> dict[str, Any]:
        # Answers of models are counted only in runs with a cache.
        answers = sum(line.answers for line in self.lines)
        cached = sum(line.cached_answers for line in self.lines)
        return {
            "complete": self.complete,
            "cost": self.cost,
            "tokens": self.tokens,
            **({"costs": costs} if (costs := costs_by_role(self.lines)) else {}),
            **({"answers": answers, "cached_answers": cached} if answers else {}),
            **({} if self.subset is None else {"estimate": self.subset.to_dict()}),
            **({} if self.judged_by is None else {"judged_by": self.judged_by}),
            **({} if self.perturbed is None else {"perturbed": self.perturbed}),
            "overall": self.overall.in_brief(),
            "domains": {score.name: score.in_brief() for score in self.domains},
            "intervals": " ".join(filter(None, (self.answer, self.method))),
        }


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
    errors: Sequence[Outcome] = ()
    notes: Sequence[str] = ()
    checklist: Checklist | None = None
    """What a rehearsal saw."""
    measures: Sequence[MeasuredScore] = ()
    """The numbers that evaluators recorded beside the verdict, below the official one."""

    @property
    def complete(self) -> bool:
        return self.summary.complete

    @property
    def is_undecided(self) -> bool:
        """True if the run was to answer a question, and all that was planned did not decide it."""
        return mapping(self.config, STOPPED).get("outcome") == "undecided"

    @property
    def judged(self) -> bool:
        """True if an evaluator gave a verdict on any simulation."""
        # An error of the agent counts as a failure, and no evaluator gave that verdict.
        return self.summary.overall.verdicts > sum(line.passed is False for line in self.errors)

    @property
    def resumable(self) -> int:
        """The number of simulations that running again would run, or evaluate again."""
        overall = self.summary.overall
        return overall.planned - overall.recorded + overall.failed

    @property
    def interrupted(self) -> bool:
        return (self.stopped or "").startswith(INTERRUPTED)

    def to_dict(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            **({"cell": cell} if (cell := cell_of(self.config)) else {}),
            "stopped": self.stopped,
            "ran": self.ran,
            "seconds": round(self.seconds, 3),
            "prices": self.config.get("prices"),
            "notes": list(self.notes),
            **({"rehearsal": self.checklist.to_dict()} if self.checklist else {}),
            **({"scores": [each.to_dict() for each in self.measures]} if self.measures else {}),
            **self.summary.to_dict(),
        }


def run_summary(
    lines: Sequence[Outcome],
    planned: Iterable[Simulation],
    config: RunConfig | None = None,
    found: Summary | None = None,
) -> RunSummary:
    """Return the numbers of a run, as far as it has come.

    Everything that shows a number of a run takes it from here. Its ``config`` says if the tasks
    were chosen. ``found`` saves summarising it again.
    """
    planned = list(planned)
    subset, stopped = (config.subset, config.stopped) if config else (None, None)
    if found is None:
        found = summarise(lines, planned=planned)
    places = {domain: at for at, domain in enumerate(dict.fromkeys(e.domain for e in planned))}
    # What is not planned comes after the rest, and all of them last, as they do already.
    groups = sorted(found.groups, key=lambda e: places.get(str(e.group), len(places)))
    overall, method = found.overall, METHOD.format(found.interval_in_words)
    remarks = (
        subset and subset.note,
        UNANSWERED if config and config.is_unanswered else None,
        method,
        overall.without_value,
        overall.shortfall,
        words_on_cache(lines),
        words_on_code(line.code for line in lines),
    )
    said = [*filter(None, remarks)]
    return RunSummary(
        groups,
        found.level,
        lines,
        method=" ".join(said),
        is_usual=said == [method],
        subset=subset,
        answer=None if stopped is None else stopped.note,
        judged_by=text_or_none(config.values.get(JUDGED_BY)) if config else None,
        perturbed=mark_of_perturbation(config.values) if config else None,
    )


def costs_by_role(lines: Iterable[Outcome]) -> dict[str, float]:
    """Return the cost of agent, user and judge; nothing if only one of them cost anything.

    The agent's part is all that is neither the user's nor the judge's.
    """
    every = list(lines)
    user, judge = (
        total_cost(getattr(line, name) for line in every) or 0.0
        for name in ("user_cost", "judge_cost")
    )
    # The rounded parts may come to a hair more than the whole.
    agent = max(0.0, (total_cost(line.cost for line in every) or 0.0) - user - judge)
    costs = {"agent": agent, "user": user, "judge": judge}
    found = {role: cost for role, cost in costs.items() if cost}
    return found if len(found) > 1 else {}


def costs_in_words(costs: Mapping[str, float]) -> str | None:
    """Format costs by role: ``agent $2.00, judge $0.50``; None if there are none."""
    return ", ".join(f"{role} {money(cost)}" for role, cost in costs.items()) or None
