"""Who failed in the simulations of a run, and why; what passed needs no diagnosis."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.results import Omitted, Recorded
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.trust.explain import Explanation
from maseval.benchmark.tau2.trust.labels import (
    Label,
    Labelled,
    LabelSummary,
    explain_and_label,
    summarise_labels,
)
from maseval.commands.tau2.sources import record_of
from maseval.core.outcome import kind_of
from maseval.core.report import Report, TaskExecutionStatus
from maseval.runs import RunFolder, Simulation

OnProgress = Callable[[int, int], object]
"""Told how many simulations are looked at, and of how many."""


@dataclass(frozen=True)
class Diagnosis:
    """A failed simulation's label, and the explanation where there is a verdict to explain."""

    label: Label
    explanation: Explanation | None = None

    @property
    def name(self) -> str:
        """``agent: wrong arguments`` and the like."""
        return f"{self.label.who}: {self.label.what}"

    def text(self) -> str:
        """In words, the label first."""
        explained = [] if self.explanation is None else ["", self.explanation.text()]
        return "\n".join([self.label.text(), *explained])


def is_tau2(folder: RunFolder) -> bool:
    """Whether a run is one whose verdicts can be explained."""
    return bool(folder.config.values.get("benchmark") == "tau2")


def diagnosed(report: Report) -> Diagnosis | None:
    """The diagnosis of one simulation; None if it passed."""
    if kind_of(report) == "pass":
        return None
    found = record_of(report)
    if isinstance(found, Omitted):
        return Diagnosis(_broken(found))
    return explained(*found)


def explained(
    recorded: Recorded, domain: Domain, task: Mapping[str, Any] | None = None
) -> Diagnosis:
    """The diagnosis of a simulation that did not pass."""
    try:
        explanation, label = explain_and_label(
            recorded.simulation, domain=domain, task=task, solo=recorded.solo
        )
    except NoJudgeError as error:
        return Diagnosis(Label("unclear", "needs a judge", "no judge", (str(error),)))
    if label is None:
        seen = ("recorded as failed, but it passes when it is judged again",)
        label = Label("infrastructure", "verdict not reproduced", "judged again", seen)
    return Diagnosis(label, explanation)


def _broken(omitted: Omitted) -> Label:
    """The label of a simulation that came to no end."""
    evidence = (f"{omitted.status}: {omitted.reason}",)
    if omitted.status == TaskExecutionStatus.AGENT_ERROR.value:
        return Label("agent", "raised an error", "status of the run", evidence)
    return Label("infrastructure", "came to no end", "status of the run", evidence)


def diagnoses(
    folder: RunFolder, on_progress: OnProgress | None = None
) -> dict[Simulation, Diagnosis | None]:
    """The diagnosis of every recorded simulation, in the order of the plan."""
    found: dict[Simulation, Diagnosis | None] = {}
    total = len(folder.recorded)
    for number, report in enumerate(folder.reports(), 1):
        found[Simulation.of(report)] = diagnosed(report)
        if on_progress is not None:
            on_progress(number, total)
    return found


def label_summary(found: Mapping[Simulation, Diagnosis | None]) -> LabelSummary:
    """The labels of a run counted, and pass^k with outer failures apart."""
    return summarise_labels(
        Labelled(f"{one.domain}/{one.task_id}", None if each is None else each.label)
        for one, each in found.items()
    )
