"""Resolve the name of a run, a results file, a task or a trial.

A task with a long id has short names: a part of the id, or the number in the list.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from maseval.app.benchmarks import OnProgress, read_results, warn_once
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport, Simulation, TaskKey
from maseval.core.scoring_options import ScoringOptions
from maseval.core.words import first_few
from maseval.exchange.atif import trajectory_files
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
    # Only now: a run that is itself called `last` comes first.
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
            f"{folder.path} is a run of {recorded}, but this command needs a run of {name}; "
            f"`maseval show {folder.path}` shows the run, and with a task id why that task failed"
        )


def warn_of_damage(recording: Recording) -> None:
    """Log what is damaged, missing or waiting in a run; for commands that do not show its notes."""
    if isinstance(recording, RunFolder):
        for note in recording.notes:
            warn_once(f"{recording.path}: {note}")


Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def each_of(files: Files) -> list[str | os.PathLike[str]]:
    """Return runs and files as a list; one may be named alone."""
    return [files] if isinstance(files, str | os.PathLike) else [*files]


def open_run_or_file(name: str | os.PathLike[str]) -> RunFolder | Path:
    """Open a run, or return the path of a results file or of a folder that holds one."""
    path = run_or_file_path(name)
    return RunFolder.read(path) if is_run_folder(path) else path


def is_results_folder(path: Path) -> bool:
    """Return True if results are kept in a folder: a file for each simulation or trajectory."""
    return (path / "results.json").is_file() or bool(trajectory_files(path))


def run_or_file_path(name: str | os.PathLike[str]) -> Path:
    """Return the folder of a run, or the path of a results file or of a folder with one."""
    path = Path(name)
    # A run folder may hold exported results as well, and is a run all the same.
    if path.is_file() or (not is_run_folder(path) and is_results_folder(path)):
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
    on_progress: OnProgress | None = None,
) -> Recording:
    """Open a run or a results file for reading; ``options`` and ``on_progress`` are for files."""
    found, scoring = open_run_or_file(name), options or ScoringOptions()
    if isinstance(found, RunFolder):
        return found
    return read_results(found, scoring, on_progress)


def trials_named(
    name: str, planned: Iterable[Simulation], recorded: Iterable[Simulation], path: Path
) -> list[Simulation]:
    """Return all recorded trials, in order, of the one task that ``name`` means."""
    tasks = [one.task for one in planned]
    meant = tasks_called(name, tasks)
    if len(meant) != 1:
        words = why_not_one(name, meant, tasks)
        raise ConfigurationError(words if meant else f"the run has no task {name!r}; {words}")
    found = [one for one in recorded if one.task == meant[0]]
    if not found:
        raise ConfigurationError(f"no trial of {meant[0]} is finished in {path}")
    return sorted(found, key=lambda one: one.trial)


def trial_numbered(trial: int, trials: Sequence[Simulation]) -> Simulation:
    for each in trials:
        if each.trial == trial:
            return each
    numbers = ", ".join(str(each.trial) for each in trials)
    task = trials[0].task
    raise ConfigurationError(f"{task} has no finished trial {trial}; it has {numbers}")


_SHOWN = 4
# Six digits at most: whoever types more means an id, and no list of a million.
_NUMBERS = re.compile(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*", re.ASCII)


def tasks_called(name: str, tasks: Iterable[TaskKey]) -> list[TaskKey]:
    """Return the tasks that ``name`` may mean, by the first rule that fits any.

    It is an id, the number of a task in its domain's list (from 0), or the beginning or any part
    of an id; each with or without ``domain/`` before it.
    """
    every = list(dict.fromkeys(tasks))
    domain, slash, rest = name.partition("/")
    # An id may hold a slash as well, so what stands before one must be a domain.
    if slash and any(task.domain == domain for task in every):
        every, name = [task for task in every if task.domain == domain], rest
    if found := [task for task in every if task.task_id == name]:
        return found
    # An id that is a number was found above, so this one is a place in the list.
    if name.isdecimal():
        return [task for task, number in task_numbers(every).items() if number == int(name)]
    wanted, ids = name.casefold(), {task: task.task_id.casefold() for task in every}
    if not wanted:
        return []
    first = [task for task in every if ids[task].startswith(wanted)]
    return first or [task for task in every if wanted in ids[task]]


def list_names(names: Iterable[str], tasks: Iterable[TaskKey]) -> list[str]:
    """Write out numbers such as ``1-5,9``, also after ``domain/``; ids stay as they are."""
    ids = {task.task_id for task in tasks}
    listed: list[str] = []
    for name in names:
        domain, slash, rest = name.rpartition("/")
        # An id may look like a range, too.
        if rest in ids or not _NUMBERS.fullmatch(rest):
            listed.append(name)
        else:
            listed += [f"{domain}{slash}{number}" for number in _numbers_in(rest)]
    return listed


def _numbers_in(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        if last and int(last) < int(first):
            raise ConfigurationError(f"task {part!r}: write the smaller number first")
        yield from range(int(first), int(last or first) + 1)


def task_numbers(tasks: Iterable[TaskKey]) -> dict[TaskKey, int]:
    """Return the number of each task in its domain's list, from 0."""
    numbers: dict[TaskKey, int] = {}
    next_numbers = Counter[str]()
    for task in dict.fromkeys(tasks):
        numbers[task] = next_numbers[task.domain]
        next_numbers[task.domain] += 1
    return numbers


def select_tasks(names: Iterable[str], tasks: Iterable[TaskKey]) -> set[TaskKey]:
    """Return the tasks with these names; an id that several domains have means each of them."""
    every, chosen = list(tasks), set[TaskKey]()
    for name in list_names(names, every):
        found = tasks_called(name, every)
        if not found or len({task.domain for task in found}) < len(found):
            raise ConfigurationError(
                f"no task {name!r} among those of the run; {why_not_one(name, found, every)}"
            )
        chosen.update(found)
    return chosen


def why_not_one(name: str, found: Sequence[TaskKey], tasks: Iterable[TaskKey]) -> str:
    """Say what to write instead of a name that means several tasks, or none."""
    if found and len({task.task_id for task in found}) == 1:
        choices = " or ".join(map(str, found))
        return f"{name!r} is a task of several domains; write {choices}"
    if found:
        some = first_few(found, _SHOWN)
        return f"{name!r} may be any of {len(found)} tasks: {some}; write more of the id"
    return f"there are {first_few(dict.fromkeys(tasks), _SHOWN)}"
