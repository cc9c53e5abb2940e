"""RecordedSimulation simulations, from a run folder or from a results file of tau2-bench."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.results import (
    Omitted,
    RecordedSimulation,
    ResultsFile,
    SimulationForm,
    read_results,
    simulation_of,
)
from maseval.commands.finding import open_run_or_file
from maseval.core.report import Report
from maseval.core.shapes import mapping
from maseval.runs import RunFolder

InDomain = tuple[RecordedSimulation, Domain | None]
"""A simulation and the domain it took place in, if that is known."""


@dataclass(frozen=True)
class SimulationSource:
    """Simulations, from wherever they come; ``skipped`` counts what ``records`` left out."""

    path: Path
    folder: RunFolder | None = None
    results: ResultsFile | None = None
    skipped: dict[str, int] = field(default_factory=dict)

    @property
    def tasks(self) -> Mapping[str, Mapping[str, object]]:
        """The tasks that a file brings along."""
        return {} if self.results is None else self.results.tasks

    def records(self) -> Iterator[InDomain]:
        """Each simulation that can be judged, one in memory at a time."""
        if self.folder is not None:
            yield from self._of_run(self.folder)
        if self.results is not None:
            yield from self._of_file(self.results)

    def _of_run(self, folder: RunFolder) -> Iterator[InDomain]:
        for index, report in enumerate(folder.reports()):
            found = record_of(report, index)
            if isinstance(found, Omitted):
                add_one(self.skipped, f"{found.status}: v0.2.0 has no termination reason for it")
            else:
                yield found

    def _of_file(self, results: ResultsFile) -> Iterator[InDomain]:
        def note(error: Exception) -> None:
            add_one(self.skipped, "not in v0.2.0's form")

        for record in results.records(note):
            yield record, None if record.domain is None else domain_named(record.domain)


def open_source(file: str | os.PathLike[str]) -> SimulationSource:
    """A results file by its path, or a run by its folder, its name, or as ``last``."""
    found = open_run_or_file(file)
    if isinstance(found, Path):
        return SimulationSource(found, results=read_results(found))
    return SimulationSource(found.path, folder=found)


def record_of(report: Report, index: int = 0) -> tuple[RecordedSimulation, Domain] | Omitted:
    """A report of ours in v0.2.0's form, and its domain by the rules that the run had."""
    simulation = simulation_of(report)
    if isinstance(simulation, Omitted):
        return simulation
    environment = mapping(report, "config", "environment")
    rules = mapping(report, "config", "benchmark", "tau2")
    domain = _domain(str(environment["domain"]), bool(rules.get("lenient_order_ids")))
    solo, verdict = bool(environment.get("solo")), simulation["reward_info"]
    return RecordedSimulation(
        index, cast("SimulationForm", simulation), domain.name, solo, verdict
    ), domain


def _domain(name: str, lenient: bool) -> Domain:
    domain = domain_named(name)
    return domain.lenient if lenient else domain


def add_one(counts: dict[str, int], reason: str) -> None:
    """Count one more."""
    counts[reason] = counts.get(reason, 0) + 1
