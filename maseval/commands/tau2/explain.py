"""``maseval tau2 explain``: why a simulation got its reward."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.results import Omitted, RecordedSimulation
from maseval.benchmark.tau2.trust.explain import Explanation
from maseval.benchmark.tau2.trust.labels import Label, explain_and_label
from maseval.commands.benchmarks import Section
from maseval.commands.finding import trial_numbered, trials_named
from maseval.commands.results import line_of
from maseval.commands.tau2.sources import InDomain, SimulationSource, open_source, record_of
from maseval.commands.tau2.support import sections_of
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import is_successful
from maseval.runs import RunFolder, Simulation


class NothingToExplainError(ConfigurationError):
    """The simulation has no verdict that could be explained."""


@dataclass(frozen=True)
class Explained:
    """A simulation, the reasons for its verdict, and who failed, if somebody did."""

    path: Path
    simulation: Simulation
    explanation: Explanation
    label: Label | None

    def sections(self) -> list[Section]:
        """In words."""
        return sections_of(self.label, self.explanation)

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return {
            "path": str(self.path),
            **self.simulation._asdict(),
            "label": None if self.label is None else self.label.to_dict(),
            "explanation": self.explanation.to_dict(),
        }


def explain(run: str | os.PathLike[str], task: str, trial: int | None = None) -> Explained:
    """Explain a simulation of a run, or of a results file of tau2-bench.

    Without ``trial`` it is the task's first trial that did not pass, or the first if all did.
    """
    source = open_source(run)
    if source.folder is not None:
        found = _in_run(source.folder, task, trial)
    else:
        found = _in_file(source, task, trial)
    chosen, (recorded, domain), brought = found
    if domain is None:
        raise NothingToExplainError(
            f"{source.path} does not name the domain of {chosen}, so it cannot be replayed"
        )
    explanation, label = explain_and_label(
        recorded.simulation, domain=domain, task=brought, solo=recorded.solo
    )
    return Explained(source.path, chosen, explanation, label)


Found = tuple[Simulation, InDomain, Mapping[str, object] | None]


def _in_run(folder: RunFolder, task: str, trial: int | None) -> Found:
    trials = trials_named(task, folder.planned, folder.recorded, folder.path)
    if trial is not None:
        trials = [trial_numbered(trial, trials)]
    first: Found | None = None
    for each in trials:
        found = record_of(folder.report(each))
        if isinstance(found, Omitted):
            if trial is not None:
                raise NothingToExplainError(
                    f"{each} {_ended(folder, each)}, so there is no verdict to explain; "
                    f"`maseval show {folder.path} {task} {trial}` shows what happened"
                )
            continue
        if first is None or (_passed(first[1]) and not _passed(found)):
            first = each, found, None
    if first is None:
        raise NothingToExplainError(
            f"no trial of {trials[0].domain}/{trials[0].task_id} finished (trial "
            f"{trials[0].trial} {_ended(folder, trials[0])}), so there is no verdict to explain; "
            f"`maseval show {folder.path} {task}` shows what happened"
        )
    return first


def _ended(folder: RunFolder, simulation: Simulation) -> str:
    line = line_of(folder.report(simulation))
    return f"ended with {line.status}: {line.error}" if line.error else f"ended with {line.status}"


def _in_file(source: SimulationSource, task: str, trial: int | None) -> Found:
    names = [
        (_named(recorded, domain), _passed((recorded, domain)))
        for recorded, domain in source.records()
    ]
    every = [name for name, _ in names]
    trials = trials_named(task, every, every, source.path)
    failed = [name for name in trials if (name, False) in names]
    chosen = trial_numbered(trial, trials) if trial is not None else (failed or trials)[0]
    found = next(each for each in source.records() if _named(*each) == chosen)
    return chosen, found, source.tasks.get(chosen.task_id)


def _named(recorded: RecordedSimulation, domain: Domain | None) -> Simulation:
    simulation = recorded.simulation
    name = "" if domain is None else domain.name
    return Simulation(name, simulation["task_id"], simulation.get("trial") or 0)


def _passed(found: InDomain) -> bool:
    verdict = found[0].verdict
    return verdict is not None and is_successful(verdict["reward"])
