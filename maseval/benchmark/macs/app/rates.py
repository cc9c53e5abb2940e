"""``maseval macs rates``: the original's rates of a run, and what they do not show."""

import os
from dataclasses import dataclass
from pathlib import Path

from maseval.app.results.finding import open_run
from maseval.benchmark.macs.metrics import GoalRates, JudgeProblem, goal_rates, judge_problems
from maseval.core.exceptions import NotRunError
from maseval.stats.result import Result


@dataclass(frozen=True)
class RunRates(Result):
    """The rates of each domain, of all together, and doubts about the judge's answers."""

    path: Path
    domains: list[GoalRates]
    problems: list[JudgeProblem]


def rates(run: str | os.PathLike[str]) -> RunRates:
    """Overall and partial goal success rate of a run, and those of its two sides."""
    folder = open_run(run)
    reports = list(folder.reports())
    if not reports:
        raise NotRunError(f"{folder.path} has no finished simulation yet")
    return RunRates(folder.path, goal_rates(reports), judge_problems(reports))
