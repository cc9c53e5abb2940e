"""The tasks of a record beside the benchmark's own: which are edited, mixed up, or missing.

None of what a record says of its tasks is believed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import Any

from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.data.files import are_cached
from maseval.benchmark.tau2.data_loader import (
    UnknownTaskError,
    load_domain_config,
    load_raw_task,
    load_raw_tasks,
    split_names,
)
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import RELEASES, release_of
from maseval.benchmark.tau2.world.state.records import canonical_json
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.core.exceptions import ResultFileError, TaskFormatError
from maseval.core.outcome import MOST_SIMULATIONS, Simulation
from maseval.core.recorded import entries, mapping
from maseval.core.words import excerpt

RawTaskLike = Mapping[str, Any]

CRITERIA, REMOVED, INSTRUCTIONS, START = "criteria", "criteria removed", "instructions", "start"


def task_content(task: RawTaskLike) -> str:
    """Return everything of a task that scoring depends on, and the user's instructions."""
    return canonical_json([part for _, part in sorted(_parts(task).items())])


def differing_parts(theirs: RawTaskLike, ours: RawTaskLike) -> list[str]:
    """Return the parts of a task that differ from the benchmark's."""
    # As nearly all tasks are, which saves parsing both.
    if theirs == ours:
        return []
    a, b = _parts(theirs), _parts(ours)
    found = [name for name in (CRITERIA, INSTRUCTIONS, START) if a[name] != b[name]]
    if CRITERIA in found and not _has_criteria(theirs) and _has_criteria(ours):
        found[0] = REMOVED
    return found


def _parts(task: RawTaskLike) -> dict[str, object]:
    try:
        spec: Any = TaskSpec.of(task).model_dump(mode="json")
    except TaskFormatError:  # of a release or fork with other criteria
        start = TaskSpec.of({**task, "evaluation_criteria": None}).model_dump(mode="json")
        spec = {**start, "evaluation_criteria": task.get("evaluation_criteria")}
    return {
        CRITERIA: spec["evaluation_criteria"],
        INSTRUCTIONS: _without_nothing(task.get("user_scenario")),
        START: _without_nothing(spec["initial_state"]),
    }


def _has_criteria(task: RawTaskLike) -> bool:
    criteria = mapping(task, "evaluation_criteria")
    return any(criteria.get(key) for key in ("actions", "env_assertions", "communicate_info"))


def _without_nothing(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nothing(part) for key, part in value.items() if part is not None}
    return [_without_nothing(part) for part in value] if isinstance(value, list) else value


class KnownTasks:
    """A domain's tasks, and which of them recorded checks belong to."""

    def __init__(self, domain: Domain, version: str | None = None) -> None:
        self.domain = domain
        self.version = version
        self._raw: dict[str, RawTaskLike | None] = {}

    def raw(self, task_id: str) -> RawTaskLike | None:
        """Return a task as the benchmark has it; None if it has none of that id."""
        if task_id not in self._raw:
            try:
                task = load_raw_task(self.domain, task_id, version=self.version)
            except UnknownTaskError:
                task = None
            self._raw[task_id] = task
        return self._raw[task_id]

    @cached_property
    def _by_checks(self) -> Mapping[str, list[str]]:
        split = "base" if "base" in self.domain.task_files else next(iter(self.domain.task_files))
        found: dict[str, list[str]] = defaultdict(list)
        for task in load_raw_tasks(self.domain, split, version=self.version):
            found[_content(_actions(task))].append(str(task["id"]))
        return found

    def checked_task(self, task_id: str, verdict: Mapping[str, Any] | None) -> str | None:
        """The other task to which a verdict's action checks belong; None if there is none."""
        checks = entries(mapping(verdict).get("action_checks"))
        actions = [mapping(check, "action") for check in checks]
        if not actions or _content(actions) == _content(_actions(self.raw(task_id))):
            return None
        found = self._by_checks.get(_content(actions), [])
        return found[0] if len(found) == 1 else None


