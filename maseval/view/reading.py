"""What the viewer asks of whoever knows benchmarks: results files, numbers, and explanations."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from maseval.core.report import Report
from maseval.core.shapes import Shape
from maseval.report.index import Entry, Fact, TaskFindings
from maseval.runs.folder import Recording
from maseval.runs.log import Score
from maseval.stats.estimation import estimate
from maseval.stats.trials import count_trials


class Overview(NamedTuple):
    """What stands above the simulations of a run: see ``write_report`` for each part."""

    summary: Shape | None = None
    plots: Sequence[str] = ()
    findings: TaskFindings | None = None
    facts: Sequence[Fact] = ()


class RunReader(Protocol):
    """Knows benchmarks; the viewer itself does not."""

    def is_results(self, path: Path) -> bool:
        """Whether it is a results file that ``open_results`` can read; looks at its start only."""

    def open_results(self, path: Path) -> Recording:
        """A results file as a run, its verdicts recomputed."""

    def overview(self, run: Recording, known: Sequence[Entry]) -> Overview:
        """What stands above the simulations of a run."""

    def scores(self, run: Recording, known: Sequence[Entry]) -> Mapping[int, Score]:
        """pass^k with its interval, for each k that there are trials for."""

    def title(self, run: Recording, report: Shape) -> str | None:
        """What the task of a simulation is about."""

    def completed(self, run: Recording, report: Report) -> Shape:
        """A report with all that is shown of it: the task's title, and why it failed."""


class PlainReader:
    """Adds nothing to what a run says of itself, and knows no results files."""

    def is_results(self, path: Path) -> bool:
        return False

    def open_results(self, path: Path) -> Recording:
        raise NotImplementedError

    def overview(self, run: Recording, known: Sequence[Entry]) -> Overview:
        return Overview()

    def scores(self, run: Recording, known: Sequence[Entry]) -> Mapping[int, Score]:
        tasks = count_trials((entry.key, entry.outcome == "pass") for entry in known)
        if not any(entry.outcome in ("pass", "fail") for entry in known):
            return {}
        found = estimate([*tasks.values()])
        assert found.value is not None
        return {1: {"value": found.value, "low": found.low, "high": found.high}}

    def title(self, run: Recording, report: Shape) -> str | None:
        return None

    def completed(self, run: Recording, report: Report) -> Shape:
        return report
