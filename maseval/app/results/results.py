"""A run in numbers: the records that commands return, for a terminal, a script or a page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maseval.app.results.variants import (
    ConventionScore,
    conventions_in_json,
    conventions_in_words,
)
from maseval.core.outcome import (
    UNJUDGED,
    Outcome,
    Score,
    Simulation,
    total_cost,
    words_on_cache,
)
from maseval.core.report import NO_VERDICT_STATUSES
from maseval.core.task import ChosenSubset
from maseval.core.words import words_on_code
from maseval.runs.config import RunConfig, cell_of
from maseval.stats import Estimate, GroupSummary
from maseval.stats.summary import ONLY_FIRST, Summary, summarise_run

INTERRUPTED = "interrupted"
"""Why a run stopped early, if a signal ended it."""
METHOD = (
    "pass^k: probability that k trials of a task all pass, mean over tasks; what has no verdict is "
    "left out. {}"
)
UNANSWERED = "The run ends when its question is decided, and it is not decided yet."


@dataclass(frozen=True)
class DomainScore:
    """The numbers of one domain, or of all domains together.

    Of the ``planned`` simulations, ``verdicts`` have a verdict; ``missing`` counts the others by
    what became of them. Of those ``recorded``, ``failed`` are tried again on resuming. ``pass_hat``
    is over what has a verdict, with every k up to the fewest such trials of any task; it is empty
    if no simulation has one. Its ``bounds`` say what the others can still make of it.
    """

    name: str
    tasks: int
    planned: int
    recorded: int
    failed: int
    passed: int
    verdicts: int
    missing: Mapping[str, int] = field(default_factory=dict)
    pass_hat: Mapping[int, Estimate] = field(default_factory=dict)
    scores: Mapping[int, Score] = field(default_factory=dict)

    @property
    def pass_1(self) -> Score | None:
        """pass^1 as lists of runs show it; None without a verdict."""
        return self.scores.get(1)

    def to_dict(self) -> dict[str, Any]:
        return {
            "tasks": self.tasks,
            "planned": self.planned,
            "done": self.recorded - self.failed,
            "failed": self.failed,
            "verdicts": self.verdicts,
            "missing": dict(self.missing),
            "passed": self.passed,
            **{f"pass^{k}": estimate.in_brief() for k, estimate in self.pass_hat.items()},
        }


@dataclass(frozen=True)
class RunSummary:
    """A run in numbers: each domain, all of them, and what they took, with every attempt.

    Of the models' ``answers``, so many ``cached_answers`` came from a cache; both are counted only
    in runs with one. The cost does not have that of the ``unpriced`` simulations.

    With a ``subset`` they are an estimate of what a run of all tasks would have. ``answer`` is that
    to the question the run was to answer, and stands before all of them. ``method`` says how the
    numbers are computed, and nothing else if it ``is_usual``.
    """

    domains: Sequence[DomainScore]
    overall: DomainScore
    cost: float | None
    tokens: int
    method: str
    is_usual: bool = True
    conventions: Sequence[ConventionScore] = ()
    subset: ChosenSubset | None = None
    answers: int = 0
    cached_answers: int = 0
    unpriced: int = 0
    answer: str | None = None

    @property
    def unjudged(self) -> int:
        """The number of simulations that ran to their end, and that nobody judged."""
        return self.overall.missing.get(UNJUDGED, 0)

    @property
    def rows(self) -> list[DomainScore]:
        """The domains, and their sum if there are several."""
        return [*self.domains, self.overall] if len(self.domains) > 1 else list(self.domains)

    @property
    def complete(self) -> bool:
        """True if every planned simulation has a verdict."""
        return self.overall.verdicts == self.overall.planned

    def to_dict(self) -> dict[str, Any]:
        conventions = conventions_in_json(self.conventions)
        cached = {"answers": self.answers, "cached_answers": self.cached_answers}
        return {
            "complete": self.complete,
            "cost": self.cost,
            "tokens": self.tokens,
            **(cached if self.answers else {}),
            **({} if self.subset is None else {"estimate": self.subset.to_dict()}),
            "overall": self.overall.to_dict(),
            "domains": {score.name: score.to_dict() for score in self.domains},
            **({"conventions": conventions} if conventions else {}),
            "intervals": " ".join(filter(None, (self.answer, self.method))),
        }

    def for_report(self) -> dict[str, Any]:
        """Return rows, notes and what the numbers mean, as the HTML report takes them."""
        rows = [
            {
                "name": f"{score.name}, {self.subset}" if self.subset else score.name,
                "tasks": score.tasks,
                "simulations": score.planned,
                "verdicts": score.verdicts,
                **{f"pass^{k}": value.in_brief() for k, value in score.pass_hat.items()},
            }
            for score in self.rows
        ]
        # How numbers are computed can wait for a question, unless there is more to say.
        meaning = [self.method] * self.is_usual + conventions_in_words(self.conventions)
        notes = filter(None, [self.answer, None if self.is_usual else self.method])
        return {"rows": rows, "notes": [*notes], "meaning": meaning}


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

    @property
    def complete(self) -> bool:
        """True if every planned simulation has a verdict."""
        return self.summary.complete

    @property
    def judged(self) -> bool:
        """True if an evaluator gave a verdict on any simulation."""
        return self.summary.overall.verdicts > sum(line.passed is False for line in self.errors)

    @property
    def resumable(self) -> int:
        """The number of simulations that running again would run, or evaluate again."""
        overall = self.summary.overall
        return overall.planned - overall.recorded + overall.failed

    @property
    def interrupted(self) -> bool:
        """True if a signal ended the run, such as Ctrl-C."""
        return (self.stopped or "").startswith(INTERRUPTED)

    def to_dict(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {
            "folder": str(self.folder),
            **({"cell": cell} if (cell := cell_of(self.config)) else {}),
            "stopped": self.stopped,
            "ran": self.ran,
            "seconds": round(self.seconds, 3),
            "prices": self.config.get("prices"),
            "notes": list(self.notes),
            **self.summary.to_dict(),
        }


def run_summary(
    lines: Sequence[Outcome],
    planned: Iterable[Simulation],
    conventions: Sequence[ConventionScore] = (),
    config: RunConfig | None = None,
    found: Summary | None = None,
) -> RunSummary:
    """Return the numbers of a run, as far as it has come.

    Everything that shows a number of a run takes it from here. Its ``config`` says if the tasks
    were chosen, and if they stop at their first failure. ``found`` saves summarising it again.
    """
    planned = list(planned)
    subset, stopped = (config.subset, config.stopped) if config else (None, None)
    k = config.stops_at_failure if config else 0
    if found is None:
        found = summarise_run(lines, planned, k)
    names = dict.fromkeys(one.domain for one in planned)
    order = {domain: place for place, domain in enumerate(names)}
    domains = sorted(found.domains, key=lambda each: order.get(each.group or "", len(order)))
    overall, method = found.overall, METHOD.format(found.interval_in_words)
    remarks = (
        subset and subset.note,
        UNANSWERED if config and config.is_unanswered else None,
        method,
        ONLY_FIRST.format(k) if k else None,
        overall.without_value,
        overall.shortfall,
        words_on_cache(lines),
        words_on_code(line.code for line in lines),
    )
    said = [*filter(None, remarks)]
    return RunSummary(
        [
            _score(group, [line for line in lines if line.domain == group.group])
            for group in domains
        ],
        _score(overall, lines, "all"),
        cost=total_cost(line.cost for line in lines),
        tokens=sum(line.tokens for line in lines),
        unpriced=sum(line.cost is None and line.tokens > 0 for line in lines),
        answers=sum(line.answers for line in lines),
        cached_answers=sum(line.cached_answers for line in lines),
        method=" ".join(said),
        is_usual=said == [method],
        conventions=conventions,
        subset=subset,
        answer=None if stopped is None else stopped.note,
    )


def _score(found: GroupSummary, lines: Sequence[Outcome], name: str | None = None) -> DomainScore:
    return DomainScore(
        name or found.group or "all",
        tasks=found.tasks,
        planned=found.planned,
        recorded=len(lines),
        failed=sum(line.status in NO_VERDICT_STATUSES for line in lines),
        passed=found.passed,
        verdicts=found.done,
        missing=found.missing,
        pass_hat={
            each.k: each
            for each in found.estimates
            if each.measure == "pass^k" and each.value is not None
        },
        scores=found.scores,
    )
