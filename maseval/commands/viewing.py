"""``maseval show``: a run, or one of its simulations, to be read."""

import os
from collections.abc import Sequence

from maseval.commands.finding import open_run, trial_numbered, trials_named
from maseval.commands.summary import line_of, lines_of, run_summary
from maseval.commands.tau2.diagnosis import (
    OnProgress,
    diagnosed,
    diagnoses,
    is_tau2,
    label_summary,
)
from maseval.commands.views import RunView, SimulationView
from maseval.report.checks import judged, state_changes
from maseval.report.conversation import conversation
from maseval.runs import RunFolder, Simulation


def show(
    run: str | os.PathLike[str],
    task: str | None = None,
    trial: int | None = None,
    *,
    explain: bool = True,
    on_progress: OnProgress | None = None,
) -> RunView | SimulationView:
    """A run, or with ``task`` one of its simulations; by default the task's first trial.

    With ``explain`` what failed in a run of tau2 is labelled and explained.
    """
    folder = open_run(run)
    if task is None:
        lines = lines_of(folder)
        labels = None
        if explain and lines and is_tau2(folder):
            labels = label_summary(diagnoses(folder, on_progress))
        return RunView(folder, run_summary(lines, folder.planned), lines, labels)
    trials = trials_named(task, folder.planned, folder.recorded, folder.path)
    chosen = trials[0] if trial is None else trial_numbered(trial, trials)
    return _simulation_view(folder, chosen, trials, explain and is_tau2(folder))


def _simulation_view(
    folder: RunFolder, chosen: Simulation, recorded: Sequence[Simulation], explain: bool
) -> SimulationView:
    report = folder.report(chosen)
    messages = conversation(report)
    diagnosis = diagnosed(report) if explain else None
    return SimulationView(
        line=line_of(report),
        trials=[line_of(folder.report(one)) for one in recorded],
        task=report["task"],
        messages=messages,
        verdicts=judged(report, messages),
        changes=state_changes(report),
        error=report["error"],
        diagnosis=None if diagnosis is None else diagnosis.text(),
    )
