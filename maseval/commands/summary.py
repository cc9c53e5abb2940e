"""A run folder in numbers."""

import builtins
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, cast

from maseval.benchmark.tau2.metrics import pass_hat_k
from maseval.commands.results import Estimate, Line, Score, Summary
from maseval.core.report import Report
from maseval.report.facts import usage_rows
from maseval.report.results import outcome, reward
from maseval.report.shapes import mapping, number, text_or_none
from maseval.runs import RunFolder, Simulation
from maseval.runs.log import RETRIED
from maseval.stats.intervals import LEVEL, OVER_TASKS, mean_interval

METHOD = (
    "pass^k: the mean over tasks of the chance that k trials drawn without replacement all pass; "
    "a simulation that ended without a verdict counts as not passed. "
    f"Intervals: {LEVEL:.0%}, {OVER_TASKS}."
)

Trials = tuple[int, int]
"""How often a task was tried, and how often with success."""


def lines_of(folder: RunFolder) -> list[Line]:
    """Every recorded simulation, in the order of the plan."""
    return [line_of(report) for report in folder.reports()]


def line_of(report: Report) -> Line:
    """A report without its conversation."""
    simulation = Simulation.of(report)
    cost, tokens = used_by(report)
    return Line(
        *simulation,
        status=report["status"],
        outcome=outcome(report),
        reward=reward(report),
        ended=_ended(report),
        seconds=report["duration_seconds"],
        cost=cost,
        tokens=tokens,
        error=_error(report),
    )


def _error(report: Report) -> str | None:
    """What went wrong; with its type if that is Python's own, whose texts say little alone."""
    error = mapping(report, "error")
    kind, words = (text_or_none(error.get(key)) for key in ("error_type", "error_message"))
    return f"{kind}: {words}" if kind and hasattr(builtins, kind) else words


def used_by(report: Report) -> tuple[float, int]:
    """Money and tokens of a simulation, those of earlier attempts included."""
    rows = usage_rows(cast("Mapping[str, Any]", report))
    cost = sum(number(row["cost"]) or 0.0 for row in rows)
    tokens = sum((number(row["input"]) or 0) + (number(row["output"]) or 0) for row in rows)
    return cost, int(tokens)


def _ended(report: Report) -> str | None:
    simulation = mapping(report, "traces", "environment", "simulation")
    return text_or_none(simulation.get("termination_reason"))


def summarise(lines: Sequence[Line], planned: Iterable[Simulation]) -> Summary:
    """The numbers of a run, as far as it has come."""
    planned = list(planned)
    counts: dict[str, int] = {}
    for simulation in planned:
        counts[simulation.domain] = counts.get(simulation.domain, 0) + 1
    domains = [
        _score(name or "all", [line for line in lines if line.domain == name], count)
        for name, count in counts.items()
    ]
    return Summary(
        domains,
        _score("all", lines, sum(counts.values())),
        cost=sum(line.cost for line in lines),
        tokens=sum(line.tokens for line in lines),
        method=" ".join(filter(None, (METHOD, _missing(lines, planned)))),
    )


def _missing(lines: Sequence[Line], planned: Sequence[Simulation]) -> str:
    """What the simulations that are not there yet could make of the number."""
    absent = len(planned) - len(lines)
    if absent <= 0:
        return ""
    done = {
        Simulation(line.domain, line.task_id, line.trial): line.outcome == "pass" for line in lines
    }
    tasks: dict[tuple[str, str], list[bool | None]] = {}
    for simulation in planned:
        outcomes = tasks.setdefault((simulation.domain, simulation.task_id), [])
        outcomes.append(done.get(simulation))
    low = fmean(fmean(passed is True for passed in each) for each in tasks.values())
    high = fmean(fmean(passed is not False for passed in each) for each in tasks.values())
    return (
        f"{absent} of {len(planned)} planned simulations are missing and left out: pass^1 of all "
        f"is {low:.1%} if every one of them fails, and {high:.1%} if every one passes."
    )


def _score(name: str, lines: Sequence[Line], planned: int) -> Score:
    trials: dict[tuple[str, str], Trials] = {}
    for line in lines:
        total, passed = trials.get((line.domain, line.task_id), (0, 0))
        trials[line.domain, line.task_id] = total + 1, passed + (line.outcome == "pass")
    return Score(
        name,
        tasks=len(trials),
        planned=planned,
        recorded=len(lines),
        failed=sum(line.status in RETRIED for line in lines),
        passed=sum(line.outcome == "pass" for line in lines),
        pass_hat=estimates(list(trials.values())),
    )


def estimates(trials: Sequence[Trials]) -> dict[int, Estimate]:
    """pass^k with its interval, for every k that all tasks allow."""
    fewest = min((total for total, _ in trials), default=0)
    return {k: _estimate([pass_hat_k(*each, k) for each in trials]) for k in range(1, fewest + 1)}


def _estimate(chances: Sequence[float]) -> Estimate:
    interval = mean_interval(chances)
    if interval is None:  # one task says nothing of others
        return Estimate(fmean(chances), 0.0, 1.0)
    return Estimate(fmean(chances), interval.low, interval.high)
