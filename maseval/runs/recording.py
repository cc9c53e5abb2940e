"""What can be looked at like a run: a run folder, or a results file that reads like one."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from maseval.core.report import Report
from maseval.runs.config import RunConfig, Simulation
from maseval.runs.log import DamagedRecord


class Recording(Protocol):
    """The simulations that were planned, and the reports on those that were recorded."""

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
