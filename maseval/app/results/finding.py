"""Resolve the name of a run, a results file, a task or a trial."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from maseval.app.benchmarks import read_results, warn_once
from maseval.app.results.task_names import tasks_called, why_not_one
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport, Simulation, TaskKey
from maseval.core.scoring_options import ScoringOptions
from maseval.runs import RunFolder, default_root, list_runs
from maseval.runs.config_file import is_run_folder
from maseval.runs.recording import Recording

LAST = "last"
# A report names its repetition at its start.
_LONGEST_HEAD = 1 << 20


class UnknownRunError(ConfigurationError):
    """There is no run of that name."""


def run_path(run: str | os.PathLike[str]) -> Path:
    """Return the folder of a run: a path, a name below the folder of all runs, or ``last``."""
    path = Path(run)
    if is_run_folder(path):
        return path
    named = default_root() / path
    if is_run_folder(named):
        return named
    if path.is_file():
        raise UnknownRunError(
            f"{path} is a file; this needs the folder of a run, and `maseval runs` lists them"
        )
    known = [state.path for state in list_runs()]
    if str(run) == LAST and known:
        return known[0]
    listed = f"the latest is {known[0]}" if known else f"there is none below {default_root()}"
    raise UnknownRunError(f"no run at {path}; {listed}, and `maseval runs` lists all")


def open_run(run: str | os.PathLike[str], benchmark: str | None = None) -> RunFolder:
    """Open a run for reading; log what is wrong with its folder.

    With ``benchmark``, a run of another one raises ``ConfigurationError``.
    """
    folder = RunFolder.read(run_path(run))
    if benchmark is not None:
        check_benchmark(folder, benchmark)
    warn_of_damage(folder)
    return folder


def check_benchmark(folder: RunFolder, name: str) -> None:
    """Raise unless a run is of the benchmark of that name, or of one that is built on it."""
    recorded = folder.config.values.get("benchmark", name)
    if recorded == name:
        return
    if not any(name in RecordedReport(report).benchmark for report in folder.reports()):
        raise ConfigurationError(
            f"{folder.path} is a run of {recorded}, and this is a command for runs of {name}; "
            f"`maseval show {folder.path}` shows it, with a task's id also why that task failed"
        )


def warn_of_damage(recording: Recording) -> None:
    """Log what is damaged, missing or waiting in a run; for commands that do not show its notes."""
    if isinstance(recording, RunFolder):
        for note in recording.notes:
            warn_once(f"{recording.path}: {note}")


def open_run_or_file(name: str | os.PathLike[str]) -> RunFolder | Path:
    """Open a run, or return the path of a results file or of a folder that holds one."""
    path = run_or_file_path(name)
    return RunFolder.read(path) if is_run_folder(path) else path


def run_or_file_path(name: str | os.PathLike[str]) -> Path:
    """Return the folder of a run, or the path of a results file or of a folder with one."""
    path = Path(name)
    holds_results = (path / "results.json").is_file() and not is_run_folder(path)
    if path.is_file() or holds_results:
        return path
    try:
        return run_path(name)
    except UnknownRunError:
        raise UnknownRunError(
            f"{path} is neither a results file nor a run; `maseval runs` lists the runs"
        ) from None


def holds_reports(name: str | os.PathLike[str]) -> bool:
    """Return True for a file of a ``FileResultLogger``: empty, or with a report as first line."""
    path = Path(name)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        line = file.readline(_LONGEST_HEAD)
    return not line.strip() or (line.lstrip().startswith(b"{") and b'"repeat_idx"' in line)


def open_recording(
    name: str | os.PathLike[str],
    options: ScoringOptions | None = None,
    benchmark: str | None = None,
) -> Recording:
    """Open a run or a results file for reading; ``options`` are for files.

    With ``benchmark``, a run of another one raises ``ConfigurationError``.
    """
    found = open_run_or_file(name)
    if isinstance(found, RunFolder):
        if benchmark is not None:
            check_benchmark(found, benchmark)
        return found
    return read_results(found, lambda each: each.recording(found, options or ScoringOptions()))


def task_named(name: str, simulations: Iterable[Simulation]) -> TaskKey:
    """Return the one task that ``name`` means: an id, a number in the list, or a part of an id."""
    tasks = [one.task for one in simulations]
    found = tasks_called(name, tasks)
    if len(found) == 1:
        return found[0]
    words = why_not_one(name, found, tasks)
    raise ConfigurationError(words if found else f"the run has no task {name!r}; {words}")


def trials_named(
    name: str, planned: Iterable[Simulation], recorded: Iterable[Simulation], path: Path
) -> list[Simulation]:
    """Return all recorded trials of a task, in order."""
    task = task_named(name, planned)
    found = [one for one in recorded if one.task == task]
    if not found:
        raise ConfigurationError(f"no trial of {task} is finished in {path}")
    return sorted(found, key=lambda one: one.trial)


def trial_numbered(trial: int, trials: Sequence[Simulation]) -> Simulation:
    """One of the trials of a task."""
    for each in trials:
        if each.trial == trial:
            return each
    numbers = ", ".join(str(each.trial) for each in trials)
    task = trials[0].task
    raise ConfigurationError(f"{task} has no finished trial {trial}; it has {numbers}")
