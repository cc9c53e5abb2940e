"""A run folder in numbers."""

import builtins
from collections import Counter
from collections.abc import Iterable, Sequence

from maseval.commands.results import DomainScore, RunSummary, SimulationLine
from maseval.core.outcome import Outcome, cost_of, kind_of, reward_of, termination_of, tokens_of
from maseval.core.report import Report
from maseval.core.shapes import mapping, text_or_none
from maseval.runs import RunFolder, Simulation
from maseval.runs.log import RERUN_STATUSES
from maseval.stats import GroupSummary, summarise
from maseval.stats.intervals import LEVEL, OVER_TASKS

METHOD = (
    "pass^k: probability that k trials of a task all pass, mean over tasks; a simulation without a "
    f"verdict counts as not passed. {LEVEL:.0%} CI, {OVER_TASKS} (docs/statistics.md)."
)


def lines_of(folder: RunFolder) -> list[SimulationLine]:
    """Every recorded simulation, in the order of the plan."""
    return [line_of(report) for report in folder.reports()]


def line_of(report: Report) -> SimulationLine:
    """A report without its conversation."""
    simulation = Simulation.of(report)
    return SimulationLine(
        *simulation,
        status=report["status"],
        outcome=kind_of(report),
        reward=reward_of(report),
        ended=termination_of(report),
        seconds=report["duration_seconds"],
        cost=cost_of(report) or 0.0,
        tokens=tokens_of(report),
        error=_error(report),
    )


def _error(report: Report) -> str | None:
    """The error message; with its type if that is a built-in one, whose messages say little."""
    if not report["error"]:
        return None
    error = mapping(report, "error")
    kind, words = (text_or_none(error.get(key)) for key in ("error_type", "error_message"))
    return f"{kind}: {words}" if kind and hasattr(builtins, kind) else words


def run_summary(lines: Sequence[SimulationLine], planned: Iterable[Simulation]) -> RunSummary:
    """The numbers of a run, as far as it has come."""
    outcomes = [
        Outcome(line.domain, line.task_id, line.trial, line.outcome == "pass") for line in lines
    ]
    planned = list(planned)
    found = summarise(outcomes, planned=planned)
    order = list(dict.fromkeys(one.domain for one in planned))
    domains = sorted(found.domains, key=lambda each: order.index(each.group or ""))
    failed = Counter(line.domain for line in lines if line.status in RERUN_STATUSES)
    return RunSummary(
        [_score(group, failed[group.group or ""]) for group in domains],
        _score(found.overall, failed.total(), "all"),
        cost=sum(line.cost for line in lines),
        tokens=sum(line.tokens for line in lines),
        method=" ".join(filter(None, (METHOD, _missing(found.overall)))),
    )


def _score(found: GroupSummary, failed: int, name: str | None = None) -> DomainScore:
    return DomainScore(
        name or found.group or "all",
        tasks=found.tasks - found.untried,
        planned=found.planned,
        recorded=found.done,
        failed=failed,
        passed=found.passed,
        pass_hat={
            each.k: each
            for each in found.estimates
            if each.measure == "pass^k" and each.value is not None
        },
    )


def _missing(overall: GroupSummary) -> str:
    """The range in which the missing simulations leave the number."""
    bounds = overall.estimate("pass^k", 1).bounds
    if bounds is None:
        return ""
    low, high = bounds
    return (
        f"{overall.planned - overall.done} of {overall.planned} planned simulations are missing "
        f"and left out: overall pass^1 is {low:.1%} if all of them fail, {high:.1%} if all pass."
    )
