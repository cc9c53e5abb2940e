"""The simulations that there should be: every task, every trial."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from maseval.benchmark.tau2.data_loader import load_raw_tasks, split_names
from maseval.benchmark.tau2.domains import Domain
from maseval.core.exceptions import ResultFileError
from maseval.data.store import AnyPath

# Every one of them is listed; no record has a tenth of this.
_MOST = 2_000_000


class PlannedTrial(NamedTuple):
    """One trial of one task."""

    domain: str
    task_id: str
    trial: int

    def __str__(self) -> str:
        return f"{self.domain} task {self.task_id}, trial {self.trial}"


def planned_slots(
    domain: str | None,
    task_ids: Iterable[str],
    num_trials: int | None,
    seen: Iterable[PlannedTrial],
) -> list[PlannedTrial]:
    """Tasks times trials: those that are listed, and those that are there without being listed."""
    found = list(dict.fromkeys(seen))
    trials = max([num_trials or 0, *(slot.trial + 1 for slot in found)], default=0)
    tasks = dict.fromkeys(slot[:2] for slot in found)
    if domain is not None:
        tasks |= dict.fromkeys((domain, task_id) for task_id in task_ids)
    if len(tasks) * trials > _MOST:
        raise ResultFileError(
            f"the record plans {trials:,} trials of each of {len(tasks):,} tasks; that cannot be "
            "right: look at its num_trials, and at the trial of each simulation"
        )
    return [PlannedTrial(*task, trial) for task in tasks for trial in range(trials)]


def split_of(
    domain: Domain,
    task_ids: Iterable[str],
    data_dir: AnyPath | None = None,
    version: str | None = None,
) -> tuple[str, Sequence[str]] | None:
    """The smallest split of the domain that has all these tasks, and the ids of its tasks."""
    wanted = set(task_ids)
    splits = {name: _ids(domain, name, data_dir, version) for name in split_names(domain, data_dir)}
    fitting = [(name, ids) for name, ids in splits.items() if wanted <= set(ids)]
    return min(fitting, key=lambda each: len(each[1]), default=None)


def _ids(
    domain: Domain, split: str, data_dir: AnyPath | None, version: str | None
) -> Sequence[str]:
    raw_tasks = load_raw_tasks(domain, split, data_dir, version=version)
    return [str(raw["id"]) for raw in raw_tasks]
