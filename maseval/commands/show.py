"""``maseval show``: a run, or one of its simulations, to be read."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from maseval.commands.benchmarks import Diagnosis, OnProgress, support_for
from maseval.commands.finding import open_run, trial_numbered, trials_named
from maseval.commands.labels import LabelCounts
from maseval.commands.results import RunSummary, SimulationLine, line_of, lines_of, run_summary
from maseval.core.shapes import Shape
from maseval.report.checks import judged, state_changes
from maseval.report.conversation import conversation
from maseval.runs import RunFolder, Simulation


@dataclass(frozen=True)
class RunView:
    """A run: what it was asked to do, its numbers, and every simulation in a line.

    ``labels`` counts who failed, if that was asked for and the benchmark can say.
    """

    folder: RunFolder
    summary: RunSummary
    lines: Sequence[SimulationLine]
    labels: LabelCounts | None = None


@dataclass(frozen=True)
class SimulationView:
    """One simulation: what was said and done, what it changed, and why the verdict is what it is.

    ``messages``, ``verdicts`` and ``changes`` have the form that the HTML report shows. ``trials``
    are all recorded trials of the same task. ``diagnosis`` says who failed, and why.
    """

    line: SimulationLine
    trials: Sequence[SimulationLine]
    task: Shape
    messages: Sequence[Shape]
    verdicts: Sequence[Shape]
    changes: Sequence[Shape]
    error: Shape | None
    diagnosis: Diagnosis | None = None


def show(
    run: str | os.PathLike[str],
    task: str | None = None,
    trial: int | None = None,
    *,
    explain: bool = True,
    on_progress: OnProgress | None = None,
) -> RunView | SimulationView:
    """A run, or with ``task`` one of its simulations; by default the task's first trial.

    With ``explain`` failures are labelled and explained, if the benchmark can do that.
    """
    folder = open_run(run)
    if task is None:
        return _run_view(folder, explain, on_progress)
    trials = trials_named(task, folder.planned, folder.recorded, folder.path)
    chosen = trials[0] if trial is None else trial_numbered(trial, trials)
    return _simulation_view(folder, chosen, trials, explain)


def _run_view(folder: RunFolder, explain: bool, on_progress: OnProgress | None) -> RunView:
    lines = lines_of(folder)
    found = None
    if explain and lines:
        found = support_for(folder).run_diagnosis(folder, on_progress)
    return RunView(
        folder, run_summary(lines, folder.planned), lines, None if found is None else found.labels
    )


def _simulation_view(
    folder: RunFolder, chosen: Simulation, recorded: Sequence[Simulation], explain: bool
) -> SimulationView:
    report = folder.report(chosen)
    messages = conversation(report)
    return SimulationView(
        line=line_of(report),
        trials=[line_of(folder.report(one)) for one in recorded],
        task=report["task"],
        messages=messages,
        verdicts=judged(report, messages),
        changes=state_changes(report),
        error=report["error"],
        diagnosis=support_for(folder).diagnosis(report) if explain else None,
    )