def _actions(task: RawTaskLike | None) -> Sequence[object]:
    return entries(mapping(task, "evaluation_criteria").get("actions"))


def _content(actions: Sequence[object]) -> str:
    # The releases differ in the other keys of an action.
    kept = ("action_id", "name", "arguments")
    return canonical_json([[mapping(action).get(key) for key in kept] for action in actions])


def differing_tasks(
    embedded: Mapping[str, RawTaskLike], known: KnownTasks
) -> Iterator[tuple[str, list[str]]]:
    """Yield the tasks of a file that the domain has otherwise, and what differs in each."""
    for task_id, theirs in embedded.items():
        ours = known.raw(task_id)
        if ours is not None and (parts := differing_parts(theirs, ours)):
            yield task_id, parts


def other_releases(domain: Domain, judged_by: str) -> tuple[list[str], list[str]]:
    """Return the other releases with the domain: those whose data is here, and the rest.

    Of a release that nobody asked for, only what is here and whole is used: none is fetched.
    """
    if domain.data_dir is not None:
        return [], []
    having = [name for name, each in RELEASES.items() if domain.name in each.domains]
    others = [name for name in having if name not in judged_by]
    here = [name for name in others if are_cached(domain.folder_name, name)]
    return here, [title_of(name) for name in others if name not in here]


def has_tasks(domain: Domain, version: str, tasks: Mapping[str, RawTaskLike]) -> bool:
    known = KnownTasks(RELEASES[version].domain(domain), version=version)
    return all(
        (ours := known.raw(task_id)) is not None and task_content(task) == task_content(ours)
        for task_id, task in tasks.items()
    )


@cache
def policies(domain: Domain) -> tuple[str, ...]:
    """Return the domain's own policy, and the one for an agent that works alone if there is one."""
    folder = load_domain_config(domain)["db_path"].parent
    modes = (False,) if domain.solo_refusal else (False, True)
    return tuple(domain.policy(folder, solo=solo) for solo in modes)


def planned_trials(
    domain: str | None,
    task_ids: Iterable[str],
    num_trials: int | None,
    seen: Iterable[Simulation],
) -> list[Simulation]:
    """Tasks times trials: those that are listed, and those that are there without being listed."""
    found = list(dict.fromkeys(seen))
    trials = max([num_trials or 0, *(slot.trial + 1 for slot in found)], default=0)
    tasks = dict.fromkeys(slot[:2] for slot in found)
    if domain is not None:
        tasks |= dict.fromkeys((domain, task_id) for task_id in task_ids)
    # One forged number of a trial could otherwise ask for more places than fit into memory.
    if len(tasks) * trials > MOST_SIMULATIONS:
        raise ResultFileError(
            f"the record plans {excerpt(trials, 20)} trials of each of {len(tasks):,} tasks, more "
            f"than {MOST_SIMULATIONS:,} simulations; look at its num_trials and at the trial of "
            "each simulation, or split it"
        )
    return [Simulation(*task, trial) for task in tasks for trial in range(trials)]


def smallest_split(
    domain: Domain, task_ids: Iterable[str], version: str | None = None
) -> tuple[str, Sequence[str]] | None:
    """The smallest split of the domain that has all these tasks, and the ids of its tasks."""
    wanted = set(task_ids)
    fitting = [each for each in _splits(domain, version).items() if wanted <= set(each[1])]
    return min(fitting, key=lambda each: len(each[1]), default=None)


@lru_cache(maxsize=16)
def _splits(domain: Domain, version: str | None) -> Mapping[str, Sequence[str]]:
    """Return the ids of the tasks of each split; reading the files takes a moment."""
    # Tasks of another release have its splits too.
    source = release_of(domain, version).tasks.domain(domain)
    return {
        name: [str(raw["id"]) for raw in load_raw_tasks(domain, name, version=version)]
        for name in split_names(source)
    }
