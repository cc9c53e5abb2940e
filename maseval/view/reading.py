"""What the viewer asks of whoever knows benchmarks: results files, numbers, and explanations."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from maseval.core.report import Report
from maseval.core.shapes import Shape
from maseval.report.facts import Fact
from maseval.report.index import TaskFindings
from maseval.runs import Simulation
from maseval.runs.config import RunConfig
from maseval.runs.log import DamagedRecord


class Recorded(Protocol):
    """A run folder, or a results file that reads like one."""

    @property
    def path(self) -> Path:
        """Where it is."""

    @property
    def config(self) -> RunConfig:
        """What all simulations share."""

    @property
    def damaged(self) -> Sequence[DamagedRecord]:
        """What cannot be read."""

    @property
    def planned(self) -> Collection[Simulation]:
        """Every simulation that should be there, in order."""

    @property
    def recorded(self) -> Collection[Simulation]:
        """Every simulation with a report."""

    def reports(self) -> Iterator[Report]:
        """The reports in the order of the plan."""

    def report(self, simulation: Simulation) -> Report:
        """The report on one simulation."""


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

    def open_results(self, path: Path) -> Recorded:
        """A results file as a run, its verdicts recomputed."""

    def overview(self, run: Recorded) -> Overview:
        """The numbers of a run, and what is known of its tasks."""

    def completed(self, run: Recorded, report: Report) -> Shape:
        """A report with all that is shown of it: the task's title, and why it failed."""


class PlainReader:
    """Adds nothing to what a run says of itself, and knows no results files."""

    def is_results(self, path: Path) -> bool:
        return False

    def open_results(self, path: Path) -> Recorded:
        raise NotImplementedError

    def overview(self, run: Recorded) -> Overview:
        return Overview()

    def completed(self, run: Recorded, report: Report) -> Shape:
        return report
