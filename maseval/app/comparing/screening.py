"""``maseval screening``: learn from earlier runs which tasks tell systems apart, for ``--screen``.

The file is plain JSON: the tasks, the most telling first, with the fingerprints of their contents,
and the names of the runs that it was learned from. A system whose own results are among these is
not screened fairly, so that a run compares the names.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from maseval.app.comparing.compared_runs import ComparedRun, read_outcomes
from maseval.core.exceptions import ConfigurationError
from maseval.core.recorded import entries, mapping, number
from maseval.core.storage import strict_json
from maseval.core.storage.files import write_json
from maseval.core.task import ChosenSubset
from maseval.core.task.queues import SCREENING
from maseval.core.words import count_of
from maseval.runs import RunFolder
from maseval.runs.config_file import is_run_folder
from maseval.stats.screening import rank_tasks

FORMAT = "maseval screening 1"


class ScreeningError(ConfigurationError):
    """A screening file cannot be read, or is about other tasks."""


class ScreenedTask(NamedTuple):
    """A task of a screening; ``fingerprint`` is that of its content, if it is known."""

    domain: str
    task: str
    worth: float
    fingerprint: str | None = None


@dataclass(frozen=True)
class Screening:
    """Tasks by how well they tell systems apart, learned from some runs."""

    tasks: Sequence[ScreenedTask]
    learned_from: Sequence[str]

    def to_dict(self) -> dict[str, object]:
        """Return the content of the file."""
        return {
            "format": FORMAT,
            "learned_from": list(self.learned_from),
            "tasks": [each._asdict() for each in self.tasks],
        }

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Screening":
        """Read a file of ``maseval screening``; raise ``ScreeningError`` if it is none."""
        try:
            found = strict_json.loads_object(Path(path).read_bytes())
            if found["format"] != FORMAT:
                raise ValueError(f"its format is {found['format']!r}")
            tasks = [_read_task(mapping(each)) for each in entries(found["tasks"])]
            return cls(tasks, [str(each) for each in entries(found["learned_from"])])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ScreeningError(
                f"{path} is not a screening ({error}); `maseval screening RUN RUN RUN --output "
                "FILE` makes one"
            ) from None

    def choose(
        self, size: int, tasks: Collection[tuple[str, str]], data: Mapping[str, Any]
    ) -> list[tuple[str, str]]:
        """Return the most telling of some tasks; ``data`` are the fingerprints of a run's data."""
        every = {(each.domain, each.task): each for each in self.tasks}
        known = [key for key in every if key in set(tasks)]
        if len(known) < size:
            raise ScreeningError(
                f"the screening knows {count_of(len(known), 'task')} of the {len(tasks)} of this "
                f"run, so that {size} cannot be chosen; give fewer, or another file"
            )
        for key in known[:size]:
            then, now = every[key].fingerprint, fingerprint_of(data, *key)
            if None not in (then, now) and then != now:
                raise ScreeningError(
                    f"task {'/'.join(filter(None, key))} is another one than the screening was "
                    "learned from; learn it from runs with this data"
                )
        return known[:size]


def _read_task(found: Mapping[str, object]) -> ScreenedTask:
    known = found.get("fingerprint")
    fingerprint = known if isinstance(known, str) else None
    worth = number(found["worth"])
    if worth is None:
        raise ValueError("a task has no worth")
    return ScreenedTask(str(found["domain"]), str(found["task"]), worth, fingerprint)


def fingerprint_of(data: Mapping[str, Any], domain: str, task: str) -> str | None:
    """Return the fingerprint of a task in the ``data`` of a run's configuration, if it is there.

    Where only the file of all tasks has one, it is that.
    """
    files = mapping(data, domain)
    whole = (each for name, each in files.items() if name.endswith("tasks.json"))
    each_task = mapping(files, "tasks").get(task) or data.get(f"{domain}/{task}")
    found = each_task or next(whole, None)
    return found if isinstance(found, str) else None


def screening(runs: Sequence[str | os.PathLike[str]]) -> Screening:
    """Learn from the runs of three systems or more which tasks tell systems apart."""
    found = [read_outcomes(run) for run in runs]
    ranked = rank_tasks({str(each.path): each.outcomes for each in found})
    data = _data(found)
    tasks = [
        ScreenedTask(key.group, key.task, worth, fingerprint_of(data, key.group, key.task))
        for key, worth in ranked
    ]
    return Screening(tasks, [each.name for each in found])


def _data(runs: Sequence[ComparedRun]) -> Mapping[str, Any]:
    folders = [RunFolder.read(each.path) for each in runs if is_run_folder(each.path)]
    return mapping(folders[0].config.values, "data") if folders else {}


def save_screening(found: Screening, path: str | os.PathLike[str]) -> None:
    """Write a screening to a file."""
    write_json(Path(path), found.to_dict())


def screened_tasks(
    size: int,
    path: str | os.PathLike[str],
    tasks: Collection[tuple[str, str]],
    data: Mapping[str, Any],
) -> set[tuple[str, str]]:
    """Return the tasks of a run that a screening chooses."""
    return set(Screening.read(path).choose(size, tasks, data))


def mark_screened(chosen: int, total: int) -> ChosenSubset:
    """Return the mark of the results: a ranking, never a score."""
    return ChosenSubset(chosen, total, SCREENING)
