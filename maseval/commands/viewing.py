"""``maseval show``: a run, or one of its simulations, to be read."""

import os
from collections.abc import Sequence

from maseval.commands.finding import UnknownSimulationError, open_run, task_named
from maseval.commands.summary import line_of, lines_of, summarise
from maseval.commands.views import RunView, SimulationView
from maseval.report.checks import judged, state_changes
from maseval.report.conversation import conversation
from maseval.runs import RunFolder, Simulation


def show(
    run: str | os.PathLike[str], task: str | None = None, trial: int | None = None
) -> RunView | SimulationView:
    """A run, or with ``task`` one of its simulations; by default the task's first trial."""
    folder = open_run(run)
    if task is None:
        lines = lines_of(folder)
        return RunView(folder, summarise(lines, folder.planned), lines)
    domain, task_id = task_named(task, folder.planned)
    recorded = [one for one in folder.recorded if (one.domain, one.task_id) == (domain, task_id)]
    if not recorded:
        raise UnknownSimulationError(f"no trial of {domain}/{task_id} is finished in {folder.path}")
    recorded.sort(key=lambda one: one.trial)
    chosen = recorded[0] if trial is None else Simulation(domain, task_id, trial)
    if chosen not in recorded:
        numbers = ", ".join(str(one.trial) for one in recorded)
        raise UnknownSimulationError(
            f"{domain}/{task_id} has no finished trial {trial}; it has {numbers}"
        )
    return _simulation_view(folder, chosen, recorded)


def _simulation_view(
    folder: RunFolder, chosen: Simulation, recorded: Sequence[Simulation]
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
    )
