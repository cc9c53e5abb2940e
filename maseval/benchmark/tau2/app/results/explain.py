"""``maseval tau2 explain``: why a simulation got its reward."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from maseval.app.benchmarks import Section
from maseval.app.results.finding import trial_numbered, trials_named
from maseval.app.results.recording import line_of
from maseval.benchmark.tau2.app.results.sources import (
    InDomain,
    SimulationSource,
    open_source,
    record_of,
)
from maseval.benchmark.tau2.app.results.support import sections_of
from maseval.benchmark.tau2.explain import Explanation
from maseval.benchmark.tau2.labels import Label, explain_and_label
from maseval.benchmark.tau2.rescoring.causes import Cause, causes
from maseval.benchmark.tau2.rescoring.record import RecordItem, SimulationRecord
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord
from maseval.benchmark.tau2.rescoring.verdict import RescoredSimulation
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import is_successful
from maseval.core.scoring_options import ScoringOptions
from maseval.runs import RunFolder, Simulation


class NothingToExplainError(ConfigurationError):
    """The simulation has no verdict that could be explained."""


@dataclass(frozen=True)
class Explained:
    """A simulation, the reasons for its verdict, and who failed, if somebody did.

    ``causes`` say why its record is not what was recomputed, and ``marks`` by which task it was
    judged if not by the benchmark's own.
    """

    path: Path
    simulation: Simulation
    explanation: Explanation
    label: Label | None
    causes: tuple[Cause, ...] = ()
    marks: tuple[str, ...] = ()

    def sections(self) -> list[Section]:
        """In words, what is wrong with the record first."""
        doubts = [Section("What is wrong with the record", [str(each) for each in self.causes])]
        marks = [Section(mark) for mark in self.marks]
        return [
            *(doubts if self.causes else ()),
            *marks,
            *sections_of(self.label, self.explanation),
        ]

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return {
            "path": str(self.path),
            **self.simulation._asdict(),
            "causes": [cause.to_dict() for cause in self.causes],
            "marks": list(self.marks),
            "label": None if self.label is None else self.label.to_dict(),
            "explanation": self.explanation.to_dict(),
        }


def explain(
    run: str | os.PathLike[str],
    task: str,
    trial: int | None = None,
    *,
    domain: str | None = None,
    embedded_tasks: bool = False,
    remap_tasks: bool = False,
    data_version: str | None = None,
) -> Explained:
    """Explain a simulation of a run, or of a results file of tau2-bench.

    Without ``trial`` it is the task's first trial that did not pass, or the first if all did.
    ``domain`` is used whatever the file calls its own. A file's simulation is judged by the
    benchmark's task, with ``embedded_tasks`` by the file's, and with ``remap_tasks`` by the one to
    which its recorded checks belong. ``data_version`` names the release by which it is judged.
    """
    source = open_source(run)
    options = ScoringOptions(False, embedded_tasks, remap_tasks, domain, data_version)
    if source.folder is None:
        return _of_file(source, task, trial, options)
    chosen, (recorded, own) = _in_run(source.folder, task, trial)
    with _a_judge_may_be_missing(chosen):
        explanation, label = explain_and_label(
            recorded.simulation, domain=own, solo=recorded.solo, version=recorded.version
        )
    return Explained(source.path, chosen, explanation, label)


@contextmanager
def _a_judge_may_be_missing(simulation: Simulation) -> Iterator[None]:
    try:
        yield
    except NoJudgeError as error:
        raise NothingToExplainError(
            f"{simulation}: every check passes but that of a judge model, which alone decides; "
            "`maseval tau2 score` with --judge-model asks one"
        ) from error


RunTrial = tuple[Simulation, InDomain]


def _in_run(folder: RunFolder, task: str, trial: int | None) -> RunTrial:
    trials = trials_named(task, folder.planned, folder.recorded, folder.path)
    if trial is not None:
        trials = [trial_numbered(trial, trials)]
    first: RunTrial | None = None
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
            first = each, found
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


def _passed(found: InDomain) -> bool:
    verdict = found[0].verdict
    return verdict is not None and is_successful(verdict["reward"])


def _of_file(
    source: SimulationSource,
    task: str,
    trial: int | None,
    options: ScoringOptions,
) -> Explained:
    def read() -> SimulationRecord:
        return source.simulations(options.domain, options.data_version)

    every = [_named(item) for item in read().items]
    trials = trials_named(task, every, every, source.path)
    if trial is not None:
        trials = [trial_numbered(trial, trials)]
    whole = read()
    judged = [_judged(item, whole, options) for item in whole.items if _named(item) in trials]
    chosen = next((each for each in judged if not each.judged.passed), judged[0])
    item, raw = chosen.item, chosen.task
    if item.problem is not None:
        raise NothingToExplainError(f"{_named(item)} cannot be explained: it is {item.problem}")
    with _a_judge_may_be_missing(_named(item)):
        explanation, label = explain_and_label(
            item.simulation, domain=item.domain, task=raw, solo=item.solo, version=item.version
        )
    marks = tuple(options.marks)
    return Explained(source.path, _named(item), explanation, label, chosen.causes, marks)


@dataclass(frozen=True)
class _FileTrial:
    """A trial of a file with its new verdict, the task it was judged by, and what is wrong."""

    item: RecordItem
    judged: RescoredSimulation
    task: Mapping[str, object] | None
    causes: tuple[Cause, ...]


def _judged(item: RecordItem, whole: SimulationRecord, options: ScoringOptions) -> _FileTrial:
    task_id = str(item.simulation.get("task_id"))
    embedded = {task_id: whole.tasks[task_id]} if task_id in whole.tasks else {}
    alone = SimulationRecord(
        iter(()), domain_name=whole.domain_name, tasks=embedded, policy=whole.policy
    )
    found = RescoredRecord(alone, options)
    again = found.judge(item)
    reasons = tuple(each for each in causes(found) if each.kind != "missing simulations")
    return _FileTrial(item, again.simulation, again.task, reasons)


def _named(item: RecordItem) -> Simulation:
    simulation = item.simulation
    return Simulation(item.domain.name, str(simulation["task_id"]), simulation.get("trial") or 0)
