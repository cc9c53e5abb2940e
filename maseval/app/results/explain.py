"""``maseval explain``: the reasons for a verdict, as the benchmark of the run knows them."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from maseval.app.benchmarks import BenchmarkSupport, ExplainedVerdict, support_that_answers
from maseval.app.results.explained import Section, VerdictExplanation, cause_in, sections_of
from maseval.app.results.finding import (
    open_recording,
    trial_numbered,
    trials_named,
    warn_of_damage,
)
from maseval.core.exceptions import ConfigurationError
from maseval.core.finding import Finding
from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.scoring_options import ScoringOptions
from maseval.runs.recording import Recording


@dataclass(frozen=True)
class ExplainedSimulation:
    """A simulation, and the reasons for its verdict as its benchmark's findings tell them."""

    path: Path
    simulation: Simulation
    findings: Sequence[Finding]
    explanation: VerdictExplanation | None = None

    @property
    def cause(self) -> Finding | None:
        """The finding on who failed; None if it passed."""
        return cause_in(self.findings)

    def sections(self) -> list[Section]:
        return sections_of(self.findings, self.explanation)

    def to_dict(self) -> dict[str, object]:
        return {
            "path": str(self.path),
            **self.simulation._asdict(),
            "findings": [each.to_dict() for each in self.findings],
            "explanation": self.explanation and asdict(self.explanation),
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
) -> ExplainedVerdict:
    """Explain a simulation of a run or of a results file.

    Without ``trial`` it is the task's first trial that did not pass, or the first if all did.
    ``domain`` is used whatever the file calls its own. A file's simulation is judged by the
    benchmark's task, with ``embedded_tasks`` by the file's, and with ``remap_tasks`` by the one to
    which its recorded checks belong. ``data_version`` names the release by which it is judged.
    """
    options = ScoringOptions(False, embedded_tasks, remap_tasks, domain, data_version)
    recording = open_recording(run, options)
    warn_of_damage(recording)
    support = support_that_answers(recording, "findings", built_on=True)
    if support.answers("explain"):
        return support.explain(recording, task, trial, options)
    return _explain_by_findings(recording, support, task, trial)


def _explain_by_findings(
    recording: Recording, support: BenchmarkSupport, task: str, trial: int | None
) -> ExplainedSimulation:
    trials = trials_named(task, recording.planned, recording.recorded, recording.path)
    if trial is not None:
        trials = [trial_numbered(trial, trials)]
    reports = {one: recording.report(one) for one in trials}
    failed = (one for one in trials if RecordedReport(reports[one]).kind != "pass")
    chosen = next(failed, trials[0])
    found, why = support.findings(reports[chosen]), support.explanation(reports[chosen])
    if not found and why is None:
        raise ConfigurationError(
            f"nothing was found about {chosen}; "
            f"`maseval show {recording.path} {task}` shows what happened"
        )
    return ExplainedSimulation(recording.path, chosen, found, why)
