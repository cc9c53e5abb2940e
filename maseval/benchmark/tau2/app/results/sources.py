"""Recorded simulations, from a run folder or from a results file of tau2-bench."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from maseval.app.results.finding import open_run_or_file
from maseval.benchmark.tau2.app.running.participants import ModelSpec
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.rescoring.judges import JudgePanel
from maseval.benchmark.tau2.rescoring.record import PlannedTrial, SimulationRecord, open_record
from maseval.benchmark.tau2.results import (
    Omitted,
    RecordedSimulation,
    ResultsFormatError,
    SimulationForm,
    layout_of,
    read_results,
    simulation_of,
)
from maseval.benchmark.tau2.results.layout import RESULTS_NAME, SIMULATIONS_NAME
from maseval.benchmark.tau2.results.reports import release_of_report
from maseval.benchmark.tau2.scoring.judge import MEMORY_NAME, JudgeMemory, RememberingJudge
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.report import Report
from maseval.core.shapes import mapping
from maseval.runs import RunFolder

InDomain = tuple[RecordedSimulation, Domain]
"""A simulation and the domain it took place in."""


@dataclass(frozen=True)
class SimulationSource:
    """Where simulations are: a results file, or a run."""

    path: Path
    folder: RunFolder | None = None

    def simulations(
        self, domain: str | None = None, data_version: str | None = None
    ) -> SimulationRecord:
        """All of them, one in memory at a time, and what the file or run says of them.

        ``domain`` is used whatever the file calls its own, and ``data_version`` names the release
        by which they are judged.
        """
        if self.folder is None:
            return open_record(read_results(self.path), domain, version=data_version)
        found = open_record(self.folder.reports(), domain, version=data_version)
        found.planned = [PlannedTrial(*one) for one in self.folder.planned]
        return found


def open_source(file: str | os.PathLike[str]) -> SimulationSource:
    """A results file by its path, or a run by its folder, its name, or as ``last``."""
    found = open_run_or_file(file)
    if isinstance(found, Path):
        return SimulationSource(found)
    return SimulationSource(found.path, found)


def files_below(name: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """The results files below a folder that is not a run; anything else is itself."""
    folder = Path(name)
    if not folder.is_dir() or any((folder / own).exists() for own in ("config.json", RESULTS_NAME)):
        return [name]
    found = [path for path in sorted(folder.rglob("*.json*")) if _holds_simulations(path)]
    return list(found) or [name]


def _holds_simulations(path: Path) -> bool:
    if (path.parent.parent / RESULTS_NAME).exists() and path.parent.name == SIMULATIONS_NAME:
        return False  # a part of the results beside its folder
    try:
        return path.is_file() and layout_of(path) is not None
    except ResultsFormatError:
        return True  # damaged: reported when it is read


def record_of(report: Report) -> InDomain | Omitted:
    """A report of ours in its release's form, and its domain by the rules that the run had."""
    simulation = simulation_of(report)
    if isinstance(simulation, Omitted):
        return simulation
    environment = mapping(report, "config", "environment")
    rules = mapping(report, "config", "benchmark", "tau2")
    release = release_of_report(report)
    domain = release.domain(str(environment["domain"]))
    if rules.get("lenient_order_ids"):
        domain = domain.lenient
    solo, verdict = bool(environment.get("solo")), simulation["reward_info"]
    form = cast("SimulationForm", simulation)
    recorded = RecordedSimulation(0, form, domain.name, solo, verdict, version=release.name)
    return recorded, domain


def judge_models(model_ids: Sequence[str], base_url: str | None = None) -> list[ModelAdapter]:
    """The models of these ids; one that is named twice would agree with itself."""
    if len(set(model_ids)) < len(model_ids):
        raise ConfigurationError(
            f"judge_model is {', '.join(model_ids)}; name each judge once, as one always agrees "
            "with itself"
        )
    specs = [ModelSpec.of(each, None, base_url) for each in model_ids]
    return [resolve_model(each.model_id, **each.options) for each in specs]


def panel_for(source: SimulationSource, models: Sequence[ModelAdapter]) -> JudgePanel | None:
    """The judges of a run or file, whose replies are kept with it.

    Without any, a run's own judge, as far as it is remembered.
    """
    if not models:
        return own_panel(source.folder)
    memory = JudgeMemory(memory_path(source.path))
    return JudgePanel([RememberingJudge(model, memory) for model in models])


def own_panel(folder: RunFolder | None) -> JudgePanel | None:
    """The judge that a run had, as far as its replies are kept: nothing is asked again."""
    if folder is None:
        return None
    memory = JudgeMemory(memory_path(folder.path))
    named = str(mapping(folder.config.values, "judge").get("model"))
    known = [each for each in memory.models if f"/{named}".endswith(f"/{each}")]
    return JudgePanel([RememberingJudge(known[0], memory)]) if known else None


def memory_path(source: str | os.PathLike[str]) -> Path:
    """Where replies are kept: in the folder of a run, or beside a results file."""
    path = Path(source)
    return path / MEMORY_NAME if path.is_dir() else path.with_name(f"{path.stem}-{MEMORY_NAME}")
